/**
 * Text conditions of filters:
 *
 *     cond := "/reg/i/" pattern | "/reg/" pattern | alt { ("|" | "\|") alt }
 *     alt  := characters, "%" = any run of them (also none); "\%" and "\\" are literal
 *
 * An empty alt matches the empty text. Upper and lower case differ except under /reg/i/.
 */
import type { PatternCache } from './regex.ts';

export type TextMatch = {
  test(subject: string): boolean;
  /** The values it stands for when it is a plain list of exact values. */
  readonly exact: readonly string[] | undefined;
  readonly isRegex: boolean;
};

const REG_IGNORING_CASE = '/reg/i/';
const REG = '/reg/';

/** Throws 400 for a pattern that cannot be used. */
export const parseTextCondition = (source: string, field: string, patterns: PatternCache): TextMatch => {
  if (source.startsWith(REG_IGNORING_CASE)) {
    return {
      test: patterns.compile(source.slice(REG_IGNORING_CASE.length), true, field),
      exact: undefined,
      isRegex: true,
    };
  }
  if (source.startsWith(REG)) {
    return { test: patterns.compile(source.slice(REG.length), false, field), exact: undefined, isRegex: true };
  }
  const alternatives = splitAlternatives(source);
  if (alternatives.every((pieces) => pieces.length === 1)) return exactly(alternatives.map((pieces) => pieces[0]!));
  const tests = alternatives.map(matchPieces);
  return { test: (subject) => tests.some((test) => test(subject)), exact: undefined, isRegex: false };
};

/** Any of these values, no patterns. */
export const exactly = (values: readonly string[]): TextMatch => {
  if (values.length === 1) {
    const [only] = values;
    return { test: (subject) => subject === only, exact: values, isRegex: false };
  }
  const set = new Set(values);
  return { test: (subject) => set.has(subject), exact: values, isRegex: false };
};

/** Each alternative as the literal pieces between its `%`: one piece means no wildcard. */
const splitAlternatives = (source: string): string[][] => {
  const alternatives: string[][] = [];
  let pieces: string[] = [];
  let piece = '';
  const endAlternative = (): void => {
    pieces.push(piece);
    alternatives.push(pieces);
    pieces = [];
    piece = '';
  };
  for (let at = 0; at < source.length; at++) {
    const char = source[at]!;
    const next = source[at + 1];
    if (char === '\\' && next === '|') {
      at += 1;
      endAlternative();
    } else if (char === '\\' && (next === '%' || next === '\\')) {
      at += 1;
      piece += next;
    } else if (char === '|') {
      endAlternative();
    } else if (char === '%') {
      pieces.push(piece);
      piece = '';
    } else piece += char;
  }
  endAlternative();
  return alternatives;
};

/** Greedy from the left is enough: `%` matches anything, so the first place of each piece leaves the most room. */
const matchPieces = (pieces: readonly string[]): ((subject: string) => boolean) => {
  const first = pieces[0]!;
  const last = pieces.at(-1)!;
  const middle = pieces.slice(1, -1).filter((piece) => piece !== '');
  if (pieces.length === 1) return (subject) => subject === first;
  return (subject) => {
    if (subject.length < first.length + last.length || !subject.startsWith(first) || !subject.endsWith(last))
      return false;
    let from = first.length;
    const end = subject.length - last.length;
    for (const piece of middle) {
      const found = subject.indexOf(piece, from);
      if (found < 0 || found + piece.length > end) return false;
      from = found + piece.length;
    }
    return true;
  };
};
