/**
 * Sign-in sessions as rows: found by the SHA-256 of their token and by nothing else, so that a stolen database opens
 * no session. An ended or expired session stays for a week as a tombstone: its id was issued once, and whoever still
 * sends it is no guesser.
 */
import { sha256Hex } from '@parley/kit/ids.ts';
import type { Change, Row, Store } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';

export type SessionKind = 'cookie' | 'token';

/** Times are Unix milliseconds. */
export type SessionData = {
  readonly kind: SessionKind;
  /** The domain the session acts in. */
  readonly domain: string;
  /** The domain its account lives in. */
  readonly home: string;
  readonly user_id: string;
  readonly created_ms: number;
  readonly seen_ms: number;
  /** When the cookie was last sent with a new Expires. */
  readonly sent_ms: number;
  readonly idle_ms: number;
  readonly until_ms: number;
  readonly address: string;
  readonly agent: string;
  /** Id of the session this one was cloned from. */
  readonly parent?: string;
  readonly ended_ms?: number;
  /** When the row may be dropped. */
  readonly drop_ms: number;
};

export type Session = SessionData & { readonly id: string; readonly version: number };

export type Owner = { readonly home: string; readonly userId: string };

export const SESSION_KIND = 'session';
const TOMBSTONE_MS = 7 * 86_400_000;
const SWEEP_PAGE = 500;

/** Sessions of one user as rows of a kind of their own: the primary key then finds them without reading others. */
const indexKind = ({ home, userId }: Owner): string => `session-of:${home}:${userId}`;

export const ownerOf = ({ home, user_id }: SessionData): Owner => ({ home, userId: user_id });

export const idOf = (token: string): string => sha256Hex(token);

/** When a session ends if nobody uses it any more. */
export const endOf = ({ seen_ms, idle_ms, until_ms }: SessionData): number => Math.min(seen_ms + idle_ms, until_ms);

export const isLive = (session: SessionData, nowMs: number): boolean =>
  session.ended_ms === undefined && endOf(session) > nowMs;

const dataOf = ({ id: _id, version: _version, ...data }: Session): SessionData => data;

const fromRow = ({ id, version, data }: Row<SessionData>): Session => ({ ...data, id, version });

/** The changes that create or replace a session; `expect` 0 for a new one. */
export const putSession = (id: string, data: SessionData, expect: number, quiet = false): Change => ({
  op: 'put',
  kind: SESSION_KIND,
  id,
  data: { ...data, drop_ms: endOf(data) + TOMBSTONE_MS },
  expect,
  quiet,
});

export const putIndex = (owner: Owner, id: string): Change => ({
  op: 'put',
  kind: indexKind(owner),
  id,
  data: {},
  quiet: true,
});

/** The changes that turn a session into a tombstone. Unconditional: an end always wins over a last-seen stamp. */
export const endSession = (session: Session, nowMs: number): Change[] => [
  {
    op: 'put',
    kind: SESSION_KIND,
    id: session.id,
    data: { ...dataOf(session), ended_ms: nowMs, drop_ms: nowMs + TOMBSTONE_MS },
  },
  { op: 'drop', kind: indexKind(ownerOf(session)), id: session.id, quiet: true },
];

export const readSession = async (store: Store, id: string): Promise<Session | undefined> => {
  const row = await store.get<SessionData>(SYSTEM_SPACE, SESSION_KIND, id);
  return row && fromRow(row);
};

/** Sessions that were in use last, ended ones among them. */
export const readNewest = async (store: Store, limit: number): Promise<Session[]> => {
  const order = [{ path: 'seen_ms', direction: 'desc' }] as const;
  return (await store.query<SessionData>(SYSTEM_SPACE, SESSION_KIND, { order, limit })).map(fromRow);
};

/** Ids of a user's sessions that were not ended; some may have expired. */
export const readIndex = async (store: Store, owner: Owner): Promise<string[]> =>
  (await store.query(SYSTEM_SPACE, indexKind(owner), {})).map(({ id }) => id);

/** The change that forgets an expired session of a user; its tombstone stays. */
export const dropIndex = (owner: Owner, id: string): Change => ({
  op: 'drop',
  kind: indexKind(owner),
  id,
  quiet: true,
});

/** Drops what ended more than a week ago. */
export const sweepSessions = async (store: Store, nowMs: number): Promise<void> => {
  for (;;) {
    const query = { where: [{ path: 'drop_ms', op: '<', value: nowMs }], limit: SWEEP_PAGE } as const;
    const rows = await store.query<SessionData>(SYSTEM_SPACE, SESSION_KIND, query);
    const drops = rows.flatMap(({ id, data }): Change[] => [
      { op: 'drop', kind: SESSION_KIND, id, quiet: true },
      { op: 'drop', kind: indexKind(ownerOf(data)), id, quiet: true },
    ]);
    if (drops.length > 0) await store.commit(SYSTEM_SPACE, drops);
    if (rows.length < SWEEP_PAGE) return;
  }
};
