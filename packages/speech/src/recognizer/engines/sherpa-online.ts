/**
 * sherpa-onnx's streaming recogniser. A stream is one utterance. All streams that have a chunk ready are decoded in one
 * step (decodeStreams); between two steps the process takes new messages, so that who came meanwhile is in the next one.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { EngineFacts, EngineModel, Recognition } from '../recognizer.ts';
import type { HeardStream, ToStreaming } from '../streaming-messages.ts';
import { type Announce, EngineRefusal } from './engine.ts';
import { readOnnxFacts } from './onnx-metadata.ts';
import { toTokens } from './sherpa.ts';
import { loadSherpa, type OnlineConfig, type OnlineRecognizer, type OnlineStream } from './sherpa-addon.ts';
import { type CheckedModel, checkSherpaFiles } from './sherpa-check.ts';
import { SHERPA_ONLINE_FAMILIES } from './sherpa-online-families.ts';

export type OnlineEngine = {
  readonly facts: EngineFacts;
  /** Takes a message; what comes of it is told through `onHeard`. */
  handle(message: ToStreaming): void;
};

const DEFAULT_FEATURE_DIM = 80;
const INT16_FULL_SCALE = 32_768;
/** Streams decoded in one step: beyond this a step takes longer than what it saves. */
const MAX_BATCH = 32;
/** A pause after words that ends an utterance although the voice detector still hears something, s. */
const ENDPOINT_SILENCE_SEC = 1.2;
/** For rules that are the session's to decide, s. */
const NEVER_SEC = 1e6;
/** Silence behind the last word, so that the model's look-ahead gets past it, s. */
const TAIL_SEC = 0.66;
const FRAME_SEC = 0.01;
/** Longest tail that a model's metadata can ask for, s. */
const MAX_TAIL_SEC = 3;
const WARM_UP_SEC = 1;
/** Ended streams hold native memory until the next collection, which nothing else brings about (4 ms). */
const COLLECT_EVERY = 16;

type Live = {
  readonly id: number;
  readonly native: OnlineStream;
  /** Of all audio of this stream: sherpa-onnx ends the process when it changes. */
  sampleRate: number | undefined;
  receivedSamples: number;
  doneSamples: number;
  text: string;
  finishing: boolean;
};

const FRESH = { sampleRate: undefined, receivedSamples: 0, doneSamples: 0, text: '', finishing: false };

const configOf = (model: EngineModel, { family }: CheckedModel): OnlineConfig => ({
  featConfig: { sampleRate: model.sampleRate, featureDim: model.featureDim ?? DEFAULT_FEATURE_DIM },
  modelConfig: {
    [family.key]: family.config(model.files, { language: undefined }),
    tokens: model.files.tokens ?? '',
    numThreads: model.numThreads,
    debug: 0,
    provider: 'cpu',
  },
  decodingMethod: 'greedy_search',
  maxActivePaths: 4,
  enableEndpoint: true,
  rule1MinTrailingSilence: NEVER_SEC,
  rule2MinTrailingSilence: ENDPOINT_SILENCE_SEC,
  rule3MinUtteranceLength: NEVER_SEC,
});

const factsOf = (model: EngineModel, { family }: CheckedModel): EngineFacts => ({
  engine: 'sherpa',
  family: model.family,
  sampleRate: model.sampleRate,
  cut: { maxSec: NEVER_SEC, pauseSec: 0.3, padSec: 0.2 },
  slots: 1,
  capabilities: {
    word_timestamps: family.timestamps,
    confidence: family.confidence,
    language_detect: false,
    punctuation_builtin: model.capabilities.punctuation_builtin,
    hotwords: false,
    streaming: true,
  },
  decodingMethods: ['greedy_search'],
  timestamps: family.timestamps,
});

const checkModel = async (model: EngineModel): Promise<CheckedModel> => {
  const family = Object.hasOwn(SHERPA_ONLINE_FAMILIES, model.family) ? SHERPA_ONLINE_FAMILIES[model.family] : undefined;
  if (!family) throw new EngineRefusal(`sherpa-onnx has no streaming model family "${model.family}"`);
  return checkSherpaFiles(model, family);
};

/** At least one whole chunk of the encoder: what does not fill one is never decoded. */
const tailSecOf = async (model: EngineModel): Promise<number> => {
  const { metadata } = await readOnnxFacts(model.files.encoder ?? model.files.model!, 'encoder');
  const chunkFrames = Math.max(Number(metadata.get('T')) || 0, Number(metadata.get('window_size')) || 0);
  return Math.min(MAX_TAIL_SEC, Math.max(TAIL_SEC, chunkFrames * FRAME_SEC * 2));
};

const toFloats = (samples: Int16Array): Float32Array => {
  const floats = new Float32Array(samples.length);
  for (let index = 0; index < samples.length; index += 1) floats[index] = samples[index]! / INT16_FULL_SCALE;
  return floats;
};

const readFinal = (recognizer: OnlineRecognizer, native: OnlineStream, checked: CheckedModel): Recognition => {
  const { ys_probs: logProbs, ...result } = recognizer.getResult(native);
  const timed = { ...result, ...(logProbs && checked.family.confidence && { ys_log_probs: logProbs }) };
  return { text: result.text.trim(), tokens: checked.family.timestamps ? toTokens(timed, checked.tokens) : [] };
};

/** Collects garbage at every `COLLECT_EVERY`-th call. */
const createCollector = (): (() => void) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let ended = 0;
  return () => {
    ended += 1;
    if (ended % COLLECT_EVERY === 0) collect();
  };
};

/** The streams of one recogniser and the loop that decodes them. */
const createStreams = (
  recognizer: OnlineRecognizer,
  checked: CheckedModel,
  tailSec: number,
  onHeard: (streams: readonly HeardStream[]) => void,
) => {
  const lives = new Map<number, Live>();
  const onEnded = createCollector();
  let scheduled = false;

  /** What is new about a stream after a step, if anything is. */
  const report = (live: Live): HeardStream | undefined => {
    const drained = !recognizer.isReady(live.native);
    const done = drained ? live.receivedSamples : live.doneSamples;
    if (drained && live.finishing) {
      lives.delete(live.id);
      onEnded();
      return { stream: live.id, doneSamples: done, final: readFinal(recognizer, live.native, checked) };
    }
    const text = recognizer.getResult(live.native).text.trim();
    const endpoint = text !== '' && recognizer.isEndpoint(live.native);
    if (text === live.text && done === live.doneSamples && !endpoint) return undefined;
    const changed = text !== live.text;
    live.text = text;
    live.doneSamples = done;
    return { stream: live.id, doneSamples: done, ...(changed && { text }), ...(endpoint && { endpoint }) };
  };

  const step = (): void => {
    scheduled = false;
    const moved = [...lives.values()].filter(({ native }) => recognizer.isReady(native)).slice(0, MAX_BATCH);
    if (moved.length > 0) recognizer.decodeStreams(moved.map(({ native }) => native));
    // Also those that did not move: their last audio may have been too short for a step.
    const idle = [...lives.values()].filter((live) => !moved.includes(live) && isBehind(live));
    // Those beyond a full batch come first next time.
    for (const live of moved) if (lives.delete(live.id)) lives.set(live.id, live);
    const heard = [...moved, ...idle].flatMap((live) => report(live) ?? []);
    if (heard.length > 0) onHeard(heard);
    if (moved.length > 0) schedule();
  };
  const isBehind = (live: Live): boolean => live.finishing || live.doneSamples < live.receivedSamples;
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(step);
  };

  const open = (id: number, language: string | undefined): void => {
    const native = recognizer.createStream();
    if (language !== undefined && checked.family.language === 'chosen') native.setOption('language', language);
    lives.set(id, { id, native, ...FRESH });
  };
  const accept = (live: Live, samples: Int16Array, sampleRate: number): void => {
    // The addon aborts on nothing and divides by the rate.
    if (samples.length === 0 || !(sampleRate > 0) || live.finishing) return;
    live.sampleRate ??= sampleRate;
    if (live.sampleRate !== sampleRate) return;
    live.native.acceptWaveform({ samples: toFloats(samples), sampleRate });
    live.receivedSamples += samples.length;
  };
  const finish = (live: Live, modelRate: number): void => {
    if (live.finishing) return;
    const sampleRate = live.sampleRate ?? modelRate;
    live.native.acceptWaveform({ samples: new Float32Array(Math.ceil(tailSec * sampleRate)), sampleRate });
    live.native.inputFinished();
    live.finishing = true;
  };

  return (message: ToStreaming, modelRate: number): void => {
    if (message.kind === 'stream-open') {
      open(message.stream, message.language);
      return;
    }
    const live = lives.get(message.stream);
    if (!live) return;
    if (message.kind === 'stream-close') {
      lives.delete(live.id);
      onEnded();
    } else if (message.kind === 'stream-audio') accept(live, message.samples, message.sampleRate);
    else finish(live, modelRate);
    schedule();
  };
};

/** Some models only fail at their first decode, and the first one is slow: better now than in a session. */
const warmUp = (recognizer: OnlineRecognizer, sampleRate: number): void => {
  const stream = recognizer.createStream();
  stream.acceptWaveform({ samples: new Float32Array(WARM_UP_SEC * sampleRate), sampleRate });
  stream.inputFinished();
  while (recognizer.isReady(stream)) recognizer.decodeStreams([stream]);
};

/** Opens a streaming model: checks it, loads it, lets it hear silence. Throws EngineRefusal. */
export const openSherpaOnline = async (
  model: EngineModel,
  announce: Announce,
  onHeard: (streams: readonly HeardStream[]) => void,
): Promise<OnlineEngine> => {
  announce(`checking ${model.id}`);
  const checked = await checkModel(model);
  const tailSec = await tailSecOf(model);
  announce(`loading ${model.id} (streaming ${model.family})`);
  const recognizer = new (loadSherpa().OnlineRecognizer)(configOf(model, checked));
  announce(`trying ${model.id}`);
  warmUp(recognizer, model.sampleRate);
  const take = createStreams(recognizer, checked, tailSec, onHeard);
  return { facts: factsOf(model, checked), handle: (message) => take(message, model.sampleRate) };
};
