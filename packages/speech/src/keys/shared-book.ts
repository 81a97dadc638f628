/**
 * Keys that several processes share: one row of the Store in place of a file, so that a key has the same id everywhere
 * and is issued, rotated and removed for all at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@parley/kit/log.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { type KeyBook, type KeyFile, readKeyFile } from './key-file.ts';
import { findUsable, type Keys } from './keys.ts';

/** Apart from jobs, whose feed is busy. No domain of the platform can have such a name. */
export const KEYS_DOMAIN = '$speech-keys';
const KIND = 'keys';
const ID = 'all';
const RETRY_MS = 1000;

/** `seedPath`: a file of keys from before, taken over by whoever writes first. */
export const sharedBook = (store: Store, seedPath: string): KeyBook => ({
  read: async () => (await store.get<KeyFile>(KEYS_DOMAIN, KIND, ID))?.data ?? (await readKeyFile(seedPath)),
  change: async (change) => {
    for (;;) {
      const row = await store.get<KeyFile>(KEYS_DOMAIN, KIND, ID);
      const current = row?.data ?? (await readKeyFile(seedPath));
      const { file, result } = change(current ?? { keys: [], removed: [] }, current === undefined);
      // Keys taken over from a file are written even where nothing changed.
      const next = file ?? (row ? undefined : current);
      if (!next || (await replace(store, next, row?.version ?? 0))) return result;
    }
  },
});

/** False when another process was quicker. */
const replace = async (store: Store, { keys, removed }: KeyFile, expect: number): Promise<boolean> => {
  try {
    await store.commit(KEYS_DOMAIN, [{ op: 'put', kind: KIND, id: ID, data: { keys, removed }, expect }]);
    return true;
  } catch (thrown) {
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
};

/** The shared keys, kept current from the feed; while the Store is away the last ones known stay in force. */
export const openSharedKeys = async (store: Store, now: () => number, log: Log): Promise<Keys & AsyncDisposable> => {
  const stop = new AbortController();
  const fromSeq = await store.lastSeq(KEYS_DOMAIN);
  let records = await readRecords(store);
  const following = follow(store, fromSeq, stop.signal, log, async () => {
    records = await readRecords(store);
  });
  return {
    find: (secret) => findUsable(records, secret, now()),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
    },
  };
};

const readRecords = async (store: Store): Promise<KeyFile['keys']> =>
  (await store.get<KeyFile>(KEYS_DOMAIN, KIND, ID))?.data.keys ?? [];

const follow = async (
  store: Store,
  fromSeq: number,
  signal: AbortSignal,
  log: Log,
  refresh: () => Promise<void>,
): Promise<void> => {
  let seq = fromSeq;
  while (!signal.aborted) {
    try {
      for await (const entry of store.watch(KEYS_DOMAIN, seq, signal)) {
        if (entry.kind === KIND) await refresh();
        seq = entry.seq;
      }
    } catch (thrown) {
      if (signal.aborted) return;
      log.warn({ err: thrown }, 'keys cannot be followed; they stay as they were');
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
      seq = await store.lastSeq(KEYS_DOMAIN).catch(() => seq);
      await refresh().catch(() => undefined);
    }
  }
};
