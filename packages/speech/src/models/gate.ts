/** Runs a bounded number of tasks at once, first come first served. */

/** Runs at most `limit` tasks at once; the others wait in order. */
export const createGate = (limit: number) => {
  const waiting: (() => void)[] = [];
  let free = limit;
  return async <T>(run: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
};
