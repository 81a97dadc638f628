/**
 * Keeps a process current with the sessions of others: what they ended is forgotten, what they issued is read at once,
 * so that a session works at every node of the installation even while the database is away.
 */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { type FeedEntry, FeedGone, type Store } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import type { SessionCache } from './session-cache.ts';
import { isLive, readNewest, readSession, SESSION_KIND } from './session-rows.ts';

type Parts = { readonly store: Store; readonly clock: Clock; readonly log: Log };

/** Sessions that a process knows from its start. */
const MAX_LOADED = 5000;
/** The feed is followed again after this when it broke. */
const FOLLOW_AGAIN_MS = 1000;

/** Follows until the signal aborts. */
export const followSessions = async (parts: Parts, cache: SessionCache, signal: AbortSignal): Promise<void> => {
  const { store, clock, log } = parts;
  let seq: number | undefined;
  while (!signal.aborted) {
    try {
      seq ??= await load(parts, cache);
      for await (const entry of store.watch(SYSTEM_SPACE, seq, signal)) {
        if (entry.kind === SESSION_KIND) await renew(parts, cache, entry);
        seq = entry.seq;
      }
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'the feed of sessions broke');
      if (error instanceof FeedGone) {
        // What ended in the gap is told by nobody.
        cache.clear();
        seq = undefined;
      }
      await clock.delay(FOLLOW_AGAIN_MS, signal).catch(() => {});
    }
  }
};

/** Reads the sessions that were in use last; answers the number from which on the feed tells of the others. */
const load = async ({ store, clock }: Parts, cache: SessionCache): Promise<number> => {
  const seq = await store.lastSeq(SYSTEM_SPACE);
  const before = cache.drops();
  const sessions = await readNewest(store, MAX_LOADED);
  // One that was dropped meanwhile may be among them; then each is read when it comes.
  if (cache.drops() !== before) return seq;
  for (const session of sessions.reverse()) {
    const isNew = cache.get(session.id) === undefined && isLive(session, clock.now()) && !cache.isCut(session);
    if (isNew) cache.set(session);
  }
  return seq;
};

const renew = async ({ store, clock }: Parts, cache: SessionCache, { id, op, seq }: FeedEntry): Promise<void> => {
  // Reading it again would forget it when the database goes away just then.
  if (cache.hasWritten(id, seq)) return;
  cache.drop(id);
  if (op !== 'put') return;
  const before = cache.drops();
  const session = await readSession(store, id);
  const isCurrent = cache.drops() === before;
  if (session && isCurrent && isLive(session, clock.now()) && !cache.isCut(session)) cache.set(session);
};
