/** One thread of the sandbox as the pool sees it: it is asked one question at a time, and ended when it does not answer. */
import type { Log } from '@parley/kit/log.ts';
import { startThread } from '@parley/kit/thread.ts';
import type { Answer, Question } from './sandbox-messages.ts';

export type SandboxThread = {
  /** `gone` when the thread died or had to be ended; it is of no more use then, as after an answer that `isLast`. */
  ask(question: Question): Promise<Answer | 'gone'>;
  end(): Promise<void>;
};

/** A thread that is not ready by then never will be. */
const START_MS = 30_000;
/** Heap of a thread, in MiB; the interpreter's own memory is counted apart. Deep recursion in it needs stack here. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 16 };

/** Starts a thread. `graceMs`: how long after its own limit a question may stay without an answer. */
export const createSandboxThread = (graceMs: number, log: Log): SandboxThread => {
  const worker = startThread(new URL('./sandbox-worker.ts', import.meta.url), {
    resourceLimits: THREAD_LIMITS,
    stderr: true,
  });
  // What the interpreter prints when it breaks.
  worker.stderr.resume();
  let asked: { readonly wallMs: number; resolve(answer: Answer | 'gone'): void } | undefined;
  let isReady = false;
  let isGone = false;
  let alarm: NodeJS.Timeout | undefined;

  const settle = (answer: Answer | 'gone'): void => {
    clearTimeout(alarm);
    const waiting = asked;
    asked = undefined;
    waiting?.resolve(answer);
  };
  const hung = (): void => {
    log.warn({ thread: worker.threadId }, 'a thread of scripts did not answer and was ended');
    isGone = true;
    worker.terminate();
    settle('gone');
  };
  const setAlarm = (): void => {
    clearTimeout(alarm);
    if (asked) alarm = setTimeout(hung, isReady ? asked.wallMs + graceMs : START_MS);
  };
  worker.on('message', (message: Answer | 'ready') => {
    if (message !== 'ready') return settle(message);
    isReady = true;
    setAlarm();
  });
  worker.once('error', (error) => log.error({ err: error }, 'a thread of scripts failed'));
  const exit = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      isGone = true;
      settle('gone');
      resolve();
    });
  });
  return {
    ask: (question) => {
      if (isGone) return Promise.resolve('gone');
      return new Promise((resolve) => {
        asked = { wallMs: question.wallMs, resolve };
        setAlarm();
        worker.postMessage(question);
      });
    },
    end: async () => {
      clearTimeout(alarm);
      await worker.terminate();
      await exit;
    },
  };
};
