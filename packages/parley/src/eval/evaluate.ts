/** Has recordings transcribed, several at once if wanted, and scores each. */
import { stat } from 'node:fs/promises';
import type { Transcript } from '@parley/speech/core/types.ts';
import { type Place, ServiceRefusal, transcribe } from './client.ts';
import {
  type DiarizationErrors,
  type DiarizationRules,
  type Span,
  scoreSpeakers,
  type Turn,
} from './diarization-errors.ts';
import { type Normalization, toWords } from './normalize.ts';
import type { Fault, Recording, Reference } from './references.ts';
import { scoreWords, type WordErrors } from './word-errors.ts';
import { compareTimes, type Deviations, type TimedWord } from './word-times.ts';

export type Options = {
  /** Further fields of the request. */
  readonly fields: Readonly<Record<string, string>>;
  readonly normalization: Normalization;
  /** Missing: speakers are not told apart. */
  readonly speakers: DiarizationRules | undefined;
  /** Requests at once. */
  readonly parallel: number;
};

/** What came of one recording; times are seconds. */
export type Score = {
  readonly file: string;
  /** `id@revision`. */
  readonly model: string;
  readonly audioSec: number;
  /** As the service measured it. */
  readonly processingSec: number;
  readonly latencySec: number;
  readonly words?: WordErrors;
  /** Only with a CTM reference, and a model that knows when words are said. */
  readonly deviations?: Deviations;
  readonly speakers?: DiarizationErrors;
};

const TEXT_REFERENCES = '.txt, .trans.txt, .trn, .stm or .ctm';

/** Why a recording cannot be scored at all. */
const lackOf = ({ text, turns }: Reference, { speakers }: Options): string | undefined => {
  if (text !== undefined || (turns && speakers)) return undefined;
  return turns
    ? 'its reference has only turns of speakers: give --diarize.'
    : `there is no reference for it (${TEXT_REFERENCES}).`;
};

/** Words with times, or whole segments where the model gives none. */
const timedOf = ({ segments }: Transcript): TimedWord[] =>
  segments.flatMap((segment): readonly TimedWord[] => segment.words ?? [{ ...segment, word: segment.text }]);

const isWithin = (spans: readonly Span[], { start, end }: Span): boolean => {
  const middle = (start + end) / 2;
  return spans.some((span) => middle >= span.start && middle <= span.end);
};

/** The text less what was heard where the reference wants nothing scored. */
const textOf = (transcript: Transcript, ignored: readonly Span[]): string =>
  ignored.length === 0
    ? transcript.text
    : timedOf(transcript)
        .filter((word) => !isWithin(ignored, word))
        .map(({ word }) => word)
        .join(' ');

const turnsOf = ({ segments }: Transcript): Turn[] =>
  segments.flatMap(({ start, end, speaker }) => (speaker === null ? [] : [{ start, end, speaker }]));

/** Without these every speaker would count as missed. */
const NOT_TOLD_APART: ReadonlySet<string> = new Set(['diarization_unavailable', 'diarization_skipped_split']);

/** Scores one transcript against what is known of the recording. Throws an Error when that cannot be. */
const score = (transcript: Transcript, reference: Reference, { normalization, speakers }: Options) => {
  const { text, words, turns, ignored } = reference;
  const scored = reference.scored ?? [{ start: 0, end: transcript.duration }];
  const excuse = speakers && transcript.warnings.find(({ code }) => NOT_TOLD_APART.has(code));
  if (excuse) throw new Error(excuse.message);
  const isTimed = transcript.timestamp_source !== 'segment';
  return {
    ...(text !== undefined && {
      words: scoreWords(toWords(text, normalization), toWords(textOf(transcript, ignored), normalization)),
    }),
    ...(words && isTimed && { deviations: compareTimes(words, timedOf(transcript), normalization) }),
    ...(turns && speakers && { speakers: scoreSpeakers(turns, turnsOf(transcript), scored, speakers) }),
  };
};

const evaluateOne = async (
  place: Place,
  { name, path, reference }: Recording,
  options: Options,
  signal: AbortSignal,
): Promise<Score | Fault> => {
  const lack = lackOf(reference, options);
  if (lack !== undefined) return { file: name, reason: lack };
  try {
    const { transcript, latencySec } = await transcribe(place, path, options.fields, signal);
    return {
      file: name,
      model: transcript.model,
      audioSec: transcript.duration,
      processingSec: transcript.stats.processing_ms / 1000,
      latencySec,
      ...score(transcript, reference, options),
    };
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof ServiceRefusal || !(thrown instanceof Error)) throw thrown;
    return { file: name, reason: thrown.message };
  }
};

/**
 * Has the smallest recording transcribed and scores nothing: the first request waits for the model to be loaded, which is
 * not what is to be measured. Rejects with ServiceRefusal when the service answers nobody, or not these fields.
 */
export const warmUp = async (
  place: Place,
  recordings: readonly Recording[],
  options: Options,
  signal: AbortSignal,
): Promise<void> => {
  const wanted = recordings.filter(({ reference }) => lackOf(reference, options) === undefined);
  const sizes = await Promise.all(wanted.map(async ({ path }) => (await stat(path)).size));
  const smallest = wanted[sizes.indexOf(Math.min(...sizes))];
  if (!smallest) return;
  await transcribe(place, smallest.path, options.fields, signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    if (thrown instanceof ServiceRefusal) throw thrown;
    // Told of when it has its turn.
  });
};

/**
 * Scores every recording, in the order given; `tell` hears of each as it is done. What cannot be scored comes as a
 * fault. Rejects when the service cannot be asked at all, or the signal aborts.
 */
export const evaluate = async (
  place: Place,
  recordings: readonly Recording[],
  options: Options,
  signal: AbortSignal,
  tell: (outcome: Score | Fault) => void,
): Promise<(Score | Fault)[]> => {
  const outcomes: (Score | Fault)[] = [];
  const failing = new AbortController();
  const either = AbortSignal.any([signal, failing.signal]);
  const left = recordings.entries();
  const work = async (): Promise<void> => {
    for (const [index, recording] of left) {
      const outcome = await evaluateOne(place, recording, options, either);
      outcomes[index] = outcome;
      tell(outcome);
    }
  };
  const working = Array.from({ length: options.parallel }, work);
  try {
    await Promise.all(working);
  } catch (thrown) {
    failing.abort(thrown);
    await Promise.allSettled(working);
    throw thrown;
  }
  return outcomes;
};
