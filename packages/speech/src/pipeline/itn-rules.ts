/** Runs a language's rules over words: the first rule that fits at a place wins, and what it took is not looked at again. */
import { type Match, type Piece, type Rule, type Run, runsOf, shapeOf, textAt } from './itn-tokens.ts';

export type Language = {
  readonly rules: readonly Rule[];
  /** Words between two numbers that belong together: "five to ten". */
  readonly connectors: ReadonlySet<string>;
  /** "between five and ten". */
  readonly range: { readonly opens: string; readonly joins: string };
  /** Digits that stay words even beside other numbers. */
  readonly neverAlone: ReadonlySet<string>;
};

/** What stands for the words `from` up to `to` (exclusive). */
export type Written = { readonly text: string; readonly from: number; readonly to: number };

type Place = { readonly at: number; readonly end: number; readonly match: Match | undefined };

/** Whether every piece begins and ends where words do. */
const fitsWords = (run: Run, at: number, pieces: readonly Piece[]): boolean => {
  const ends = pieces.map(({ end }) => end);
  return run[at]!.opens && ends.every((end) => run[end - 1]!.closes);
};

const matchAt = (language: Language, run: Run, at: number): Match | undefined => {
  if (!run[at]!.opens) return undefined;
  for (const rule of language.rules) {
    const match = rule(run, at);
    if (match && fitsWords(run, at, match.pieces)) return match;
  }
  return undefined;
};

const placesOf = (language: Language, run: Run): Place[] => {
  const places: Place[] = [];
  for (let at = 0; at < run.length; ) {
    const match = matchAt(language, run, at);
    const end = match ? match.pieces.at(-1)!.end : at + 1;
    places.push({ at, end, match });
    at = end;
  }
  return places;
};

const hasDigits = (place: Place | undefined): boolean => place?.match !== undefined && place.match.kind !== 'small';

const opensRange = ({ range }: Language, run: Run, places: readonly Place[], index: number): boolean =>
  textAt(run, places[index]!.at - 1) === range.opens &&
  textAt(run, places[index]!.end) === range.joins &&
  hasDigits(places[index + 2]);

/** Whether a digit word stands beside a number that is written in digits, or is joined to one by a connector. */
const isInCompany = (language: Language, run: Run, places: readonly Place[], index: number): boolean => {
  const isConnector = (place: Place | undefined): boolean =>
    place !== undefined && !place.match && language.connectors.has(textAt(run, place.at));
  const isNumber = (place: Place | undefined): boolean => hasDigits(place) && place?.match?.kind === 'number';
  return (
    isNumber(places[index - 1]) ||
    isNumber(places[index + 1]) ||
    (isConnector(places[index + 1]) && hasDigits(places[index + 2])) ||
    opensRange(language, run, places, index) ||
    (isConnector(places[index - 1]) && isNumber(places[index - 2]))
  );
};

const isWritten = (language: Language, run: Run, places: readonly Place[], index: number): boolean => {
  const place = places[index]!;
  if (!place.match) return false;
  if (place.match.kind !== 'small') return true;
  return !language.neverAlone.has(textAt(run, place.at)) && isInCompany(language, run, places, index);
};

const writtenOf = (run: Run, place: Place): Written[] => {
  let from = place.at;
  return place.match!.pieces.map(({ text, end }) => {
    const written = { text, from: run[from]!.word, to: run[end - 1]!.word + 1 };
    from = end;
    return written;
  });
};

/** The stretches of words that are written otherwise, in order; punctuation around them is kept. */
export const rewrite = (language: Language, words: readonly string[]): Written[] =>
  runsOf(words)
    .flatMap((run) => {
      const places = placesOf(language, run);
      return places.flatMap((place, index) => (isWritten(language, run, places, index) ? writtenOf(run, place) : []));
    })
    .map((written) => ({ ...written, text: dressUp(written, words) }))
    .filter(({ text, from, to }) => to - from > 1 || text !== words[from]);

const dressUp = ({ text, from, to }: Written, words: readonly string[]): string => {
  const { lead } = shapeOf(words[from]!);
  const { trail } = shapeOf(words[to - 1]!);
  const comma = text.endsWith(',') && trail.startsWith(',');
  return `${lead}${comma ? text.slice(0, -1) : text}${trail}`;
};
