/**
 * Admission where several processes share one queue: a reservation sees only this process, so a job is counted again in
 * the commit that accepts it. Every submission writes one row; whoever was overtaken counts anew.
 */
import { createSemaphore } from '@parley/kit/semaphore.ts';
import { type Change, Conflict, type Store } from '@parley/kit/store/store.ts';
import { problem } from '../core/codes.ts';
import type { AdmissionLimits } from './admission.ts';
import type { Live } from './live.ts';
import { DOMAIN, KIND } from './records.ts';

export type Gate = {
  /**
   * Commits the changes that accept a job of so many bytes, if the limits allow one more. Problems queue_full,
   * storage_unavailable; otherwise what the commit rejects with.
   */
  pass(sizeBytes: number, changes: readonly Change[]): Promise<void>;
};

const GATE_ID = 'submissions';
/** Longest wait for news that other processes wrote already. */
const MAX_LAG_MS = 10_000;

/** A gate that lets everything through: where there is one process, its reservations are exact. */
export const openGate = (store: Store): Gate => ({
  pass: async (_sizeBytes, changes) => {
    await store.commit(DOMAIN, changes);
  },
});

/** A gate that several processes share. `retryAfterSec` as in admission.ts. */
export const createSharedGate = (
  store: Store,
  live: Pick<Live, 'queued' | 'bytes' | 'caughtUp'>,
  limits: AdmissionLimits,
  retryAfterSec: () => number,
): Gate => {
  // Submissions of one process would only overtake each other.
  const turns = createSemaphore(1);

  const check = (sizeBytes: number): void => {
    const refuse = (message: string): never => {
      throw problem('queue_full', message, { retryAfterSec: retryAfterSec() });
    };
    if (live.queued() >= limits.maxQueued) refuse('The queue is full.');
    if (live.bytes() + sizeBytes > limits.maxBytes) refuse('The queue holds too many bytes of audio.');
  };

  /** False when another process was quicker. */
  const tryOnce = async (sizeBytes: number, changes: readonly Change[]): Promise<boolean> => {
    const gate = await store.get(DOMAIN, KIND.gate, GATE_ID);
    // Whatever was accepted before the gate was read is in these numbers; what comes later makes the commit fail.
    const lag = AbortSignal.timeout(MAX_LAG_MS);
    await live.caughtUp(await store.lastSeq(DOMAIN), lag).catch((cause: unknown) => {
      throw problem('storage_unavailable', 'The queue cannot be counted now.', { cause });
    });
    check(sizeBytes);
    const turn: Change = { op: 'put', kind: KIND.gate, id: GATE_ID, data: {}, expect: gate?.version ?? 0, quiet: true };
    try {
      await store.commit(DOMAIN, [...changes, turn]);
      return true;
    } catch (thrown) {
      if (thrown instanceof Conflict && thrown.kind === KIND.gate) return false;
      throw thrown;
    }
  };

  return {
    pass: (sizeBytes, changes) =>
      turns.run(async () => {
        while (!(await tryOnce(sizeBytes, changes)));
      }),
  };
};
