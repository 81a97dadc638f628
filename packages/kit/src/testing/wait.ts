/** Waiting in tests: for events, never for time. Each wait has a last moment, so that a fault fails instead of hanging. */
const LAST_MOMENT_MS = 20_000;

/** Rejects with `what` when the promise does not settle before the last moment. */
export const within = async <T>(promise: Promise<T>, what: string, lastMomentMs = LAST_MOMENT_MS): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${lastMomentMs} ms for ${what}.`)), lastMomentMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
};

export type Latch = {
  open(): void;
  isOpen(): boolean;
  /** Resolves once it is open. */
  opened(): Promise<void>;
};

/** Something one part of a test opens and another waits for. */
export const createLatch = (what = 'the latch'): Latch => {
  let isOpen = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    open: () => {
      isOpen = true;
      resolve();
    },
    isOpen: () => isOpen,
    opened: () => within(promise, what),
  };
};

/** The first `count` things of something that may never end; leaves it afterwards. */
export const collect = async <T>(source: AsyncIterable<T>, count: number): Promise<T[]> => {
  const found: T[] = [];
  const take = async (): Promise<T[]> => {
    if (count === 0) return found;
    for await (const each of source) if (found.push(each) === count) break;
    return found;
  };
  return await within(take(), `${count} things`);
};

const LOOK_EVERY_MS = 25;

/** Looks again and again until `check` says true: for what happens in another process without a word. */
export const eventually = async (what: string, check: () => Promise<boolean> | boolean): Promise<void> => {
  const untilMs = Date.now() + LAST_MOMENT_MS;
  while (!(await check())) {
    if (Date.now() > untilMs) throw new Error(`Waited ${LAST_MOMENT_MS} ms for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
};
