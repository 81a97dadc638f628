/**
 * Holds back runs that take many steps: each step costs the thread that answers requests, so long runs share a rate
 * between them, while short ones never wait.
 */
import { setTimeout as wait } from 'node:timers/promises';

export type Pace = {
  /** For one run. */
  open(): PaceOfRun;
};

export type PaceOfRun = {
  /** Before each step; rejects with the signal's reason. */
  step(signal: AbortSignal): Promise<void>;
  close(): void;
};

/** Steps before a run counts as long. */
const FREE_STEPS = 100;
/** Time between two steps of all long runs together, in milliseconds. */
const STEP_MS = 2;

export const createPace = (): Pace => {
  let long = 0;
  return {
    open: () => {
      let steps = 0;
      return {
        step: async (signal) => {
          steps += 1;
          if (steps < FREE_STEPS) return;
          if (steps === FREE_STEPS) long += 1;
          await wait(STEP_MS * long, undefined, { signal });
        },
        close: () => {
          if (steps >= FREE_STEPS) long -= 1;
          steps = 0;
        },
      };
    },
  };
};
