/** One thread of the sandbox as the pool sees it: it is asked one question at a time, and ended when it does not answer. */
import { readFileSync } from 'node:fs';
import type { Log } from '@parley/kit/log.ts';
import { startThread } from '@parley/kit/thread.ts';
import type { Answer, Question, Ready, ThreadOptions } from './sandbox-messages.ts';

export type SandboxThread = {
  /** `gone` when the thread died or had to be ended; it is of no more use then, as after an answer that `isLast`. */
  ask(question: Question): Promise<Answer | 'gone'>;
  end(): Promise<void>;
};

/** A thread that is not ready by then never will be. */
const START_MS = 30_000;
/** Where the system does not tell what a thread used, it is taken to get one in so many parts of a processor. */
const OTHERS_SHARE = 4;
/** Heap of a thread, in MiB; the interpreter's own memory is counted apart. Deep recursion in it needs stack here. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 16 };

export type SandboxThreadOptions = ThreadOptions & {
  /** Time of a processor after its limit that a question may stay without an answer. */
  readonly graceMs: number;
  readonly log: Log;
};

type Asked = {
  readonly question: Question;
  readonly beganMs: number;
  readonly cpuMs: number;
  resolve(answer: Answer | 'gone'): void;
};

/** Starts a thread. */
export const createSandboxThread = ({ graceMs, niceness, log }: SandboxThreadOptions): SandboxThread => {
  const worker = startThread(new URL('./sandbox-worker.ts', import.meta.url), {
    workerData: { niceness } satisfies ThreadOptions,
    resourceLimits: THREAD_LIMITS,
    stderr: true,
  });
  // What the interpreter prints when it breaks.
  worker.stderr.resume();
  let asked: Asked | undefined;
  let systemId: number | undefined;
  let isGone = false;
  let alarm: NodeJS.Timeout | undefined;

  const settle = (answer: Answer | 'gone'): void => {
    clearTimeout(alarm);
    const waiting = asked;
    asked = undefined;
    waiting?.resolve(answer);
  };
  const giveUp = (): void => {
    log.warn({ thread: worker.threadId }, 'a thread of scripts did not answer and was ended');
    isGone = true;
    worker.terminate();
    settle('gone');
  };
  /** A thread that got no processor is not one that hangs: what it used counts, and the time only in the end. */
  const check = (): void => {
    if (!asked) return;
    const { question, beganMs, cpuMs } = asked;
    const leftMs = graceMs + question.cpuMs - (cpuOf(systemId) - cpuMs);
    const isLate = performance.now() - beganMs > question.wallMs;
    if (leftMs <= 0 || isLate) giveUp();
    else alarm = setTimeout(check, Math.min(leftMs, question.wallMs));
  };
  const begin = (): void => {
    if (!asked) return;
    asked = { ...asked, beganMs: performance.now(), cpuMs: cpuOf(systemId) };
    alarm = setTimeout(check, asked.question.cpuMs + graceMs);
  };
  worker.on('message', (message: Answer | Ready) => {
    if (!('ready' in message)) return settle(message);
    clearTimeout(alarm);
    systemId = message.ready;
    begin();
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
        asked = { question, resolve, beganMs: 0, cpuMs: 0 };
        if (systemId === undefined) alarm = setTimeout(giveUp, START_MS);
        else begin();
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

/** Milliseconds of a processor that a thread of ours has used, by its number; time itself where that is not told. */
const cpuOf = (systemId: number | undefined): number => {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${systemId}/schedstat`, 'utf8').split(' ');
    return Number(nanoseconds) / 1e6;
  } catch {
    return performance.now() / OTHERS_SHARE;
  }
};
