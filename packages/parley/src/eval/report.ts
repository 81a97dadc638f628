/** The scores of an evaluation, summed up: as lines for people and as JSON. */
import { type DiarizationErrors, derOf, sumOfSpeakers } from './diarization-errors.ts';
import type { Score } from './evaluate.ts';
import type { Normalization } from './normalize.ts';
import type { Fault } from './references.ts';
import { cerOf, type Interval, percentile, sumOf, type WordErrors, werInterval, werOf } from './word-errors.ts';
import { type DeviationSummary, summarise } from './word-times.ts';

/** Sums over all recordings that were scored; times are seconds. */
export type Total = {
  readonly files: number;
  readonly audioSec: number;
  readonly processingSec: number;
  /** Of one request; absent without any. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number } | undefined;
  readonly words: WordErrors | undefined;
  readonly interval: Interval | undefined;
  readonly wordTimes: WordTimes | undefined;
  readonly speakers: DiarizationErrors | undefined;
};

type WordTimes = { readonly words: number; readonly start: DeviationSummary; readonly end: DeviationSummary };

const isDefined = <T>(value: T | undefined): value is T => value !== undefined;

const latencyOf = (scores: readonly Score[]): Total['latency'] => {
  if (scores.length === 0) return undefined;
  const sorted = Float64Array.from(scores, ({ latencySec }) => latencySec).sort();
  return { p50: percentile(sorted, 0.5), p90: percentile(sorted, 0.9), p99: percentile(sorted, 0.99) };
};

const wordTimesOf = (scores: readonly Score[]): WordTimes | undefined => {
  const all = scores.map(({ deviations }) => deviations).filter(isDefined);
  const starts = all.flatMap((one) => one.starts);
  const [start, end] = [summarise(starts), summarise(all.flatMap((one) => one.ends))];
  return start && end ? { words: starts.length, start, end } : undefined;
};

/** Sums up what was scored. */
export const totalOf = (scores: readonly Score[]): Total => {
  const words = scores.map((score) => score.words).filter(isDefined);
  const speakers = scores.map((score) => score.speakers).filter(isDefined);
  const sum = (part: 'audioSec' | 'processingSec'): number => scores.reduce((total, score) => total + score[part], 0);
  return {
    files: scores.length,
    audioSec: sum('audioSec'),
    processingSec: sum('processingSec'),
    latency: latencyOf(scores),
    words: words.length > 0 ? sumOf(words) : undefined,
    interval: werInterval(words),
    wordTimes: wordTimesOf(scores),
    speakers: speakers.length > 0 ? sumOfSpeakers(speakers) : undefined,
  };
};

const NONE = '-';
const percent = (share: number | undefined): string => (share === undefined ? NONE : `${(share * 100).toFixed(2)} %`);
const seconds = (value: number): string => `${value.toFixed(value < 10 ? 3 : 1)} s`;
const factor = ({ audioSec, processingSec }: Pick<Total, 'audioSec' | 'processingSec'>): string =>
  audioSec > 0 ? (processingSec / audioSec).toFixed(4) : NONE;

/** What a line of the table shows: of one recording, or of all. */
type Row = Pick<Total, 'audioSec' | 'processingSec' | 'words' | 'speakers'>;

const HEAD = ['WORDS', 'SUB', 'DEL', 'INS', 'WER', 'CER', 'AUDIO', 'DECODE', 'RTF', 'DER'];
const WIDTHS = [6, 5, 5, 5, 9, 9, 9, 8, 7, 9];

const toCells = (one: Row): string[] => {
  const { words, speakers } = one;
  const counts = words ? [words.words, words.substitutions, words.deletions, words.insertions].map(String) : [];
  return [
    ...(words ? [...counts, percent(werOf(words)), percent(cerOf(words))] : HEAD.slice(0, 6).map(() => NONE)),
    seconds(one.audioSec),
    seconds(one.processingSec),
    factor(one),
    speakers ? percent(derOf(speakers)) : '',
  ];
};

const toLine = (name: string, nameWidth: number, cells: readonly string[]): string =>
  [name.padEnd(nameWidth), ...cells.map((cell, index) => cell.padStart(WIDTHS[index]!))].join(' ').trimEnd();

/** The table, line by line: names are padded to `nameWidth`, and the last column is there only with `speakers`. */
export const renderHead = (nameWidth: number, speakers: boolean): string =>
  toLine('FILE', nameWidth, speakers ? HEAD : HEAD.slice(0, -1));

export const renderScore = (score: Score, nameWidth: number): string =>
  toLine(score.file, nameWidth, toCells({ words: undefined, speakers: undefined, ...score }));

const renderDeviation = (what: string, { median, p90, bias }: DeviationSummary): string =>
  `  ${what}: median ${seconds(median)}, 90 % within ${seconds(p90)}, ${seconds(Math.abs(bias))} ${bias < 0 ? 'early' : 'late'} in the median`;

const renderSpeakers = (errors: DiarizationErrors): string =>
  `DER ${percent(derOf(errors))}: missed ${seconds(errors.missed)}, false alarm ${seconds(errors.falseAlarm)}, ` +
  `confusion ${seconds(errors.confusion)} of ${seconds(errors.scored)} scored`;

/** The sums, in lines. */
export const renderTotal = (total: Total, nameWidth: number): string[] => {
  const { words, interval, latency, wordTimes, speakers } = total;
  const within = interval ? `, 95 % interval ${percent(interval.low)} to ${percent(interval.high)}` : '';
  return [
    toLine(`TOTAL (${total.files})`, nameWidth, toCells(total)),
    '',
    ...(words ? [`WER ${percent(werOf(words))}${within}; CER ${percent(cerOf(words))}`] : []),
    ...(speakers ? [renderSpeakers(speakers)] : []),
    ...(wordTimes
      ? [
          `Times of ${wordTimes.words} words that were recognised rightly:`,
          renderDeviation('start', wordTimes.start),
          renderDeviation('end', wordTimes.end),
        ]
      : []),
    ...(latency
      ? [`Latency: half within ${seconds(latency.p50)}, 90 % ${seconds(latency.p90)}, 99 % ${seconds(latency.p99)}`]
      : []),
  ];
};

const DIGITS = 1e6;

/** Numbers with six digits behind the point, which is more than they are worth; what is missing is null. */
const plain = <T>(value: T): unknown => {
  if (typeof value === 'number') return Math.round(value * DIGITS) / DIGITS;
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
};

const wordsToJson = (words: WordErrors) => ({
  words: words.words,
  substitutions: words.substitutions,
  deletions: words.deletions,
  insertions: words.insertions,
  wer: werOf(words),
  characters: words.characters,
  character_errors: words.characterErrors,
  cer: cerOf(words),
});

const speakersToJson = (errors: DiarizationErrors) => ({
  scored_seconds: errors.scored,
  missed_seconds: errors.missed,
  false_alarm_seconds: errors.falseAlarm,
  confusion_seconds: errors.confusion,
  der: derOf(errors),
});

const timingToJson = ({ audioSec, processingSec }: Pick<Total, 'audioSec' | 'processingSec'>) => ({
  audio_seconds: audioSec,
  processing_seconds: processingSec,
  rtf: audioSec > 0 ? processingSec / audioSec : undefined,
});

const fileToJson = (score: Score) => ({
  file: score.file,
  ...timingToJson(score),
  latency_seconds: score.latencySec,
  ...(score.words && wordsToJson(score.words)),
  ...(score.deviations && { word_times: wordTimesOf([score]) }),
  ...(score.speakers && { diarization: speakersToJson(score.speakers) }),
});

/** The whole report as a JSON document; rates are shares of 1. */
export const toJson = (scores: readonly Score[], faults: readonly Fault[], normalization: Normalization): object => {
  const total = totalOf(scores);
  return {
    models: [...new Set(scores.map(({ model }) => model))],
    normalize: normalization,
    files: scores.map((score) => plain(fileToJson(score))),
    errors: faults.map(({ file, reason }) => ({ file, error: reason })),
    total: plain({
      files: total.files,
      ...timingToJson(total),
      latency_seconds: total.latency,
      ...(total.words && { ...wordsToJson(total.words), wer_95: total.interval }),
      ...(total.wordTimes && { word_times: total.wordTimes }),
      ...(total.speakers && { diarization: speakersToJson(total.speakers) }),
    }),
  };
};
