/** Live sessions in the memory of one process, so that a request with one costs no read. */
import type { Owner, Session } from './session-rows.ts';

const MAX_CACHED = 50_000;

type Cut = { readonly atMs: number; readonly exceptId: string | undefined };
export type SessionCache = ReturnType<typeof createSessionCache>;

/** Live sessions by id; the one unused for longest goes first when there are too many. */
export const createSessionCache = () => {
  const sessions = new Map<string, Session>();
  const cuts = new Map<string, Cut>();
  /** Sequence numbers of this process's own commits of sessions that are here. */
  const written = new Map<string, number>();
  const forget = (id: string): void => {
    sessions.delete(id);
    written.delete(id);
  };
  let drops = 0;
  return {
    /** From now on the user's present sessions but one are dead, whatever their rows say until those are written. */
    cut: ({ home, userId }: Owner, cut: Cut): (() => void) => {
      const key = `${home}/${userId}`;
      cuts.set(key, cut);
      return () => {
        if (cuts.get(key) === cut) cuts.delete(key);
      };
    },
    isCut: ({ id, home, user_id, created_ms }: Session): boolean => {
      const cut = cuts.size > 0 ? cuts.get(`${home}/${user_id}`) : undefined;
      return cut !== undefined && created_ms <= cut.atMs && id !== cut.exceptId;
    },
    /** Grows with every drop: a row that was being read meanwhile may be out of date. */
    drops: () => drops,
    get: (id: string): Session | undefined => sessions.get(id),
    /** `seq`: of the commit, where this process has just written it so. */
    set: (session: Session, seq?: number): void => {
      sessions.delete(session.id);
      sessions.set(session.id, session);
      if (seq !== undefined) written.set(session.id, seq);
      if (sessions.size > MAX_CACHED) forget(sessions.keys().next().value!);
    },
    /** True when what is here was written by this process in this commit or a later one: the feed brings nothing new. */
    hasWritten: (id: string, seq: number): boolean => (written.get(id) ?? 0) >= seq,
    clear: (): void => {
      drops += 1;
      sessions.clear();
      written.clear();
    },
    drop: (id: string): void => {
      drops += 1;
      forget(id);
    },
  };
};
