/**
 * The utterances of one recogniser: waiting, in flight, or under suspicion of having killed their process. Pure order,
 * no processes. After a death each utterance that was in flight is tried once more, alone, so that an innocent one is
 * never blamed for its neighbour.
 */
export type Entry = {
  /** Deaths of a process while this was in flight. */
  deaths: number;
};

export type Line<T extends Entry> = {
  add(entry: T): void;
  /** What may start now: suspects one at a time and before everything else, others up to `limit`. */
  next(limit: number): T | undefined;
  /** Puts back what could not be started. */
  putBack(entry: T): void;
  /** Takes an entry out wherever it stands; false when it was not there. */
  remove(entry: T): boolean;
  isWaiting(entry: T): boolean;
  /** The process died: returns those that were in flight for the second time; the others wait as suspects. */
  blame(isWanted: (entry: T) => boolean): readonly T[];
  /** Empties the line. */
  drain(): readonly T[];
  readonly inFlight: number;
  readonly waiting: number;
};

const MOST_DEATHS = 2;

const drop = <T>(list: T[], entry: T): boolean => {
  const at = list.indexOf(entry);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
};

export const createLine = <T extends Entry>(): Line<T> => {
  const fresh: T[] = [];
  const suspects: T[] = [];
  const running = new Set<T>();

  const take = (list: T[]): T | undefined => {
    const entry = list.shift();
    if (entry) running.add(entry);
    return entry;
  };

  return {
    add: (entry) => {
      fresh.push(entry);
    },
    next: (limit) => {
      if (suspects.length > 0) return running.size === 0 ? take(suspects) : undefined;
      const accused = running.values().some((entry) => entry.deaths > 0);
      return accused || running.size >= limit ? undefined : take(fresh);
    },
    putBack: (entry) => {
      running.delete(entry);
      (entry.deaths > 0 ? suspects : fresh).unshift(entry);
    },
    remove: (entry) => running.delete(entry) || drop(suspects, entry) || drop(fresh, entry),
    isWaiting: (entry) => fresh.includes(entry) || suspects.includes(entry),
    blame: (isWanted) => {
      const victims = [...running].filter(isWanted);
      running.clear();
      for (const victim of victims) victim.deaths += 1;
      suspects.push(...victims.filter((victim) => victim.deaths < MOST_DEATHS));
      return victims.filter((victim) => victim.deaths >= MOST_DEATHS);
    },
    drain: () => {
      const all = [...running, ...suspects, ...fresh];
      running.clear();
      suspects.length = 0;
      fresh.length = 0;
      return all;
    },
    get inFlight() {
      return running.size;
    },
    get waiting() {
      return fresh.length + suspects.length;
    },
  };
};
