/**
 * The book of failed attempts as rows that several processes share. A row is read, changed and written back only at
 * the version that was read; changes of one key that wait in this process go into one write. Reservations are in the
 * row too, each process under its own name and only for a time, so that one that dies holds up nobody.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@parley/kit/clock.ts';
import { type Change, Conflict, type Store } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { BAN_KIND, type BanLedger, banEnd, type LimitedKey, MAX_WINDOW_MS, type Taken } from './ban-ledger.ts';

/** Attempts that one process has under way, until when it may hold them. */
type Hold = { n: number; until_ms: number };
type Entry = { failures: number[]; holds: Record<string, Hold>; until_ms: number };
/** Changes an entry in place, or leaves it; its answer is the caller's. */
type Edit<T = unknown> = (entry: Entry, nowMs: number) => T;
type Waiting = { edit: Edit; resolve: (answer: unknown) => void; reject: (reason: unknown) => void };

const POLL_MS = 50;
/** Longer than any password check with its wait. */
const HOLD_MS = 15_000;
const SWEEP_MS = 3_600_000;
const SWEEP_AFTER_MS = 60_000;
const SWEEP_PAGE = 500;

export const openSharedBanLedger = (store: Store, clock: Clock): BanLedger => {
  const me = randomUUID();
  const queues = new Map<string, Waiting[]>();

  const read = async (key: string) => {
    const row = await store.get<Entry>(SYSTEM_SPACE, BAN_KIND, key);
    const now = clock.now();
    const failures = row?.data.failures ?? [];
    const holds = Object.fromEntries(
      Object.entries(row?.data.holds ?? {}).filter(([, { until_ms }]) => until_ms > now),
    );
    return { version: row?.version ?? 0, entry: { failures, holds, until_ms: 0 } satisfies Entry };
  };

  /** One read and one write for all that wait; false when another process was quicker. */
  const tryEdits = async (key: string, batch: readonly Waiting[]): Promise<boolean> => {
    const { version, entry } = await read(key);
    const before = JSON.stringify(entry);
    const answers = batch.map(({ edit }) => edit(entry, clock.now()));
    if (JSON.stringify(entry) !== before) {
      const written = await store
        .commit(SYSTEM_SPACE, [changeOf(key, entry, version, clock.now())])
        .catch((error: unknown) => {
          if (error instanceof Conflict) return undefined;
          throw error;
        });
      if (!written) return false;
    }
    for (const [i, { resolve }] of batch.entries()) resolve(answers[i]);
    return true;
  };

  const drain = async (key: string, queue: Waiting[]): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.slice();
      try {
        if (!(await tryEdits(key, batch))) continue;
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      queue.splice(0, batch.length);
    }
    queues.delete(key);
  };

  const change = <T>(key: string, edit: Edit<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiting = { edit, resolve: resolve as (answer: unknown) => void, reject };
    const queue = queues.get(key);
    if (queue) queue.push(waiting);
    else {
      const fresh = [waiting];
      queues.set(key, fresh);
      void drain(key, fresh);
    }
    return promise;
  };

  const sweeper = setInterval(() => void sweep(store, clock).catch(() => {}), SWEEP_MS);

  return {
    pollMs: POLL_MS,
    take: (limited) => change(limited.key, (entry, nowMs): Taken => takeIn(entry, limited, nowMs, me)),
    settle: async (keys, failed) => {
      await Promise.all(keys.map((key) => change(key.key, settleIn(key, failed, me))));
    },
    bannedUntil: async (limited) => banEnd((await read(limited.key)).entry.failures, limited, clock.now()),
    clear: async ({ key }) => {
      await change(key, (entry) => {
        entry.failures = [];
      });
    },
    [Symbol.asyncDispose]: async () => clearInterval(sweeper),
  };
};

const takeIn = (entry: Entry, limited: LimitedKey, nowMs: number, me: string): Taken => {
  entry.failures = entry.failures.filter((at) => at > nowMs - limited.windowMs);
  const untilMs = banEnd(entry.failures, limited, nowMs);
  if (untilMs !== undefined) return { state: 'banned', untilMs };
  const held = Object.values(entry.holds).reduce((sum, { n }) => sum + n, 0);
  if (entry.failures.length + held >= limited.limit) return { state: 'full' };
  entry.holds[me] = { n: (entry.holds[me]?.n ?? 0) + 1, until_ms: nowMs + HOLD_MS };
  return { state: 'taken' };
};

const settleIn =
  ({ limit }: LimitedKey, failed: boolean, me: string): Edit =>
  (entry, nowMs) => {
    const mine = entry.holds[me];
    if (mine && mine.n > 1) entry.holds[me] = { ...mine, n: mine.n - 1 };
    else delete entry.holds[me];
    if (failed) entry.failures = [...entry.failures, nowMs].slice(-limit);
  };

const changeOf = (id: string, entry: Entry, expect: number, nowMs: number): Change => {
  const ends = Object.values(entry.holds).map((hold) => hold.until_ms);
  const until_ms = Math.max(nowMs, (entry.failures.at(-1) ?? 0) + MAX_WINDOW_MS, ...ends);
  return { op: 'put', kind: BAN_KIND, id, expect, quiet: true, data: { ...entry, until_ms } };
};

/** Only here are rows dropped, and late: one that came back at once could pass for the one that was read before. */
const sweep = async (store: Store, clock: Clock): Promise<void> => {
  const where = [{ path: 'until_ms', op: '<', value: clock.now() - SWEEP_AFTER_MS }] as const;
  for (;;) {
    const rows = await store.query(SYSTEM_SPACE, BAN_KIND, { where, limit: SWEEP_PAGE });
    for (const { id, version } of rows) {
      const drop: Change = { op: 'drop', kind: BAN_KIND, id, expect: version, quiet: true };
      await store.commit(SYSTEM_SPACE, [drop]).catch(() => {}); // in use again, or swept by another
    }
    if (rows.length < SWEEP_PAGE) return;
  }
};
