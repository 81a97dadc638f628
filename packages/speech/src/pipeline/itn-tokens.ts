/**
 * Words as rules for numbers see them: lower case, without punctuation, parted at hyphens; a run ends where punctuation
 * stands, because a number does not go on behind a comma. Here too: what a rule answers.
 */

export type Token = {
  /** Lower case, `ё` as `е`, without punctuation around it. */
  readonly text: string;
  /** Index of the word it is a part of. */
  readonly word: number;
  /** Whether it is the first and the last part of its word. */
  readonly opens: boolean;
  readonly closes: boolean;
};

/** Words between two marks of punctuation. */
export type Run = readonly Token[];

/** A part of what is written instead: it stands for the tokens up to `end`. */
export type Piece = { readonly text: string; readonly end: number };

/** What a rule makes of the tokens from where it was asked. `number` says that it ends or begins as plain digits. */
export type Match = { readonly pieces: readonly Piece[]; readonly kind: 'number' | 'small' | 'other' };

/** Looks at the run from `at` on. */
export type Rule = (run: Run, at: number) => Match | undefined;

/** Something read: its value and the index behind it. */
export type Got<T> = { readonly value: T; readonly end: number } | undefined;

export type Shape = { readonly lead: string; readonly core: string; readonly trail: string };

const ABBREVIATION = /^(?:[ap]\.\s?m\.)$/i;

/** A word, parted into what stands before its letters, the letters, and what stands behind. */
export const shapeOf = (word: string): Shape => {
  if (ABBREVIATION.test(word)) return { lead: '', core: word, trail: '' };
  const [, lead = '', core = '', trail = ''] = /^([^\p{L}\p{N}$€£%+-]*)(.*?)([^\p{L}\p{N}%]*)$/su.exec(word) ?? [];
  return { lead, core, trail };
};

const normalise = (core: string): string => core.toLowerCase().replaceAll('ё', 'е').replaceAll('’', "'");

const tokensOf = (core: string, word: number): Token[] => {
  const plain = ABBREVIATION.test(core) ? core.replaceAll(/[.\s]/g, '') : core;
  const parts = normalise(plain)
    .split('-')
    .filter((part) => part !== '');
  return parts.map((text, index) => ({ text, word, opens: index === 0, closes: index === parts.length - 1 }));
};

/** The runs of a text, each word with its place in `words`. */
export const runsOf = (words: readonly string[]): Run[] => {
  const runs: Token[][] = [[]];
  words.forEach((text, word) => {
    const { lead, core, trail } = shapeOf(text);
    if (lead !== '') runs.push([]);
    runs.at(-1)!.push(...tokensOf(core, word));
    if (trail !== '' || core === '') runs.push([]);
  });
  return runs.filter((run) => run.length > 0);
};

/** The text of a token, or nothing where there is none. */
export const textAt = (run: Run, at: number): string => run[at]?.text ?? '';

/** True when one of the phrases' words stands at `at`. */
export const isOneOf = (run: Run, at: number, words: ReadonlySet<string>): boolean => words.has(textAt(run, at));

/** True when one of the words stands among the `reach` tokens before `at`. */
export const isNear = (run: Run, at: number, words: ReadonlySet<string>, reach: number): boolean =>
  run.slice(Math.max(0, at - reach), at).some(({ text }) => words.has(text));

/** A match that is written as one word. */
export const one = (text: string, end: number, kind: Match['kind'] = 'other'): Match => ({
  pieces: [{ text, end }],
  kind,
});

/** A list of words out of a line of them. */
export const wordSet = (line: string): ReadonlySet<string> => new Set(line.split(/\s+/).filter((word) => word !== ''));
