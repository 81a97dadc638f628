/**
 * Removes accounts when they are due. Whichever node claims a note does it, also when the node that made the account
 * or the storage that named the database is no more.
 */
import type { Clock } from '@parley/kit/clock.ts';
import { createToken } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Claim, Store } from '@parley/kit/store/store.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { type Domains, SYSTEM_SPACE } from '../domains/types.ts';
import { sweepAccounts } from './accounts.ts';
import { withClient } from './connection.ts';
import { endClaim, type Note, QUEUE, readNote } from './notes.ts';
import { findTarget, type Target } from './target.ts';

export type SweeperParts = {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
  domains(): Domains;
};

export type Sweeper = AsyncDisposable & {
  /** An account made here is due then, in Unix milliseconds. */
  expect(dueMs: number): void;
};

/** How often accounts are looked for that another node made. Those made here are removed when they are due. */
const SWEEP_MS = 30_000;
const LEASE_MS = 120_000;
const CLAIM_LIMIT = 16;
/** Later than due by so much, so that the server agrees that it is. */
const AFTER_DUE_MS = 100;
const FIRST_RETRY_MS = 5000;
const MAX_RETRY_MS = 3_600_000;
const MAX_DOUBLINGS = 12;
/** An account that could not be removed for so long is given up; its password has long ended. */
const GIVE_UP_MS = 30 * 86_400_000;

/** Starts the sweeper; ends when disposed. */
export const startSweeper = (parts: SweeperParts): Sweeper => {
  const { store, clock, log } = parts;
  const owner = createToken(9);
  const ending = new AbortController();
  const dues = new Set<number>();
  let alarm = new AbortController();

  const expect = (dueMs: number): void => {
    dues.add(dueMs + AFTER_DUE_MS);
    alarm.abort();
  };
  const sweep = async (): Promise<void> => {
    const request = { owner, leaseMs: LEASE_MS, limit: CLAIM_LIMIT };
    for (;;) {
      const claims = await store.claim(SYSTEM_SPACE, QUEUE, { ...request, nowMs: clock.now() });
      // One after another: most of them are due in the same database at the same midnight, and the first takes all.
      for (const claim of claims) {
        const nextMs = await sweepOne(parts, claim);
        await endClaim(store, owner, claim.id, nextMs);
        if (nextMs !== undefined) expect(nextMs);
      }
      if (claims.length < CLAIM_LIMIT || ending.signal.aborted) return;
    }
  };
  const waitMs = (): number => {
    const now = clock.now();
    let next = now + SWEEP_MS;
    for (const due of dues) {
      if (due <= now) dues.delete(due);
      next = Math.min(next, Math.max(due, now));
    }
    return next - now;
  };
  const run = async (): Promise<void> => {
    // What became due while nobody ran.
    let isRung = false;
    while (!ending.signal.aborted) {
      if (!isRung) {
        await sweep().catch((thrown: unknown) => log.warn({ err: thrown }, 'database accounts were not swept'));
      }
      alarm = new AbortController();
      // Rung for a new time to wait for, and for nothing else.
      isRung = await clock.delay(waitMs(), AbortSignal.any([ending.signal, alarm.signal])).then(
        () => false,
        () => true,
      );
    }
  };
  const running = run();
  return {
    expect,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await running;
    },
  };
};

/** The storage as it is now, else as it was when the account was made. */
const targetNow = async ({ domains }: SweeperParts, { domain, target }: Note): Promise<Target> => {
  const now = await domains().open(domain);
  const found = now && findTarget(now, target.instance);
  const isSame = found?.host === target.host && found.port === target.port && found.database === target.database;
  return isSame ? found : target;
};

/** Removes one account if its time is over. Answers when to try again, in Unix milliseconds. */
const sweepOne = async (parts: SweeperParts, { id: login, attempt }: Claim): Promise<number | undefined> => {
  const { store, clock, log, secrets } = parts;
  const note = await readNote(store, login);
  if (!note) return undefined;
  try {
    const target = await targetNow(parts, note);
    const leftMs = await withClient(target, secrets, (client) => sweepAccounts(client, login));
    if (leftMs > 0) return clock.now() + leftMs + AFTER_DUE_MS;
    log.info({ login }, 'database account ended');
    return undefined;
  } catch (thrown) {
    const code = (thrown as { code?: unknown }).code;
    const isHopeless = clock.now() - note.dueMs > GIVE_UP_MS;
    log.warn({ login, attempt, isHopeless, code }, 'database account was not removed');
    const pauseMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempt, MAX_DOUBLINGS));
    return isHopeless ? undefined : clock.now() + pauseMs;
  }
};
