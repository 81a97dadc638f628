/**
 * The book of failed attempts behind the ban: failures within the window and attempts now under way, by key. This one
 * lives in the memory of the only process, and is written behind so that a restart forgives nobody; for several
 * processes see shared-ban-ledger.ts.
 */
import type { Clock } from '@parley/kit/clock.ts';
import type { Change, Store } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';

/** `full`: as many attempts run as may still fail; ask again when one has ended. `banned`: until then, in Unix ms. */
export type Taken = { readonly state: 'taken' | 'full' } | { readonly state: 'banned'; readonly untilMs: number };

/** A key, and how many failures within which time ban it. */
export type LimitedKey = { readonly key: string; readonly limit: number; readonly windowMs: number };

export type BanLedger = AsyncDisposable & {
  /** Reserves one attempt under the key. */
  take(key: LimitedKey): Promise<Taken>;
  /** Ends attempts taken before, as failures or not. */
  settle(keys: readonly LimitedKey[], failed: boolean): Promise<void>;
  bannedUntil(key: LimitedKey): Promise<number | undefined>;
  /** Forgets the failures of a key; attempts under way stay reserved. */
  clear(key: LimitedKey): Promise<void>;
  /** How often to ask again while `full`, because other processes end attempts unseen; undefined when none do. */
  readonly pollMs: number | undefined;
};

export const BAN_KIND = 'ban';
/** Failures older than this count for no key. */
export const MAX_WINDOW_MS = 86_400_000;
const MAX_KEYS = 100_000;
const WRITE_BEHIND_MS = 1000;
const LOAD_PAGE = 1000;

/** `failures`: Unix ms, oldest first; `under_way`: attempts reserved and not settled. */
type Entry = { failures: number[]; underWay: number };

/** When the ban ends that these failures make; undefined when they make none. */
export const banEnd = (failures: readonly number[], { limit, windowMs }: LimitedKey, nowMs: number) => {
  const recent = failures.filter((at) => at > nowMs - windowMs);
  return recent.length >= limit ? recent[recent.length - limit]! + windowMs : undefined;
};

export const openBanLedger = async (store: Store, clock: Clock): Promise<BanLedger> => {
  const entries = await load(store, clock);
  const dirty = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const flush = async (): Promise<void> => {
    timer = undefined;
    if (dirty.size === 0) return;
    const changes = [...dirty].map((id): Change => {
      const failures = entries.get(id)?.failures ?? [];
      if (failures.length === 0) return { op: 'drop', kind: BAN_KIND, id, quiet: true };
      return {
        op: 'put',
        kind: BAN_KIND,
        id,
        quiet: true,
        data: { failures, until_ms: failures.at(-1)! + MAX_WINDOW_MS },
      };
    });
    dirty.clear();
    // A failed write loses at most these bans over a restart; the memory still holds them.
    await store.commit(SYSTEM_SPACE, changes).catch(() => {});
  };

  const touch = (key: string): void => {
    dirty.add(key);
    timer ??= setTimeout(() => void flush(), WRITE_BEHIND_MS);
  };

  const prune = ({ key, windowMs }: LimitedKey, entry: Entry): Entry => {
    const from = clock.now() - windowMs;
    if (entry.failures[0] !== undefined && entry.failures[0] <= from) {
      entry.failures = entry.failures.filter((at) => at > from);
      touch(key);
    }
    return entry;
  };

  const settleOne = ({ key, limit }: LimitedKey, failed: boolean): void => {
    const entry = entries.get(key);
    if (!entry) return;
    entry.underWay -= 1;
    if (failed) {
      entry.failures = [...entry.failures, clock.now()].slice(-limit);
      entries.delete(key); // to the end: the oldest go first when there are too many
      entries.set(key, entry);
      touch(key);
    } else if (entry.underWay === 0 && entry.failures.length === 0) entries.delete(key);
  };

  return {
    pollMs: undefined,
    take: async (limited) => {
      const { key, limit } = limited;
      const entry = prune(limited, entries.get(key) ?? { failures: [], underWay: 0 });
      const untilMs = banEnd(entry.failures, limited, clock.now());
      if (untilMs !== undefined) return { state: 'banned', untilMs };
      if (entry.failures.length + entry.underWay >= limit) return { state: 'full' };
      entry.underWay += 1;
      entries.set(key, entry);
      if (entries.size > MAX_KEYS) dropOldest(entries, dirty);
      return { state: 'taken' };
    },
    settle: async (keys, failed) => {
      for (const key of keys) settleOne(key, failed);
    },
    bannedUntil: async (limited) => banEnd(entries.get(limited.key)?.failures ?? [], limited, clock.now()),
    clear: async ({ key }) => {
      const entry = entries.get(key);
      if (!entry) return;
      entry.failures = [];
      if (entry.underWay === 0) entries.delete(key);
      touch(key);
    },
    [Symbol.asyncDispose]: async () => {
      clearTimeout(timer);
      await flush();
    },
  };
};

const dropOldest = (entries: Map<string, Entry>, dirty: Set<string>): void => {
  for (const [key, entry] of entries) {
    if (entry.underWay > 0) continue;
    entries.delete(key);
    dirty.add(key); // its row goes with the next write
    return;
  }
};

const load = async (store: Store, clock: Clock): Promise<Map<string, Entry>> => {
  const entries = new Map<string, Entry>();
  const since = clock.now() - MAX_WINDOW_MS;
  for (let afterId = ''; ; ) {
    const page = { limit: LOAD_PAGE, ...(afterId === '' ? {} : { afterId }) };
    const rows = await store.query<{ failures?: number[] }>(SYSTEM_SPACE, BAN_KIND, page);
    const stale: Change[] = [];
    for (const { id, data } of rows) {
      const failures = (data.failures ?? []).filter((at) => at > since);
      if (failures.length > 0) entries.set(id, { failures, underWay: 0 });
      else stale.push({ op: 'drop', kind: BAN_KIND, id, quiet: true });
    }
    if (stale.length > 0) await store.commit(SYSTEM_SPACE, stale);
    if (rows.length < LOAD_PAGE) return entries;
    afterId = rows.at(-1)!.id;
  }
};
