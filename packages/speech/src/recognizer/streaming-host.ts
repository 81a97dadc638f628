/**
 * The main side of one engine process with a streaming model: streams by number, a fresh process when it dies. What was
 * lost with a process is told to its streams; saying it again is the session's part, which has the audio.
 */
import { problem } from '../core/codes.ts';
import type { Death } from './child.ts';
import type { RecognizerOptions } from './host.ts';
import { type LoadedChild, loadFaultOf, loadModel } from './load.ts';
import type { FromEngine, ToEngine } from './messages.ts';
import type { EngineFacts, EngineModel } from './recognizer.ts';
import type { RecognitionStream, StreamingRecognizer, StreamListener } from './streaming.ts';
import type { HeardStream } from './streaming-messages.ts';
import { type Watch, watchChild } from './watch.ts';

const HEARTBEAT_MS = 10_000;

type Open = {
  readonly listener: StreamListener;
  /** What was said before the process was there to hear it. */
  readonly unsent: ToEngine[];
};

type Host = {
  readonly model: EngineModel;
  readonly options: RecognizerOptions;
  readonly stop: AbortController;
  readonly streams: Map<number, Open>;
  lastId: number;
  current: (LoadedChild & { readonly watch: Watch }) | undefined;
  facts: EngineFacts | undefined;
  /** Set when the model ended two processes at load: it is not tried again. */
  broken: Error | undefined;
  loading: Promise<void> | undefined;
  recycling: boolean;
  disposed: Promise<void> | undefined;
};

const unloaded = (): Error => problem('model_unavailable', 'The model was unloaded.', { retryAfterSec: 1 });
const died = (): Error => problem('inference_failed', 'The engine ended and was started again.');

const loseAll = (host: Host, reason: Error): void => {
  const lost = [...host.streams.values()];
  host.streams.clear();
  for (const { listener } of lost) listener.onLost(reason);
};

const tell = (host: Host, { stream, doneSamples, text, endpoint, final }: HeardStream): void => {
  const open = host.streams.get(stream);
  if (!open) return;
  const { listener } = open;
  if (final) {
    host.streams.delete(stream);
    host.current?.watch.countServed();
    listener.onProgress(doneSamples);
    listener.onFinal(final);
    return;
  }
  if (text !== undefined) listener.onText(text);
  listener.onProgress(doneSamples);
  // Hearing the text or the progress may have ended the stream.
  if (endpoint && host.streams.has(stream)) listener.onEndpoint();
};

const recycleWhenIdle = (host: Host): void => {
  if (host.recycling && host.streams.size === 0) host.current?.child.kill('held too much memory');
};

const onMessage = (host: Host, message: FromEngine): void => {
  if (message.kind === 'pong') host.current?.watch.onPong(message);
  if (message.kind !== 'heard') return;
  for (const heard of message.streams) tell(host, heard);
  recycleWhenIdle(host);
};

const onDeath = (host: Host, death: Death): void => {
  host.current?.watch.stop();
  host.current = undefined;
  if (host.stop.signal.aborted) return;
  const planned = host.recycling;
  host.recycling = false;
  const about = { model: host.model.id, reason: death.reason, streams: host.streams.size };
  host.options.log[planned ? 'info' : 'warn'](about, 'streaming engine process ended');
  host.options.onEnd?.(planned);
  // First the next process: streams opened by those who lost theirs then wait for it.
  ensureLoaded(host);
  loseAll(host, died());
};

const load = async (host: Host): Promise<void> => {
  const { model, options } = host;
  const startedAt = performance.now();
  const loaded = await loadModel(model, {
    slots: 1,
    startTimeoutMs: options.startTimeoutMs,
    signal: host.stop.signal,
  });
  loaded.listen((message) => onMessage(host, message));
  const watch = watchChild(loaded.child, {
    heartbeatMs: options.heartbeatMs ?? HEARTBEAT_MS,
    memoryLimitBytes: options.memoryLimitBytes ?? 0,
    onTooLarge: () => {
      host.recycling = true;
      recycleWhenIdle(host);
    },
  });
  host.current = { ...loaded, watch };
  host.facts = loaded.facts;
  void loaded.child.gone.then((death) => onDeath(host, death));
  for (const open of host.streams.values()) {
    for (const message of open.unsent.splice(0)) loaded.child.send(message);
  }
  const loadMs = Math.round(performance.now() - startedAt);
  options.log.info({ model: model.id, pid: loaded.child.pid, loadMs }, 'streaming model loaded');
};

const ensureLoaded = (host: Host): void => {
  host.loading ??= load(host)
    .catch((thrown: unknown) => {
      const fault = loadFaultOf(thrown);
      const told = thrown instanceof Error ? thrown : unloaded();
      if (fault?.quarantine) host.broken = told;
      if (fault) host.options.log.error({ model: host.model.id, reason: fault.reason }, 'model cannot be loaded');
      loseAll(host, told);
      throw thrown;
    })
    .finally(() => {
      host.loading = undefined;
    });
  // Every stream has been told by itself.
  host.loading.catch(() => undefined);
};

const openStream = (host: Host, listener: StreamListener, language: string | undefined): RecognitionStream => {
  host.lastId += 1;
  const id = host.lastId;
  const open: Open = { listener, unsent: [] };
  host.streams.set(id, open);
  const send = (message: ToEngine): void => {
    if (!host.streams.has(id)) return;
    // A send that fails is followed by the news of the death.
    if (host.current) host.current.child.send(message);
    else open.unsent.push(message);
  };
  if (!host.current) ensureLoaded(host);
  send({ kind: 'stream-open', stream: id, ...(language !== undefined && { language }) });
  return {
    push: (samples, sampleRate) => send({ kind: 'stream-audio', stream: id, samples, sampleRate }),
    finish: () => send({ kind: 'stream-finish', stream: id }),
    close: () => {
      send({ kind: 'stream-close', stream: id });
      host.streams.delete(id);
      recycleWhenIdle(host);
    },
  };
};

const dispose = async (host: Host): Promise<void> => {
  // First of all, so that the end is not taken for a death.
  host.stop.abort(unloaded());
  loseAll(host, unloaded());
  await host.loading?.catch(() => undefined);
  host.current?.watch.stop();
  host.current?.child.kill('is not needed');
  await host.current?.child.gone;
};

/** Loads a streaming model in a process of its own. Rejects as startRecognizer does. */
export const startStreamingRecognizer = async (
  model: EngineModel,
  options: RecognizerOptions,
): Promise<StreamingRecognizer> => {
  const host: Host = {
    model,
    options,
    stop: new AbortController(),
    streams: new Map(),
    lastId: 0,
    current: undefined,
    facts: undefined,
    broken: undefined,
    loading: undefined,
    recycling: false,
    disposed: undefined,
  };
  const giveUp = (): void => host.stop.abort(options.signal?.reason);
  options.signal?.throwIfAborted();
  options.signal?.addEventListener('abort', giveUp, { once: true });
  try {
    ensureLoaded(host);
    await host.loading;
  } finally {
    options.signal?.removeEventListener('abort', giveUp);
  }
  if (host.stop.signal.aborted) {
    await dispose(host);
    throw host.stop.signal.reason;
  }
  return {
    facts: host.facts!,
    openStream: (listener, { language }) => {
      if (host.stop.signal.aborted) throw unloaded();
      if (host.broken) throw host.broken;
      return openStream(host, listener, language);
    },
    recognize: () =>
      Promise.reject(problem('capability_unavailable', 'A streaming model cannot transcribe recordings.')),
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
