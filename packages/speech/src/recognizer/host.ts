/**
 * The main side of one engine process: requests by id, a fresh process when it dies, one more try for what was in
 * flight, a limit on the time of one utterance. No native code runs here.
 */
import type { Tracing } from '@parley/kit/tracing.ts';
import { problem } from '../core/codes.ts';
import type { Death } from './child.ts';
import { createKeptEngine, type EngineOptions, type KeptEngine, unloaded } from './kept-engine.ts';
import { createLine, type Entry, type Line } from './line.ts';
import type { LoadedChild } from './load.ts';
import type { EngineWork, FromEngine } from './messages.ts';
import {
  type EngineModel,
  EXPRESS_SLOTS,
  type LaidUtterance,
  type Recognition,
  type RecognizeOptions,
  type Recognizer,
} from './recognizer.ts';

export type RecognizerOptions = EngineOptions & {
  /** Segments that may be in flight; 0 or missing is one more than there are cores. */
  readonly slots?: number;
  /** Told of each utterance that was heard: its length, and its time in the engine with what waited before it there. */
  readonly onRecognized?: (audioSec: number, tookSec: number) => void;
  /** Tells the engine process which trace an utterance belongs to, and notes when it worked on it. */
  readonly tracing?: Tracing;
  /** Gives up the first load; without effect once the model is loaded. */
  readonly signal?: AbortSignal;
};

type Task = Entry & {
  readonly id: number;
  readonly utterance: LaidUtterance;
  readonly options: RecognizeOptions;
  readonly traceparent: string | undefined;
  /** False once the caller has its answer or has gone. */
  wanted: boolean;
  timer: NodeJS.Timeout | undefined;
  settle(outcome: Recognition | Error): void;
};

type Host = {
  readonly model: EngineModel;
  readonly options: RecognizerOptions;
  readonly engine: KeptEngine;
  readonly line: Line<Task>;
  readonly tasks: Map<number, Task>;
  lastId: number;
};

/** Longest time one utterance may take: what every machine should manage, and this much more a second of sound. */
const UTTERANCE_TIMEOUT_MS = 120_000;
const UTTERANCE_TIMEOUT_MS_PER_SEC = 20_000;

/** Throws Problem `inference_failed` for what must not reach native code. */
const checkUtterance = ({ samples, sampleRate }: LaidUtterance): void => {
  if (!(samples instanceof Int16Array || 'path' in samples))
    throw problem('inference_failed', 'Samples must be 16-bit integers.');
  if (!(Number.isInteger(sampleRate) && sampleRate > 0)) throw problem('inference_failed', 'The sample rate is wrong.');
};

const finish = (host: Host, task: Task, outcome: Recognition | Error): void => {
  clearTimeout(task.timer);
  host.tasks.delete(task.id);
  host.line.remove(task);
  task.settle(outcome);
};

const onMessage = (host: Host, message: FromEngine): void => {
  if (message.kind !== 'recognized' && message.kind !== 'failed') return;
  const task = host.tasks.get(message.id);
  if (!task) return;
  host.engine.current?.watch.countServed();
  if (message.kind === 'recognized') traceWork(host, message.worked);
  const outcome =
    message.kind === 'recognized'
      ? message.recognition
      : problem(message.code, message.message, { param: message.param });
  finish(host, task, outcome);
  pump(host);
};

const traceWork = ({ options: { tracing }, engine, model }: Host, worked: EngineWork | undefined): void => {
  if (!worked || !tracing) return;
  const attributes = { 'process.pid': engine.current?.child.pid ?? 0, 'parley.model': model.id };
  const span = tracing.start('engine', { parent: worked.traceparent, startMs: worked.startMs, attributes });
  span.end(undefined, worked.endMs);
};

const onDeath = (host: Host, death: Death, wasTooLarge: boolean): void => {
  const { line, tasks } = host;
  const planned = wasTooLarge && line.inFlight === 0;
  const about = { model: host.model.id, reason: death.reason, inFlight: line.inFlight };
  host.options.log[planned ? 'info' : 'warn'](about, 'engine process ended');
  host.options.onEnd?.(planned);
  for (const task of tasks.values()) clearTimeout(task.timer);
  const guilty = line.blame((task) => task.wanted);
  for (const task of guilty) finish(host, task, problem('inference_failed', 'The recording ended the engine twice.'));
  for (const task of [...tasks.values()].filter(({ wanted }) => !wanted)) finish(host, task, unloaded());
  if (planned) host.engine.ensureLoaded();
  else pump(host);
};

const dispatch = (child: LoadedChild['child'], task: Task): boolean => {
  const { id, utterance, options, traceparent } = task;
  const context = traceparent === undefined ? {} : { traceparent };
  if (!child.send({ kind: 'recognize', id, utterance, options, ...context })) return false;
  const soundSec = utterance.samples.length / utterance.sampleRate;
  const limitMs = UTTERANCE_TIMEOUT_MS + UTTERANCE_TIMEOUT_MS_PER_SEC * soundSec;
  task.timer = setTimeout(() => child.kill(`spent ${Math.round(limitMs / 1000)} s on one utterance`), limitMs);
  return true;
};

/** Hands over what may start now. */
const handOver = (host: Host, { child, facts }: LoadedChild): void => {
  const limit = facts.slots + EXPRESS_SLOTS;
  for (let task = host.line.next(limit); task; task = host.line.next(limit)) {
    if (dispatch(child, task)) continue;
    // The process is going; its death starts the next one.
    host.line.putBack(task);
    return;
  }
};

const pump = (host: Host): void => {
  const { engine, line } = host;
  if (engine.isStopped || engine.isLoading) return;
  if (!engine.current) {
    if (line.waiting > 0) engine.ensureLoaded();
  } else if (!engine.isTooLarge) {
    handOver(host, engine.current);
  } else if (line.inFlight === 0) {
    engine.current.child.kill('held too much memory');
  }
};

const submit = (host: Host, utterance: LaidUtterance, options: RecognizeOptions, signal: AbortSignal) =>
  new Promise<Recognition>((resolve, reject) => {
    const onAbort = (): void => {
      task.wanted = false;
      reject(signal.reason);
      // One in flight is left to finish, because native code cannot be interrupted; its answer is dropped.
      if (host.line.isWaiting(task)) finish(host, task, unloaded());
    };
    const settle = (outcome: Recognition | Error): void => {
      task.wanted = false;
      signal.removeEventListener('abort', onAbort);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    host.lastId += 1;
    const traceparent = host.options.tracing?.current();
    const task: Task = {
      id: host.lastId,
      utterance,
      options,
      traceparent,
      wanted: true,
      deaths: 0,
      timer: undefined,
      settle,
    };
    signal.addEventListener('abort', onAbort, { once: true });
    host.tasks.set(task.id, task);
    host.line.add(task);
    pump(host);
  });

const recognize = async (host: Host, ...[utterance, options, signal]: Parameters<Recognizer['recognize']>) => {
  signal.throwIfAborted();
  host.engine.check();
  checkUtterance(utterance);
  if (utterance.samples.length === 0) return { text: '', tokens: [] };
  const startedMs = performance.now();
  const recognition = await submit(host, utterance, options, signal);
  const audioSec = utterance.samples.length / utterance.sampleRate;
  host.options.onRecognized?.(audioSec, (performance.now() - startedMs) / 1000);
  return recognition;
};

/**
 * Loads a model in a process of its own. Rejects with the signal's reason, or with Problem `model_unavailable` whose cause is a
 * LoadFault (`loadFaultOf`), with `quarantine` set when the model ended its process twice.
 */
export const startRecognizer = async (model: EngineModel, options: RecognizerOptions): Promise<Recognizer> => {
  const engine = createKeptEngine({
    model,
    options,
    slots: options.slots,
    title: 'model',
    onMessage: (message) => onMessage(host, message),
    onLoadFault: (told) => {
      for (const task of host.line.drain()) finish(host, task, told);
    },
    onSettled: () => pump(host),
    onTooLarge: () => pump(host),
    onDeath: (death, wasTooLarge) => onDeath(host, death, wasTooLarge),
  });
  const host: Host = { model, options, engine, line: createLine(), tasks: new Map(), lastId: 0 };
  await engine.loadFirst(options.signal);
  return {
    facts: engine.facts!,
    recognize: (utterance, recognizeOptions, signal) => recognize(host, utterance, recognizeOptions, signal),
    rssBytes: engine.rssBytes,
    get pid() {
      return engine.current?.child.pid;
    },
    [Symbol.asyncDispose]: () =>
      engine.stop((why) => {
        for (const task of [...host.tasks.values()]) finish(host, task, why);
      }),
  };
};
