/** Tasks of one key run one after the other, in the order of coming; those of other keys are not held up. */
export type Turns = { take<T>(key: string, task: () => Promise<T>): Promise<T> };

export const createTurns = (): Turns => {
  const tails = new Map<string, Promise<void>>();
  return {
    take: async (key, task) => {
      const before = tails.get(key);
      const { promise: tail, resolve: end } = Promise.withResolvers<void>();
      tails.set(key, tail);
      try {
        await before;
        return await task();
      } finally {
        end();
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
  };
};
