/** Lanes of load: each picks an operation, carries it out, pauses, and begins again until told to stop. */
import type { Random } from '../../fuzz/random.ts';
import type { Client } from './client.ts';
import type { Ledger } from './ledger.ts';
import type { Stage } from './stage.ts';

export type LoadContext = {
  readonly stage: Stage;
  readonly ledger: Ledger;
  readonly client: Client;
  readonly random: Random;
  /** Token of an administrator of the platform. */
  readonly token: string;
  /** Aborted when the load shall end; operations that last give up then. */
  readonly signal: AbortSignal;
  /** A number nobody had before. */
  serial(): number;
};

export type Operation = { readonly weight: number; run(context: LoadContext): Promise<void> };

export type Lane = { readonly operations: readonly Operation[]; readonly lanes: number; readonly pauseMs: number };

const pick = (operations: readonly Operation[], random: Random): Operation => {
  let at = random.int(operations.reduce((sum, { weight }) => sum + weight, 0));
  return operations.find(({ weight }) => {
    at -= weight;
    return at < 0;
  })!;
};

/** Waits, or until the signal. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });

const runLane = async ({ operations, pauseMs }: Lane, context: LoadContext): Promise<void> => {
  const { random, signal } = context;
  while (!signal.aborted) {
    await pick(operations, random).run(context);
    await pause(pauseMs / 2 + random.int(pauseMs), signal);
  }
};

/** Runs all lanes until the signal; every lane draws from the same source. */
export const runLoad = async (lanes: readonly Lane[], context: LoadContext): Promise<void> => {
  await Promise.all(lanes.flatMap((lane) => Array.from({ length: lane.lanes }, () => runLane(lane, context))));
};
