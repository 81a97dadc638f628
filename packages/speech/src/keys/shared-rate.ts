/**
 * A key's rate over all processes: its token bucket is a row of the Store. A process takes up to a tenth of a second's
 * requests at once, so that a busy key costs ten commits a second and not one a request; a denial is kept until it is
 * over. While the Store is away each process counts for itself.
 */
import type { Log } from '@parley/kit/log.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { burstOf, createRateLimiter, type RateLimiter } from './rate.ts';
import { KEYS_DOMAIN } from './shared-book.ts';

const KIND = 'key_rate';
/** Requests taken ahead by one process, as seconds at the key's rate. */
const AHEAD_SEC = 0.1;
/** Requests taken ahead and not made are given up after this; the bucket fills again by itself. */
const KEPT_MS = 1000;
/** Sums of fractions are a little off. */
const ROUNDING = 1e-6;

type BucketRow = { readonly tokens: number; readonly at_ms: number };
/** What this process may do without asking. */
type Held = { left: number; untilMs: number; deniedUntilMs: number };

/** `now` gives unix milliseconds; the clocks of all machines should agree to a fraction of a second. */
export const createSharedRateLimiter = (store: Store, now: () => number, log: Log): RateLimiter => {
  const held = new Map<string, Held>();
  const turns = new Map<string, Promise<unknown>>();
  const own = createRateLimiter(now);

  /** Seconds to wait, or undefined when the Store has to be asked. */
  const takeHeld = (keyId: string): number | undefined => {
    const known = held.get(keyId);
    const nowMs = now();
    if (!known) return undefined;
    if (known.deniedUntilMs > nowMs) return (known.deniedUntilMs - nowMs) / 1000;
    if (known.left < 1 || known.untilMs < nowMs) return undefined;
    known.left -= 1;
    return 0;
  };

  const ask = async (keyId: string, rps: number): Promise<number> => {
    const had = takeHeld(keyId);
    if (had !== undefined) return had;
    try {
      const { taken, waitMs } = await takeFromRow(store, keyId, rps, now());
      held.set(keyId, { left: taken - 1, untilMs: now() + KEPT_MS, deniedUntilMs: now() + waitMs });
      return waitMs / 1000;
    } catch (thrown) {
      log.warn({ err: thrown, key: keyId }, 'rate is counted by this process alone');
      return own.take(keyId, rps);
    }
  };

  return {
    take: (keyId, rps) => {
      if (rps <= 0) return 0;
      const had = takeHeld(keyId);
      if (had !== undefined) return had;
      // One after another, so that those who wait use what the first one takes.
      const turn = (turns.get(keyId) ?? Promise.resolve()).then(() => ask(keyId, rps));
      turns.set(keyId, turn);
      return turn.finally(() => {
        if (turns.get(keyId) === turn) turns.delete(keyId);
      });
    },
  };
};

/** Takes what is there up to the share of one process; when there is not one, how long until there is. */
const takeFromRow = async (
  store: Store,
  keyId: string,
  rps: number,
  nowMs: number,
): Promise<{ taken: number; waitMs: number }> => {
  const wanted = Math.max(1, Math.floor(rps * AHEAD_SEC));
  for (;;) {
    const row = await store.get<BucketRow>(KEYS_DOMAIN, KIND, keyId);
    const last = row?.data ?? { tokens: burstOf(rps), at_ms: nowMs };
    const elapsedMs = Math.max(0, nowMs - last.at_ms);
    const tokens = Math.min(burstOf(rps), last.tokens + (elapsedMs / 1000) * rps);
    const taken = Math.min(wanted, Math.floor(tokens + ROUNDING));
    if (taken < 1) return { taken: 0, waitMs: Math.max(1, Math.ceil(((1 - tokens) / rps) * 1000)) };
    const data: BucketRow = { tokens: Math.max(0, tokens - taken), at_ms: Math.max(nowMs, last.at_ms) };
    try {
      await store.commit(KEYS_DOMAIN, [
        { op: 'put', kind: KIND, id: keyId, data, expect: row?.version ?? 0, quiet: true },
      ]);
      return { taken, waitMs: 0 };
    } catch (thrown) {
      if (!(thrown instanceof Conflict)) throw thrown;
    }
  }
};
