/** Live sessions in the memory of one process, so that a request with one costs no read. */
import type { Owner, Session } from './session-rows.ts';

const MAX_CACHED = 50_000;

type Cut = { readonly atMs: number; readonly exceptId: string | undefined };
export type SessionCache = ReturnType<typeof createSessionCache>;

/** Live sessions by id; the one unused for longest goes first when there are too many. */
export const createSessionCache = () => {
  const sessions = new Map<string, Session>();
  const cuts = new Map<string, Cut>();
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
    set: (session: Session): void => {
      sessions.delete(session.id);
      sessions.set(session.id, session);
      if (sessions.size > MAX_CACHED) sessions.delete(sessions.keys().next().value!);
    },
    clear: (): void => {
      drops += 1;
      sessions.clear();
    },
    drop: (id: string): void => {
      drops += 1;
      sessions.delete(id);
    },
  };
};
