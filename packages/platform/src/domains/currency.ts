/** To which sequence number a domain's memory is current, and waiting until it is. */

export type Currency = {
  seq(): number;
  /** From here on the feed has to be read. */
  followed(): number;
  /** The feed was read, and what it told done, up to this number. */
  follow(seq: number): void;
  /** Resolves with true when `seq()` is at least this. */
  reach(seq: number): Promise<boolean>;
};

const MAX_WAIT_MS = 5000;

export const createCurrency = (first: number): Currency => {
  let followed = first;
  const waiting = new Set<{ readonly seq: number; readonly done: (isReached: boolean) => void }>();
  return {
    seq: () => followed,
    followed: () => followed,
    follow: (seq) => {
      followed = Math.max(followed, seq);
      for (const each of waiting) if (each.seq <= followed) each.done(true);
    },
    reach: (seq) => {
      if (seq <= followed) return Promise.resolve(true);
      return new Promise((resolve) => {
        const waiter = {
          seq,
          done: (isReached: boolean): void => {
            waiting.delete(waiter);
            clearTimeout(timer);
            resolve(isReached);
          },
        };
        const timer = setTimeout(() => waiter.done(false), MAX_WAIT_MS);
        timer.unref();
        waiting.add(waiter);
      });
    },
  };
};
