/** How far the times of recognised words are from those of the reference. */
import { alignWords } from './align.ts';
import type { Span } from './diarization-errors.ts';
import { type Normalization, toWords } from './normalize.ts';
import { percentile } from './word-errors.ts';

export type TimedWord = Span & { readonly word: string };

/** Seconds, hypothesis less reference, of the words that were recognised rightly. */
export type Deviations = { readonly starts: readonly number[]; readonly ends: readonly number[] };

/** Distances without their sign, and the median with it: what is early or late as a whole. Seconds. */
export type DeviationSummary = { readonly median: number; readonly p90: number; readonly bias: number };

const MEDIAN = 0.5;
const MOST = 0.9;

/** Only what is one word after normalising has a time of its own. */
const toTimed = (words: readonly TimedWord[], normalization: Normalization) =>
  words.flatMap(({ word, start, end }) => {
    const parts = toWords(word, normalization);
    return parts.map((part) => ({ word: part, time: parts.length === 1 ? { start, end } : undefined }));
  });

/** Aligns the words and takes the differences of those that are equal. */
export const compareTimes = (
  reference: readonly TimedWord[],
  hypothesis: readonly TimedWord[],
  normalization: Normalization,
): Deviations => {
  const [said, heard] = [toTimed(reference, normalization), toTimed(hypothesis, normalization)];
  const { matches } = alignWords(
    said.map(({ word }) => word),
    heard.map(({ word }) => word),
  );
  const pairs = matches.flatMap(([i, j]) => {
    const [a, b] = [said[i]!.time, heard[j]!.time];
    return a && b ? [{ start: b.start - a.start, end: b.end - a.end }] : [];
  });
  return { starts: pairs.map(({ start }) => start), ends: pairs.map(({ end }) => end) };
};

/** Undefined when there are none. */
export const summarise = (deviations: readonly number[]): DeviationSummary | undefined => {
  if (deviations.length === 0) return undefined;
  const distances = Float64Array.from(deviations, Math.abs).sort();
  return {
    median: percentile(distances, MEDIAN),
    p90: percentile(distances, MOST),
    bias: percentile(Float64Array.from(deviations).sort(), MEDIAN),
  };
};
