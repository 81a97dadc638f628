/**
 * The main side of one engine process with a streaming model: streams by number, a fresh process when it dies. What was
 * lost with a process is told to its streams; saying it again is the session's part, which has the audio.
 */
import { problem } from '../core/codes.ts';
import type { Death } from './child.ts';
import type { RecognizerOptions } from './host.ts';
import { createKeptEngine, type KeptEngine } from './kept-engine.ts';
import type { FromEngine, ToEngine } from './messages.ts';
import type { EngineModel } from './recognizer.ts';
import type { RecognitionStream, StreamingRecognizer, StreamListener } from './streaming.ts';
import type { HeardStream } from './streaming-messages.ts';

type Open = {
  readonly listener: StreamListener;
  /** What was said before the process was there to hear it. */
  readonly unsent: ToEngine[];
};

type Host = {
  readonly model: EngineModel;
  readonly options: RecognizerOptions;
  readonly engine: KeptEngine;
  readonly streams: Map<number, Open>;
  lastId: number;
};

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
    host.engine.current?.watch.countServed();
    listener.onProgress(doneSamples);
    listener.onFinal(final);
    return;
  }
  if (text !== undefined) listener.onText(text);
  listener.onProgress(doneSamples);
  // Hearing the text or the progress may have ended the stream.
  if (endpoint && host.streams.has(stream)) listener.onEndpoint();
};

const recycleWhenIdle = ({ engine, streams }: Host): void => {
  if (engine.isTooLarge && streams.size === 0) engine.current?.child.kill('held too much memory');
};

const onMessage = (host: Host, message: FromEngine): void => {
  if (message.kind !== 'heard') return;
  for (const heard of message.streams) tell(host, heard);
  recycleWhenIdle(host);
};

const onDeath = (host: Host, death: Death, planned: boolean): void => {
  const about = { model: host.model.id, reason: death.reason, streams: host.streams.size };
  host.options.log[planned ? 'info' : 'warn'](about, 'streaming engine process ended');
  host.options.onEnd?.(planned);
  // First the next process: streams opened by those who lost theirs then wait for it.
  host.engine.ensureLoaded();
  loseAll(host, died());
};

/** What was said before the process was there. */
const sendUnsent = ({ engine, streams }: Host): void => {
  for (const open of streams.values()) {
    for (const message of open.unsent.splice(0)) engine.current?.child.send(message);
  }
};

const openStream = (host: Host, listener: StreamListener, language: string | undefined): RecognitionStream => {
  host.lastId += 1;
  const id = host.lastId;
  const open: Open = { listener, unsent: [] };
  host.streams.set(id, open);
  const send = (message: ToEngine): void => {
    if (!host.streams.has(id)) return;
    // A send that fails is followed by the news of the death.
    const { current } = host.engine;
    if (current) current.child.send(message);
    else open.unsent.push(message);
  };
  if (!host.engine.current) host.engine.ensureLoaded();
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

/** Loads a streaming model in a process of its own. Rejects as startRecognizer does. */
export const startStreamingRecognizer = async (
  model: EngineModel,
  options: RecognizerOptions,
): Promise<StreamingRecognizer> => {
  const engine = createKeptEngine({
    model,
    options,
    slots: 1,
    title: 'streaming model',
    onMessage: (message) => onMessage(host, message),
    onLoaded: () => sendUnsent(host),
    onLoadFault: (told) => loseAll(host, told),
    onTooLarge: () => recycleWhenIdle(host),
    onDeath: (death, wasTooLarge) => onDeath(host, death, wasTooLarge),
  });
  const host: Host = { model, options, engine, streams: new Map(), lastId: 0 };
  await engine.loadFirst(options.signal);
  return {
    facts: engine.facts!,
    openStream: (listener, { language }) => {
      engine.check();
      return openStream(host, listener, language);
    },
    recognize: () =>
      Promise.reject(problem('capability_unavailable', 'A streaming model cannot transcribe recordings.')),
    rssBytes: engine.rssBytes,
    get pid() {
      return engine.current?.child.pid;
    },
    [Symbol.asyncDispose]: () => engine.stop((why) => loseAll(host, why)),
  };
};
