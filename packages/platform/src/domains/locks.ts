/**
 * The order of writes in one domain. Writes to one entity queue behind each other; a write that reads or changes more
 * than its own entity waits until it is alone. Whoever waits is served in the order of coming.
 */

import { createTurns } from './turns.ts';

export type Locks = {
  /** Runs the task when no other write to this entity and no exclusive one runs. */
  entity<T>(key: string, task: () => Promise<T>): Promise<T>;
  /** Runs the task when no other write runs at all; later ones wait. */
  exclusive<T>(task: () => Promise<T>): Promise<T>;
};

export const createLocks = (): Locks => {
  const turns = createTurns();
  let running = 0;
  let isAlone = false;
  const waiting: { readonly isExclusive: boolean; readonly start: () => void }[] = [];

  const startNext = (): void => {
    while (waiting.length > 0 && !isAlone) {
      const next = waiting[0]!;
      if (next.isExclusive && running > 0) return;
      waiting.shift();
      if (next.isExclusive) isAlone = true;
      running += 1;
      next.start();
    }
  };
  const enter = (isExclusive: boolean): Promise<void> => {
    if (!isAlone && waiting.length === 0 && (!isExclusive || running === 0)) {
      isAlone = isExclusive;
      running += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => waiting.push({ isExclusive, start: resolve }));
  };
  const leave = (): void => {
    running -= 1;
    isAlone = false;
    startNext();
  };
  const run = async <T>(isExclusive: boolean, task: () => Promise<T>): Promise<T> => {
    await enter(isExclusive);
    try {
      return await task();
    } finally {
      leave();
    }
  };
  return {
    exclusive: (task) => run(true, task),
    entity: (key, task) => turns.take(key, () => run(false, task)),
  };
};
