/**
 * The main side of a punctuation model's process: started with the first text, ended when nobody needed it for a while.
 * A process that dies is started again for the next text; a model that cannot be loaded is not tried again for a while.
 */
import { fileURLToPath } from 'node:url';
import type { Log } from '@parley/kit/log.ts';
import { type Child, openProgram } from './child.ts';
import type { FromSupport, PunctuationModel, ToSupport } from './support-messages.ts';

export type PunctuatorOptions = {
  readonly log: Log;
  readonly startTimeoutMs: number;
  /** The process ends when it had nothing to do for this long. */
  readonly idleMs: number;
};

/** One punctuation model. */
export type Punctuator = AsyncDisposable & {
  /** The text with marks as the model writes them. Rejects when the model cannot be loaded, fails, or takes too long. */
  punctuate(text: string, signal: AbortSignal): Promise<string>;
  /** Of the running process. */
  readonly pid: number | undefined;
};

type Running = { readonly child: Child<ToSupport>; readonly loaded: Promise<void>; readonly tasks: Map<number, Task> };
type Task = { resolve(text: string): void; reject(fault: Error): void };

const PROGRAM = fileURLToPath(new URL('./support-process.ts', import.meta.url));
/** Longest time one text may take. */
const TEXT_TIMEOUT_MS = 30_000;
/** How long a model rests that could not be loaded. */
const REST_MS = 60_000;

/** The process died under a text. */
class ProcessEnded extends Error {
  override name = 'ProcessEnded';
}

const orAbort = async (work: Promise<void>, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};

type Gone = { readonly reason: string };

const startProcess = (model: PunctuationModel, options: PunctuatorOptions, onGone: (gone: Gone) => void): Running => {
  const tasks = new Map<number, Task>();
  const ready = Promise.withResolvers<void>();
  const child = openProgram<ToSupport, FromSupport>(PROGRAM, {
    name: `punctuation ${model.id}`,
    libraryPaths: [],
    threads: 1,
    onMessage: (message) => {
      if (message.kind === 'loaded') ready.resolve();
      if (message.kind === 'refused') ready.reject(new Error(message.reason));
      if (message.kind === 'punctuated') tasks.get(message.id)?.resolve(message.text);
      if (message.kind === 'failed') tasks.get(message.id)?.reject(new Error(message.message));
    },
  });
  const timer = setTimeout(() => child.kill('did not load in time'), options.startTimeoutMs);
  const settle = (): void => clearTimeout(timer);
  ready.promise.then(settle, settle);
  void child.gone.then(({ reason }) => {
    const fault = new ProcessEnded(reason);
    ready.reject(fault);
    for (const task of tasks.values()) task.reject(fault);
    onGone({ reason });
  });
  child.send({ kind: 'load-punctuation', model });
  return { child, loaded: ready.promise, tasks };
};

/** Starts nothing yet. */
export const createPunctuator = (model: PunctuationModel, options: PunctuatorOptions): Punctuator => {
  let running: Running | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;
  let ended = false;

  const ensure = (): Running => {
    if (ended) throw new Error('The service is stopping.');
    if (performance.now() - failedAtMs < REST_MS) throw new Error('The model could not be loaded a moment ago.');
    if (running) return running;
    const started = startProcess(model, options, ({ reason }) => {
      if (running !== started) return;
      running = undefined;
      options.log.warn({ model: model.id, reason }, 'punctuation process ended');
    });
    started.loaded.catch((thrown: unknown) => {
      failedAtMs = performance.now();
      started.child.kill('is not needed');
      if (!ended) options.log.error({ err: thrown, model: model.id }, 'punctuation model cannot be loaded');
    });
    running = started;
    return started;
  };

  const release = async (why: string): Promise<void> => {
    const leaving = running;
    running = undefined;
    leaving?.child.kill(why);
    await leaving?.child.gone;
  };

  const rest = (): void => {
    clearTimeout(idle);
    idle = setTimeout(() => void release('was idle'), options.idleMs);
    idle.unref();
  };

  const ask = async (text: string, signal: AbortSignal): Promise<string> => {
    const { child, loaded, tasks } = ensure();
    await orAbort(loaded, signal);
    lastId += 1;
    const id = lastId;
    const answer = Promise.withResolvers<string>();
    const timer = setTimeout(() => child.kill('took too long over one text'), TEXT_TIMEOUT_MS);
    const giveUp = (): void => answer.reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    tasks.set(id, answer);
    try {
      if (!child.send({ kind: 'punctuate', id, text })) throw new Error('The process is going.');
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      tasks.delete(id);
    }
  };

  return {
    get pid() {
      return running?.child.pid;
    },
    punctuate: async (text, signal) => {
      clearTimeout(idle);
      try {
        return await ask(text, signal).catch((thrown: unknown) => {
          // A process that died under somebody else's text deserves another try, a model that cannot be loaded does not.
          if (signal.aborted || !(thrown instanceof ProcessEnded)) throw thrown;
          return ask(text, signal);
        });
      } finally {
        rest();
      }
    },
    [Symbol.asyncDispose]: async () => {
      ended = true;
      clearTimeout(idle);
      await release('is not needed');
    },
  };
};
