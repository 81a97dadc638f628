/** Word and character error rates of one recording and of many, with an interval. */
import { alignWords, countEdits } from './align.ts';
import { toCharacters } from './normalize.ts';

/** Counts of one recording, or their sums. */
export type WordErrors = {
  /** In the reference. */
  readonly words: number;
  readonly substitutions: number;
  readonly deletions: number;
  readonly insertions: number;
  /** In the reference, without spaces. */
  readonly characters: number;
  readonly characterErrors: number;
};

export type Interval = { readonly low: number; readonly high: number };

const DRAWS = 10_000;
const LOWER = 0.025;
const UPPER = 0.975;

/** Scores what was heard against what was said, both as words (see normalize.ts). */
export const scoreWords = (reference: readonly string[], hypothesis: readonly string[]): WordErrors => {
  const { substitutions, deletions, insertions } = alignWords(reference, hypothesis);
  const characters = toCharacters(reference);
  return {
    words: reference.length,
    substitutions,
    deletions,
    insertions,
    characters: characters.length,
    characterErrors: countEdits(characters, toCharacters(hypothesis)),
  };
};

export const sumOf = (scores: readonly WordErrors[]): WordErrors => {
  const sum = (part: keyof WordErrors): number => scores.reduce((total, score) => total + score[part], 0);
  return {
    words: sum('words'),
    substitutions: sum('substitutions'),
    deletions: sum('deletions'),
    insertions: sum('insertions'),
    characters: sum('characters'),
    characterErrors: sum('characterErrors'),
  };
};

const errorsOf = ({ substitutions, deletions, insertions }: WordErrors): number =>
  substitutions + deletions + insertions;

/** Word error rate, 1 is 100 %: (substitutions + deletions + insertions) / words. Undefined without words. */
export const werOf = (score: WordErrors): number | undefined =>
  score.words === 0 ? undefined : errorsOf(score) / score.words;

/** Character error rate, likewise. */
export const cerOf = ({ characters, characterErrors }: WordErrors): number | undefined =>
  characters === 0 ? undefined : characterErrors / characters;

/** mulberry32 from a fixed seed: the same scores give the same interval. */
const createRandom = (): (() => number) => {
  let seed = 1;
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** The value that a share of all values does not exceed (nearest rank). `sorted` ascends and is not empty. */
export const percentile = (sorted: ArrayLike<number>, share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;

/**
 * 95 % interval of the word error rate over recordings, by the percentile bootstrap: recordings are drawn with
 * replacement, as many as there are, and the rate of each draw is sorted (M. Bisani, H. Ney, "Bootstrap estimates for
 * confidence intervals in ASR performance evaluation", ICASSP 2004). Undefined for less than two recordings.
 */
export const werInterval = (scores: readonly WordErrors[]): Interval | undefined => {
  const counted = scores.map((score) => ({ errors: errorsOf(score), words: score.words }));
  if (counted.length < 2) return undefined;
  const random = createRandom();
  const rates: number[] = [];
  for (let draw = 0; draw < DRAWS; draw += 1) {
    let [errors, words] = [0, 0];
    for (let taken = 0; taken < counted.length; taken += 1) {
      const one = counted[Math.floor(random() * counted.length)]!;
      errors += one.errors;
      words += one.words;
    }
    if (words > 0) rates.push(errors / words);
  }
  if (rates.length === 0) return undefined;
  const sorted = Float64Array.from(rates).sort();
  return { low: percentile(sorted, LOWER), high: percentile(sorted, UPPER) };
};
