/**
 * The main side of one engine process: requests by id, a fresh process when it dies, one more try for what was in
 * flight, limits on silence, time and memory. No native code runs here.
 */
import type { Log } from '@parley/kit/log.ts';
import type { Tracing } from '@parley/kit/tracing.ts';
import { problem } from '../core/codes.ts';
import type { Death } from './child.ts';
import { createLine, type Entry, type Line } from './line.ts';
import { type LoadedChild, loadFaultOf, loadModel } from './load.ts';
import type { EngineWork, FromEngine } from './messages.ts';
import type { EngineFacts, EngineModel, Recognition, RecognizeOptions, Recognizer, Utterance } from './recognizer.ts';
import { type Watch, watchChild } from './watch.ts';

export type RecognizerOptions = {
  readonly log: Log;
  /** Longest time from start to a loaded model. */
  readonly startTimeoutMs: number;
  /** Between two questions whether the process still answers. */
  readonly heartbeatMs?: number;
  /** The process is replaced when it holds more than this and stands idle; 0 or missing is no limit. */
  readonly memoryLimitBytes?: number;
  /** Segments that may be in flight; 0 or missing is one more than there are cores. */
  readonly slots?: number;
  /** Told when the process ends while its model is wanted; `planned` when it is replaced for its memory. */
  readonly onEnd?: (planned: boolean) => void;
  /** Told of each utterance that was heard: its length, and its time in the engine with what waited before it there. */
  readonly onRecognized?: (audioSec: number, tookSec: number) => void;
  /** Tells the engine process which trace an utterance belongs to, and notes when it worked on it. */
  readonly tracing?: Tracing;
  /** Gives up the first load; without effect once the model is loaded. */
  readonly signal?: AbortSignal;
};

type Task = Entry & {
  readonly id: number;
  readonly utterance: Utterance;
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
  readonly stop: AbortController;
  readonly line: Line<Task>;
  readonly tasks: Map<number, Task>;
  lastId: number;
  current: (LoadedChild & { readonly watch: Watch }) | undefined;
  facts: EngineFacts | undefined;
  loading: Promise<void> | undefined;
  /** Set while the process is being replaced for its memory: nothing new starts. */
  recycling: boolean;
  /** Set when the model ended two processes in a row: it is not tried again. */
  broken: Error | undefined;
  disposed: Promise<void> | undefined;
};

const HEARTBEAT_MS = 10_000;
/** The scheduler keeps one slot beyond the recogniser's own for short requests; the host takes as many. */
const EXPRESS_SLOTS = 1;
/** Longest time one utterance may take: what every machine should manage, and this much more a second of sound. */
const UTTERANCE_TIMEOUT_MS = 120_000;
const UTTERANCE_TIMEOUT_MS_PER_SEC = 20_000;

const unloaded = (): Error => problem('model_unavailable', 'The model was unloaded.', { retryAfterSec: 1 });

/** Throws Problem `inference_failed` for what must not reach native code. */
const checkUtterance = ({ samples, sampleRate }: Utterance): void => {
  if (!(samples instanceof Int16Array)) throw problem('inference_failed', 'Samples must be 16-bit integers.');
  if (!(Number.isInteger(sampleRate) && sampleRate > 0)) throw problem('inference_failed', 'The sample rate is wrong.');
};

const finish = (host: Host, task: Task, outcome: Recognition | Error): void => {
  clearTimeout(task.timer);
  host.tasks.delete(task.id);
  host.line.remove(task);
  task.settle(outcome);
};

const onMessage = (host: Host, message: FromEngine): void => {
  if (message.kind === 'pong') host.current?.watch.onPong(message);
  if (message.kind !== 'recognized' && message.kind !== 'failed') return;
  const task = host.tasks.get(message.id);
  if (!task) return;
  host.current?.watch.countServed();
  if (message.kind === 'recognized') traceWork(host, message.worked);
  const outcome =
    message.kind === 'recognized'
      ? message.recognition
      : problem(message.code, message.message, { param: message.param });
  finish(host, task, outcome);
  pump(host);
};

const traceWork = ({ options: { tracing }, current, model }: Host, worked: EngineWork | undefined): void => {
  if (!worked || !tracing) return;
  const attributes = { 'process.pid': current?.child.pid ?? 0, 'parley.model': model.id };
  const span = tracing.start('engine', { parent: worked.traceparent, startMs: worked.startMs, attributes });
  span.end(undefined, worked.endMs);
};

const onDeath = (host: Host, death: Death): void => {
  const { line, tasks } = host;
  host.current?.watch.stop();
  host.current = undefined;
  if (host.stop.signal.aborted) return;
  const planned = host.recycling && line.inFlight === 0;
  host.recycling = false;
  const about = { model: host.model.id, reason: death.reason, inFlight: line.inFlight };
  host.options.log[planned ? 'info' : 'warn'](about, 'engine process ended');
  host.options.onEnd?.(planned);
  for (const task of tasks.values()) clearTimeout(task.timer);
  const guilty = line.blame((task) => task.wanted);
  for (const task of guilty) finish(host, task, problem('inference_failed', 'The recording ended the engine twice.'));
  for (const task of [...tasks.values()].filter(({ wanted }) => !wanted)) finish(host, task, unloaded());
  if (planned) ensureLoaded(host);
  else pump(host);
};

const load = async (host: Host): Promise<void> => {
  const { model, options } = host;
  const startedAt = performance.now();
  const loaded = await loadModel(model, {
    slots: options.slots,
    startTimeoutMs: options.startTimeoutMs,
    signal: host.stop.signal,
  });
  loaded.listen((message) => onMessage(host, message));
  const watch = watchChild(loaded.child, {
    heartbeatMs: options.heartbeatMs ?? HEARTBEAT_MS,
    memoryLimitBytes: options.memoryLimitBytes ?? 0,
    onTooLarge: () => {
      host.recycling = true;
      pump(host);
    },
  });
  host.current = { ...loaded, watch };
  host.facts = loaded.facts;
  void loaded.child.gone.then((death) => onDeath(host, death));
  const loadMs = Math.round(performance.now() - startedAt);
  options.log.info({ model: model.id, pid: loaded.child.pid, loadMs }, 'model loaded');
};

/** Everybody who waits is told why. */
const onLoadFault = (host: Host, thrown: unknown): never => {
  const fault = loadFaultOf(thrown);
  const told = thrown instanceof Error ? thrown : unloaded();
  if (fault?.quarantine) host.broken = told;
  if (fault) {
    const about = { model: host.model.id, reason: fault.reason, quarantine: fault.quarantine };
    host.options.log.error(about, 'model cannot be loaded');
  }
  for (const task of host.line.drain()) finish(host, task, told);
  throw told;
};

/** Loads once, however many ask. */
const ensureLoaded = (host: Host): void => {
  host.loading ??= load(host)
    .catch((thrown: unknown) => onLoadFault(host, thrown))
    .finally(() => {
      host.loading = undefined;
      pump(host);
    });
  // Those who wait have been told one by one.
  host.loading.catch(() => undefined);
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
  if (host.stop.signal.aborted || host.loading) return;
  if (!host.current) {
    if (host.line.waiting > 0) ensureLoaded(host);
  } else if (!host.recycling) {
    handOver(host, host.current);
  } else if (host.line.inFlight === 0) {
    host.current.child.kill('held too much memory');
  }
};

const submit = (host: Host, utterance: Utterance, options: RecognizeOptions, signal: AbortSignal) =>
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
  if (host.stop.signal.aborted) throw unloaded();
  if (host.broken) throw host.broken;
  checkUtterance(utterance);
  if (utterance.samples.length === 0) return { text: '', tokens: [] };
  const startedMs = performance.now();
  const recognition = await submit(host, utterance, options, signal);
  const audioSec = utterance.samples.length / utterance.sampleRate;
  host.options.onRecognized?.(audioSec, (performance.now() - startedMs) / 1000);
  return recognition;
};

const dispose = async (host: Host): Promise<void> => {
  // First of all, so that the end is not taken for a death.
  host.stop.abort(unloaded());
  for (const task of [...host.tasks.values()]) finish(host, task, unloaded());
  await host.loading?.catch(() => undefined);
  const { current } = host;
  current?.watch.stop();
  current?.child.kill('is not needed');
  await current?.child.gone;
};

const loadFirst = async (host: Host, signal: AbortSignal | undefined): Promise<void> => {
  signal?.throwIfAborted();
  const giveUp = (): void => host.stop.abort(signal?.reason);
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    ensureLoaded(host);
    await host.loading;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
  if (!host.stop.signal.aborted) return;
  // Told to stop in the moment it was loaded.
  await dispose(host);
  throw host.stop.signal.reason;
};

/**
 * Loads a model in a process of its own. Rejects with the signal's reason, or with Problem `model_unavailable` whose cause is a
 * LoadFault (`loadFaultOf`), with `quarantine` set when the model ended its process twice.
 */
export const startRecognizer = async (model: EngineModel, options: RecognizerOptions): Promise<Recognizer> => {
  const host: Host = {
    model,
    options,
    stop: new AbortController(),
    line: createLine(),
    tasks: new Map(),
    lastId: 0,
    current: undefined,
    facts: undefined,
    loading: undefined,
    recycling: false,
    broken: undefined,
    disposed: undefined,
  };
  await loadFirst(host, options.signal);
  return {
    facts: host.facts!,
    recognize: (utterance, recognizeOptions, signal) => recognize(host, utterance, recognizeOptions, signal),
    rssBytes: async () => (await host.current?.watch.rssBytes()) ?? 0,
    get pid() {
      return host.current?.child.pid;
    },
    [Symbol.asyncDispose]: () => {
      host.disposed ??= dispose(host);
      return host.disposed;
    },
  };
};
