/**
 * The main side of telling speakers apart: one process for one recording, so that its memory is free afterwards and a
 * crash hurts nobody else. The audio goes over in pieces while it is decoded. Once the pass has begun it runs to its end,
 * but not longer than its limit.
 */
import { fileURLToPath } from 'node:url';
import { type Child, openProgram } from './child.ts';
import type { FromSupport, SpeakersOptions, ToSupport, Turn } from './support-messages.ts';

export type SpeakersPass = AsyncDisposable & {
  /** Hands over samples of the recording from sample `at` on, 16 kHz mono. Resolves when the next piece may come. */
  take(at: number, samples: Int16Array): Promise<void>;
  /** Who speaks when. Rejects when the process dies, refuses or passes the limit. */
  tellApart(limitMs: number): Promise<readonly Turn[]>;
  /** Ends the process at once; what waits for it rejects. */
  kill(why: string): void;
};

const PROGRAM = fileURLToPath(new URL('./support-process.ts', import.meta.url));
/** libuv's threads: one decodes, one reads files. */
const THREADS = 2;
/** Longest time the process may take to keep a piece. */
const TAKE_TIMEOUT_MS = 60_000;

/** Starts a process and loads the models. Rejects with the reason when they cannot be loaded. */
export const startSpeakersPass = async (options: SpeakersOptions, startTimeoutMs: number): Promise<SpeakersPass> => {
  let answer = Promise.withResolvers<FromSupport>();
  const child: Child<ToSupport> = openProgram<ToSupport, FromSupport>(PROGRAM, {
    name: 'speakers',
    libraryPaths: [],
    threads: THREADS + options.numThreads,
    onMessage: (message) => answer.resolve(message),
  });
  /** What the process says next, or why it is gone. */
  const next = async (message: ToSupport, limitMs: number): Promise<FromSupport> => {
    answer = Promise.withResolvers<FromSupport>();
    const timer = setTimeout(() => child.kill(`was not done in ${Math.round(limitMs / 1000)} s`), limitMs);
    try {
      child.send(message);
      const outcome = await Promise.race([answer.promise, child.gone]);
      if (!('kind' in outcome)) throw new Error(outcome.reason);
      if (outcome.kind === 'refused') throw new Error(outcome.reason);
      return outcome;
    } finally {
      clearTimeout(timer);
    }
  };
  const end = async (): Promise<void> => {
    child.kill('is not needed');
    await child.gone;
  };
  try {
    await next({ kind: 'load-speakers', options }, startTimeoutMs);
  } catch (thrown) {
    await end();
    throw thrown;
  }
  return {
    take: async (at, samples) => {
      await next({ kind: 'audio', at, samples }, TAKE_TIMEOUT_MS);
    },
    tellApart: async (limitMs) => {
      const outcome = await next({ kind: 'tell-apart' }, limitMs);
      return outcome.kind === 'turns' ? outcome.turns : [];
    },
    kill: child.kill,
    [Symbol.asyncDispose]: end,
  };
};
