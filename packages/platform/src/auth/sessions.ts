/** Sign-in sessions: create, find, keep alive, move to another domain, end. Rows are in session-rows.ts. */
import type { Clock } from '@parley/kit/clock.ts';
import { createToken } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import { type Change, Conflict, type Store, StoreUnavailable } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { createSessionCache, type SessionCache } from './session-cache.ts';
import { followSessions } from './session-feed.ts';
import {
  dropIndex,
  endSession,
  idOf,
  isLive,
  type Owner,
  ownerOf,
  putIndex,
  putSession,
  readIndex,
  readSession,
  SESSION_KIND,
  type Session,
  type SessionKind,
  sweepSessions,
} from './session-rows.ts';
import { createTurns } from './turns.ts';

/** How long sessions of a kind live: without use, and at most. */
export type Lifetime = { readonly idleMs: number; readonly maxMs: number };

type NewSession = Owner & {
  readonly kind: SessionKind;
  readonly domain: string;
  readonly address: string;
  readonly agent: string;
  /** Id of the session this one is cloned from. */
  readonly parent?: string;
};

/** `token` is the secret the client keeps; it is not kept here. */
export type Issued = { readonly token: string; readonly session: Session };

/** `gone`: issued once, ended or expired since. `unknown`: never issued, and so a guess. */
type Found = { readonly state: 'live'; readonly session: Session } | { readonly state: 'gone' | 'unknown' };

export type Sessions = AsyncDisposable & {
  create(wanted: NewSession): Promise<Issued>;
  find(token: string): Promise<Found>;
  /** Notes that the session is in use. Answers it when its cookie should be sent again with a later end. */
  touch(session: Session): Session | undefined;
  /** Moves a session to a domain. A cookie session gets a new id and token; the old ones are dead. */
  rebind(session: Session, domain: string): Promise<Issued | { readonly session: Session }>;
  end(session: Session): Promise<void>;
  /** A live session by its id, which is no secret. */
  read(id: string): Promise<Session | undefined>;
  /** Live sessions of a user, oldest first. */
  listOf(owner: Owner): Promise<Session[]>;
  /** Ends all sessions of a user but one; answers how many. */
  endAllOf(owner: Owner, exceptId?: string): Promise<number>;
};

export type SessionOptions = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxPerUser: number;
  lifetimeOf(kind: SessionKind, home: string): Lifetime;
};

const PREFIX: Readonly<Record<SessionKind, string>> = { cookie: 'rs1_', token: 'rt1_' };
const SESSION_ID = /^[0-9a-f]{64}$/;
const TOKEN = /^r[st]1_[A-Za-z0-9_-]{43}$/;
const MAX_AGENT = 256;
const TOUCH_MS = 60_000;
/** How soon a use that could not be noted is noted again. */
const RETRY_TOUCH_MS = 5000;
const SWEEP_MS = 3_600_000;

type SessionRow = Omit<Session, 'id' | 'version'>;

const createRow = (options: SessionOptions, wanted: NewSession): SessionRow => {
  const now = options.clock.now();
  const { idleMs, maxMs } = options.lifetimeOf(wanted.kind, wanted.home);
  return {
    kind: wanted.kind,
    domain: wanted.domain,
    home: wanted.home,
    user_id: wanted.userId,
    created_ms: now,
    seen_ms: now,
    sent_ms: now,
    idle_ms: idleMs,
    until_ms: now + maxMs,
    address: wanted.address,
    agent: wanted.agent.slice(0, MAX_AGENT).toWellFormed(),
    ...(wanted.parent === undefined ? {} : { parent: wanted.parent }),
    drop_ms: 0,
  };
};

/** The version a commit left a session at. */
const versionIn = (versions: ReadonlyMap<string, number>, id: string): number => versions.get(`${SESSION_KIND}/${id}`)!;

const findSession = async ({ store, clock }: SessionOptions, cache: SessionCache, token: string): Promise<Found> => {
  if (!TOKEN.test(token)) return { state: 'unknown' };
  const id = idOf(token);
  const cached = cache.get(id);
  if (cached && isLive(cached, clock.now()) && !cache.isCut(cached)) return { state: 'live', session: cached };
  // Another process may have issued it, seen it in use since, or ended it.
  const dropsBefore = cache.drops();
  const session = await readSession(store, id);
  if (!session) return { state: 'unknown' };
  if (!isLive(session, clock.now()) || cache.isCut(session)) {
    cache.drop(id);
    return { state: 'gone' };
  }
  if (cache.drops() === dropsBefore) cache.set(session);
  return { state: 'live', session };
};

/** Live sessions of a user, oldest first, and the ids of those that only seem so in the index. */
const readSessionsOf = async ({ store, clock }: SessionOptions, cache: SessionCache, ids: readonly string[]) => {
  const now = clock.now();
  const read = async (id: string): Promise<Session | undefined> => {
    const cached = cache.get(id);
    return cached && isLive(cached, now) ? cached : readSession(store, id);
  };
  const sessions = await Promise.all(ids.map(read));
  const live = sessions.filter((session) => session !== undefined).filter((session) => isLive(session, now));
  const known = new Set(live.map(({ id }) => id));
  return { live: live.sort((a, b) => a.created_ms - b.created_ms), dead: ids.filter((id) => !known.has(id)) };
};

const endMany = async (
  { store, clock }: SessionOptions,
  cache: SessionCache,
  sessions: readonly Session[],
): Promise<void> => {
  if (sessions.length === 0) return;
  for (const { id } of sessions) cache.drop(id);
  const changes = sessions.flatMap((session) => endSession(session, clock.now()));
  await store.commit(SYSTEM_SPACE, changes);
  for (const { id } of sessions) cache.drop(id); // a request may have read one again meanwhile
};

const endAllOf = async (
  options: SessionOptions,
  cache: SessionCache,
  owner: Owner,
  exceptId: string | undefined,
): Promise<number> => {
  const mend = cache.cut(owner, { atMs: options.clock.now(), exceptId });
  try {
    const { live } = await readSessionsOf(options, cache, await readIndex(options.store, owner));
    const ending = live.filter(({ id }) => id !== exceptId);
    await endMany(options, cache, ending);
    return ending.length;
  } finally {
    mend();
  }
};

export const openSessions = (options: SessionOptions): Sessions => {
  const { store, clock, log } = options;
  const cache = createSessionCache();
  const closing = new AbortController();
  const following = store.driver === 'postgres' ? followSessions(options, cache, closing.signal) : Promise.resolve();
  const writing = new Set<Promise<void>>();
  const sweeper = setInterval(() => {
    sweepSessions(store, clock.now()).catch((error) => log.warn({ err: error }, 'sessions were not swept'));
  }, SWEEP_MS);

  const issue = async (
    row: SessionRow,
    replaces: readonly Session[],
    more: readonly Change[] = [],
  ): Promise<Issued> => {
    const token = PREFIX[row.kind] + createToken();
    const id = idOf(token);
    const ends = replaces.flatMap((session) => endSession(session, clock.now()));
    const changes = [putSession(id, row, 0), putIndex(ownerOf(row), id), ...ends, ...more];
    const { seq, versions } = await store.commit(SYSTEM_SPACE, changes);
    for (const { id: old } of replaces) cache.drop(old);
    const session = { ...row, id, version: versionIn(versions, id) };
    cache.set(session, seq);
    return { token, session };
  };

  const create = async (wanted: NewSession): Promise<Issued> => {
    const index = await readIndex(store, wanted);
    if (index.length < options.maxPerUser) return issue(createRow(options, wanted), []);
    const { live, dead } = await readSessionsOf(options, cache, index);
    const surplus = live.slice(0, Math.max(0, live.length + 1 - options.maxPerUser));
    return issue(
      createRow(options, wanted),
      surplus,
      dead.map((id) => dropIndex(wanted, id)),
    );
  };
  // One after the other for each user, so that sign-ins at once count each other.
  const inTurn = createTurns();

  return {
    create: (wanted) => inTurn(`${wanted.home}/${wanted.userId}`, () => create(wanted)),
    find: (token) => findSession(options, cache, token),
    touch: (session) => touchSession(options, cache, session, writing),
    rebind: async (session, domain) => {
      if (session.kind === 'cookie') {
        const { id: _id, version: _version, ...row } = session;
        return issue({ ...row, domain, seen_ms: clock.now(), sent_ms: clock.now() }, [session]);
      }
      return { session: await rebindToken(options, cache, session, domain) };
    },
    end: (session) => endMany(options, cache, [session]),
    read: async (id) => {
      const session = SESSION_ID.test(id) ? await readSession(store, id) : undefined;
      return session && isLive(session, clock.now()) ? session : undefined;
    },
    listOf: async (owner) => (await readSessionsOf(options, cache, await readIndex(store, owner))).live,
    endAllOf: (owner, exceptId) => endAllOf(options, cache, owner, exceptId),
    [Symbol.asyncDispose]: async () => {
      clearInterval(sweeper);
      closing.abort();
      await Promise.all([following, ...writing]);
    },
  };
};

/** Written at most once a minute, behind the request; a session that was ended meanwhile stays ended. */
const touchSession = (
  { store, clock, log }: SessionOptions,
  cache: SessionCache,
  session: Session,
  writing: Set<Promise<void>>,
): Session | undefined => {
  const now = clock.now();
  if (now - session.seen_ms < TOUCH_MS) return undefined;
  const isSentAgain =
    session.kind === 'cookie' &&
    now - session.sent_ms > session.idle_ms / 2 &&
    session.sent_ms + session.idle_ms < session.until_ms;
  const seen: Session = { ...session, seen_ms: now, ...(isSentAgain ? { sent_ms: now } : {}) };
  const { id, version, ...row } = seen;
  cache.set(seen);
  const written = store
    .commit(SYSTEM_SPACE, [putSession(id, row, version, true)])
    .then(({ versions }) => {
      const current = cache.get(id);
      if (current) cache.set({ ...current, version: versionIn(versions, id) });
    })
    .catch((error) => {
      const current = cache.get(id);
      // While the database is away a session that is known goes on; its use is noted a little later.
      if (current && error instanceof StoreUnavailable)
        cache.set({ ...current, seen_ms: now - TOUCH_MS + RETRY_TOUCH_MS });
      else cache.drop(id);
      if (!(error instanceof Conflict)) log.warn({ err: error }, 'a session was not kept alive');
    })
    .finally(() => writing.delete(written));
  writing.add(written);
  return isSentAgain ? seen : undefined;
};

const rebindToken = async (
  { store }: SessionOptions,
  cache: SessionCache,
  session: Session,
  domain: string,
): Promise<Session> => {
  for (let current: Session | undefined = session; current; current = await readSession(store, session.id)) {
    if (current.ended_ms !== undefined) break;
    const { id, version, ...row } = { ...current, domain };
    try {
      const { seq, versions } = await store.commit(SYSTEM_SPACE, [putSession(id, row, version)]);
      const moved = { ...row, id, version: versionIn(versions, id) };
      cache.set(moved, seq);
      return moved;
    } catch (error) {
      if (!(error instanceof Conflict)) throw error; // seen in use meanwhile: read again
    }
  }
  cache.drop(session.id);
  return session;
};
