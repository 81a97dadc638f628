/**
 * One model's engine process, kept: loaded once however many ask, watched while it runs, left alone when it cannot be
 * loaded. What the process is asked, and what becomes of that when it dies, is its hosts' part (host.ts,
 * streaming-host.ts).
 */
import type { Log } from '@parley/kit/log.ts';
import { problem } from '../core/codes.ts';
import type { Death } from './child.ts';
import { type LoadedChild, loadFaultOf, loadModel } from './load.ts';
import type { FromEngine } from './messages.ts';
import type { EngineFacts, EngineModel } from './recognizer.ts';
import { type Watch, watchChild } from './watch.ts';

export type EngineOptions = {
  readonly log: Log;
  /** Longest time from start to a loaded model. */
  readonly startTimeoutMs: number;
  /** Between two questions whether the process still answers. */
  readonly heartbeatMs?: number;
  /** The process is replaced when it holds more than this and stands idle; 0 or missing is no limit. */
  readonly memoryLimitBytes?: number;
  /** Told when the process ends while its model is wanted; `planned` when it is replaced for its memory. */
  readonly onEnd?: (planned: boolean) => void;
};

export type EngineParts = {
  readonly model: EngineModel;
  readonly options: EngineOptions;
  /** Segments that may be in flight; 0 or missing is one more than there are cores. */
  readonly slots: number | undefined;
  /** What is loaded, for the log. */
  readonly title: string;
  /** Hears everything but answers to the watch's own questions. */
  readonly onMessage: (message: FromEngine) => void;
  /** The process is there, before anything else can be said to it. */
  readonly onLoaded?: () => void;
  /** It cannot be loaded; `told` is for those who wait. */
  readonly onLoadFault: (told: Error) => void;
  /** A load is over, well or not; a new one may begin. */
  readonly onSettled?: () => void;
  /** The process holds too much memory: it is to be ended when it stands idle. */
  readonly onTooLarge: () => void;
  /** The process is gone though its model is wanted; `wasTooLarge` when it was waiting to be replaced. */
  readonly onDeath: (death: Death, wasTooLarge: boolean) => void;
};

export type KeptEngine = {
  readonly current: (LoadedChild & { readonly watch: Watch }) | undefined;
  /** Of the last process that was loaded. */
  readonly facts: EngineFacts | undefined;
  readonly isLoading: boolean;
  /** Set from the moment the process holds too much memory until it is gone: nothing new starts. */
  readonly isTooLarge: boolean;
  readonly isStopped: boolean;
  /** Throws when nothing can be asked any more: it was stopped, or the model ended two processes at load. */
  check(): void;
  /** Does nothing while a process is being loaded. */
  ensureLoaded(): void;
  /** The first load; an abort gives it up. Rejects with the signal's reason or the load's fault, with nothing left running. */
  loadFirst(signal: AbortSignal | undefined): Promise<void>;
  /** Ends the process and waits for its end; `tellAll` comes first, when no end is taken for a death any more. */
  stop(tellAll: (why: Error) => void): Promise<void>;
  /** Bytes; 0 while there is no process. */
  rssBytes(): Promise<number>;
};

const HEARTBEAT_MS = 10_000;

/** What is told to those whose model goes. */
export const unloaded = (): Error => problem('model_unavailable', 'The model was unloaded.', { retryAfterSec: 1 });

type State = {
  readonly stop: AbortController;
  current: KeptEngine['current'];
  facts: EngineFacts | undefined;
  loading: Promise<void> | undefined;
  isTooLarge: boolean;
  /** Set when the model ended two processes in a row: it is not tried again. */
  broken: Error | undefined;
  stopped: Promise<void> | undefined;
};

const onDeath = (state: State, parts: EngineParts, death: Death): void => {
  state.current?.watch.stop();
  state.current = undefined;
  if (state.stop.signal.aborted) return;
  const wasTooLarge = state.isTooLarge;
  state.isTooLarge = false;
  parts.onDeath(death, wasTooLarge);
};

const load = async (state: State, parts: EngineParts): Promise<void> => {
  const { model, options, slots } = parts;
  const startedAt = performance.now();
  const { startTimeoutMs } = options;
  const loaded = await loadModel(model, { slots, startTimeoutMs, signal: state.stop.signal });
  loaded.listen((message) => {
    if (message.kind === 'pong') state.current?.watch.onPong(message);
    else parts.onMessage(message);
  });
  const watch = watchChild(loaded.child, {
    heartbeatMs: options.heartbeatMs ?? HEARTBEAT_MS,
    memoryLimitBytes: options.memoryLimitBytes ?? 0,
    onTooLarge: () => {
      state.isTooLarge = true;
      parts.onTooLarge();
    },
  });
  state.current = { ...loaded, watch };
  state.facts = loaded.facts;
  void loaded.child.gone.then((death) => onDeath(state, parts, death));
  parts.onLoaded?.();
  const loadMs = Math.round(performance.now() - startedAt);
  options.log.info({ model: model.id, pid: loaded.child.pid, loadMs }, `${parts.title} loaded`);
};

const blame = (state: State, { model, options, onLoadFault }: EngineParts, thrown: unknown): never => {
  const fault = loadFaultOf(thrown);
  const told = thrown instanceof Error ? thrown : unloaded();
  if (fault?.quarantine) state.broken = told;
  if (fault) {
    const about = { model: model.id, reason: fault.reason, quarantine: fault.quarantine };
    options.log.error(about, 'model cannot be loaded');
  }
  onLoadFault(told);
  throw thrown;
};

const ensureLoaded = (state: State, parts: EngineParts): Promise<void> => {
  state.loading ??= load(state, parts)
    .catch((thrown: unknown) => blame(state, parts, thrown))
    .finally(() => {
      state.loading = undefined;
      parts.onSettled?.();
    });
  // Those who wait have been told one by one.
  state.loading.catch(() => undefined);
  return state.loading;
};

const end = async (state: State, tellAll: (why: Error) => void): Promise<void> => {
  // First of all, so that the end is not taken for a death.
  state.stop.abort(unloaded());
  tellAll(unloaded());
  await state.loading?.catch(() => undefined);
  const { current } = state;
  current?.watch.stop();
  current?.child.kill('is not needed');
  await current?.child.gone;
};

const loadFirst = async (state: State, parts: EngineParts, signal: AbortSignal | undefined): Promise<void> => {
  signal?.throwIfAborted();
  const giveUp = (): void => state.stop.abort(signal?.reason);
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    await ensureLoaded(state, parts);
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
  if (!state.stop.signal.aborted) return;
  // Told to stop in the moment it was loaded.
  await end(state, () => undefined);
  throw state.stop.signal.reason;
};

/** Starts nothing yet. */
export const createKeptEngine = (parts: EngineParts): KeptEngine => {
  const state: State = {
    stop: new AbortController(),
    current: undefined,
    facts: undefined,
    loading: undefined,
    isTooLarge: false,
    broken: undefined,
    stopped: undefined,
  };
  return {
    get current() {
      return state.current;
    },
    get facts() {
      return state.facts;
    },
    get isLoading() {
      return state.loading !== undefined;
    },
    get isTooLarge() {
      return state.isTooLarge;
    },
    get isStopped() {
      return state.stop.signal.aborted;
    },
    check: () => {
      if (state.stop.signal.aborted) throw unloaded();
      if (state.broken) throw state.broken;
    },
    ensureLoaded: () => void ensureLoaded(state, parts),
    loadFirst: (signal) => loadFirst(state, parts, signal),
    stop: (tellAll) => {
      state.stopped ??= end(state, tellAll);
      return state.stopped;
    },
    rssBytes: async () => (await state.current?.watch.rssBytes()) ?? 0,
  };
};
