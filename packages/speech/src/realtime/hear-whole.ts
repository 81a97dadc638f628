/** An utterance on an offline model: collected while it is said, recognised in one go when it is over. */
import { createCutter } from '../audio/cut.ts';
import { toFloats, toInt16 } from '../audio/pcm.ts';
import { createResampler } from '../audio/resample.ts';
import type { Detector } from '../audio/voice-activity.ts';
import type { Word } from '../core/types.ts';
import type { Scheduler, Ticket } from '../pipeline/scheduler.ts';
import { toWords } from '../pipeline/words.ts';
import type { RecognizeOptions, Recognizer } from '../recognizer/recognizer.ts';
import type { Ear, Heard, Hearing, HearingListener, HearingOptions } from './hearing.ts';
import { SESSION_RATE } from './intake.ts';
import { joinSamples } from './recent.ts';

export type WholeParts = {
  readonly recognizer: Recognizer;
  /** `id@revision`. */
  readonly model: string;
  /** What the model can do with words to favour. */
  readonly takesHotwords: boolean;
  readonly hotwordsScore: number;
  readonly scheduler: Scheduler;
  readonly ticket: Ticket;
  /** A fresh detector at SESSION_RATE; cuts what is too long for the model in one piece. */
  readonly detector: () => Detector;
};

type Piece = { readonly startSec: number; readonly samples: Int16Array };

const MIN_SILENCE_SEC = 0.3;
const MIN_SPEECH_SEC = 0.1;

const levelOf = (frame: Int16Array): number => {
  let sum = 0;
  for (const sample of frame) sum += Math.abs(sample);
  return sum;
};

/** The utterance as it is, or pieces of it where it is longer than the model takes. */
const cutPieces = ({ recognizer, detector }: WholeParts, samples: Int16Array): Piece[] => {
  const { cut } = recognizer.facts;
  if (samples.length <= cut.maxSec * SESSION_RATE) return [{ startSec: 0, samples }];
  const voice = detector();
  const { frameSamples } = voice;
  const cutter = createCutter({
    ...cut,
    frameSec: frameSamples / SESSION_RATE,
    minSilenceSec: MIN_SILENCE_SEC,
    minSpeechSec: MIN_SPEECH_SEC,
    leadFrames: voice.leadFrames,
  });
  const spans = [];
  for (let at = 0; at + frameSamples <= samples.length; at += frameSamples) {
    const frame = samples.subarray(at, at + frameSamples);
    spans.push(...cutter.push(voice.isSpeech(frame), levelOf(frame)));
  }
  spans.push(...cutter.flush());
  voice.dispose();
  return spans.map(({ start, end }) => ({
    startSec: (start * frameSamples) / SESSION_RATE,
    samples: samples.slice(start * frameSamples, end * frameSamples),
  }));
};

const toRate = (samples: Int16Array, rate: number): Int16Array => {
  if (rate === SESSION_RATE) return samples;
  const resampler = createResampler(SESSION_RATE, rate);
  const floats = toFloats(samples);
  return toInt16(Float32Array.from([...resampler.push(floats), ...resampler.flush()]));
};

const shift = (words: readonly Word[], bySec: number): Word[] =>
  words.map((word) => ({ ...word, start: word.start + bySec, end: word.end + bySec }));

/** Recognises audio at SESSION_RATE in its turn among all requests. Rejects with a Problem or the signal's reason. */
export const hearWhole = async (
  parts: WholeParts,
  samples: Int16Array,
  options: HearingOptions,
  signal: AbortSignal,
): Promise<Heard> => {
  const { recognizer, scheduler, ticket, model } = parts;
  const { sampleRate, timestamps } = recognizer.facts;
  const asked: RecognizeOptions = {
    ...(options.language !== undefined && { language: options.language }),
    ...(parts.takesHotwords &&
      options.hotwords.length > 0 && { hotwords: options.hotwords, hotwordsScore: parts.hotwordsScore }),
  };
  const recognised = cutPieces(parts, samples).map(async (piece) => {
    const utterance = { samples: toRate(piece.samples, sampleRate), sampleRate, bandHz: options.bandHz };
    const recognition = await scheduler.submit(
      recognizer,
      ticket,
      () => recognizer.recognize(utterance, asked, signal),
      signal,
    );
    const place = { start: 0, end: piece.samples.length / SESSION_RATE };
    const timed = timestamps || recognition.words ? toWords(recognition, place) : undefined;
    return { text: recognition.text.trim(), words: timed && shift(timed.words, piece.startSec) };
  });
  const heard = (await Promise.all(recognised)).filter(({ text }) => text !== '');
  const hasWords = heard.every(({ words }) => words !== undefined);
  return {
    text: heard.map(({ text }) => text).join(' '),
    words: hasWords && recognizer.facts.capabilities.word_timestamps ? heard.flatMap(({ words }) => words!) : undefined,
    model,
  };
};

const beginWhole = (parts: WholeParts, options: HearingOptions, listener: HearingListener): Hearing => {
  const said: Int16Array[] = [];
  const stop = new AbortController();
  let waitingSamples = 0;
  const finish = async (): Promise<void> => {
    const samples = joinSamples(said.splice(0));
    waitingSamples = samples.length;
    const outcome = await hearWhole(parts, samples, options, stop.signal).catch((thrown: unknown) => thrown);
    waitingSamples = 0;
    if (stop.signal.aborted) return;
    listener.onProgress();
    if (outcome instanceof Error) listener.onFailed(outcome);
    else listener.onHeard(outcome as Heard);
  };
  return {
    push: (samples) => void said.push(samples),
    finish: () => void finish(),
    close: () => stop.abort(new Error('The utterance was dropped.')),
    pendingSamples: () => waitingSamples,
    behindSamples: () => 0,
  };
};

/** Hears through an offline model. */
export const createWholeEar = (parts: WholeParts, maxSec: number): Ear => ({
  retracts: false,
  maxSec,
  begin: (options, listener) => beginWhole(parts, options, listener),
});
