/** The time, passed in wherever it matters, so that a test can hold it still. */
import { setTimeout as sleep } from 'node:timers/promises';

export type Clock = {
  /** Unix milliseconds. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  delay(ms: number, signal?: AbortSignal): Promise<void>;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  delay: async (ms, signal) => {
    await sleep(ms, undefined, signal ? { signal } : undefined);
  },
};
