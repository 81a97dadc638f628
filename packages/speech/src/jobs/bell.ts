/** Wakes whoever waits for news without telling what the news is. */

export type Bell = {
  ring(): void;
  /** Resolves at the first ring after it was asked for. Ask before looking, so that nothing is slept through. */
  next(): Promise<void>;
};

export const createBell = (): Bell => {
  let waiter = Promise.withResolvers<void>();
  return {
    ring: () => {
      waiter.resolve();
      waiter = Promise.withResolvers<void>();
    },
    next: () => waiter.promise,
  };
};
