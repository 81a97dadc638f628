/** Reads cardinals, ordinals and strings of digits by a table of number words; the tables are the languages' own. */
import { type Got, type Run, textAt } from './itn-tokens.ts';

/** `times100` is a word that multiplies what stands before it; `hundred` one that says how many hundreds itself. */
export type NumberKind = 'zero' | 'unit' | 'teen' | 'ten' | 'hundred' | 'times100' | 'scale' | 'whole';

/** `suffix` is set for ordinals: what is written behind the digits. */
export type NumberWord = { readonly kind: NumberKind; readonly value: number; readonly suffix?: string };

export type NumberTable = {
  readonly words: ReadonlyMap<string, NumberWord>;
  /** Words that may stand between hundreds or thousands and the rest. */
  readonly and: ReadonlySet<string>;
  /** Words that count as one before a hundred or a scale. */
  readonly articles: ReadonlySet<string>;
};

export type SpokenNumber = {
  readonly value: number;
  readonly end: number;
  /** Set for an ordinal. */
  readonly suffix?: string;
  /** Set for a round number of millions or more: how many, and the index of the word that says of what. */
  readonly round?: { readonly count: number; readonly scaleAt: number };
  /** True when it is one word for 0 to 9. */
  readonly isDigit: boolean;
};

/** Numbers from here on keep their scale as a word when they are round. */
const SCALE_WORD_FROM = 1_000_000;

type Group = { value: number; at: number; suffix: string | undefined; hasHundreds: boolean; floor: number };

const MAGNITUDE: Readonly<Partial<Record<NumberKind, { readonly below: number; readonly floor: number }>>> = {
  hundred: { below: 1000, floor: 100 },
  ten: { below: 100, floor: 10 },
  teen: { below: 100, floor: 1 },
  unit: { below: 10, floor: 1 },
};

/** Takes one more word into a group below a thousand; false when it does not belong there. */
const takeWord = (group: Group, word: NumberWord): boolean => {
  if (word.kind === 'times100') {
    if (group.hasHundreds || group.value === 0 || group.value > 99 || group.value % 10 === 0) return false;
    group.value *= 100;
    group.hasHundreds = true;
    group.floor = 100;
    return true;
  }
  const magnitude = MAGNITUDE[word.kind];
  if (!magnitude || group.floor < magnitude.below) return false;
  group.value += word.value;
  group.floor = magnitude.floor;
  return true;
};

/** A number below a thousand (in English up to 9900, as in "ninety nine hundred"). */
const readGroup = (run: Run, at: number, table: NumberTable, ordinals: boolean): Group => {
  const group: Group = { value: 0, at, suffix: undefined, hasHundreds: false, floor: 1000 };
  while (group.suffix === undefined) {
    const joins = group.floor === 100 && group.value > 0 && table.and.has(textAt(run, group.at));
    const place = group.at + (joins ? 1 : 0);
    const word = table.words.get(textAt(run, place));
    if (!word || (word.suffix !== undefined && !ordinals)) break;
    if (joins && word.kind === 'times100') break;
    if (!takeWord(group, word)) break;
    group.at = place + 1;
    group.suffix = word.suffix;
  }
  return group;
};

const readArticle = (run: Run, at: number, table: NumberTable, ordinals: boolean): Group | undefined => {
  if (!table.articles.has(textAt(run, at))) return undefined;
  const next = table.words.get(textAt(run, at + 1));
  if (next?.kind === 'scale' && next.suffix === undefined)
    return { value: 1, at: at + 1, suffix: undefined, hasHundreds: true, floor: 1 };
  if (next?.kind !== 'times100' || next.suffix !== undefined) return undefined;
  const rest = readGroup(run, table.and.has(textAt(run, at + 2)) ? at + 3 : at + 2, table, ordinals);
  const hasRest = rest.value > 0 && rest.value < 100;
  if (!hasRest) return { value: 100, at: at + 2, suffix: undefined, hasHundreds: true, floor: 100 };
  return { ...rest, value: 100 + rest.value, hasHundreds: true };
};

const single = (run: Run, at: number, table: NumberTable, ordinals: boolean): SpokenNumber | undefined => {
  const word = table.words.get(textAt(run, at));
  if (word?.kind === 'zero') return { value: 0, end: at + 1, isDigit: true };
  if (word?.kind !== 'whole' || !ordinals) return undefined;
  return { value: word.value, end: at + 1, suffix: word.suffix ?? '', isDigit: false };
};

/** How far a number of several groups has been read. */
type Sum = { total: number; at: number; below: number; round: SpokenNumber['round']; suffix: string | undefined };

type Reading = { readonly ordinals: boolean; readonly mayOpenWithScale: boolean };

const takeScale = (sum: Sum, group: Group, scale: NumberWord): boolean => {
  const isRound = sum.total === 0 && group.value > 0 && scale.value >= SCALE_WORD_FROM && scale.suffix === undefined;
  const count = group.value || 1;
  sum.round = isRound ? { count, scaleAt: group.at } : undefined;
  sum.total += count * scale.value;
  sum.below = scale.value;
  sum.at = group.at + 1;
  sum.suffix = scale.suffix;
  return scale.suffix === undefined;
};

const takeRest = (sum: Sum, group: Group): void => {
  if (group.value === 0 || group.value >= sum.below) return;
  sum.total += group.value;
  sum.at = group.at;
  sum.suffix = group.suffix;
  sum.round = undefined;
};

/** The scale behind a group that goes on with the number: smaller than the one before. */
const scaleBehind = (
  sum: Sum,
  group: Group,
  run: Run,
  table: NumberTable,
  reading: Reading,
): NumberWord | undefined => {
  const word = group.suffix === undefined ? table.words.get(textAt(run, group.at)) : undefined;
  if (word?.kind !== 'scale' || (word.suffix !== undefined && !reading.ordinals)) return undefined;
  const isCounted = group.value > 0 || (reading.mayOpenWithScale && sum.total === 0);
  return isCounted && word.value < sum.below ? word : undefined;
};

/** Takes a group and the scale behind it; false when the number ends before or with it. */
const takeGroup = (sum: Sum, run: Run, table: NumberTable, reading: Reading): boolean => {
  const joins = sum.total > 0 && table.and.has(textAt(run, sum.at));
  const from = sum.at + (joins ? 1 : 0);
  const group =
    (joins ? undefined : readArticle(run, from, table, reading.ordinals)) ??
    readGroup(run, from, table, reading.ordinals);
  if (joins && (group.value === 0 || group.value > 99)) return false;
  const scale = scaleBehind(sum, group, run, table, reading);
  if (scale) return takeScale(sum, group, scale);
  takeRest(sum, group);
  return false;
};

/**
 * Reads the longest number from `at` on; an ordinal only where `ordinals` says so. A scale by itself ("thousand") counts
 * only where `mayOpenWithScale` says so.
 */
export const readNumber = (
  run: Run,
  at: number,
  table: NumberTable,
  options: Partial<Reading> = {},
): SpokenNumber | undefined => {
  const reading = { ordinals: false, mayOpenWithScale: false, ...options };
  const alone = single(run, at, table, reading.ordinals);
  if (alone) return alone;
  const sum: Sum = { total: 0, at, below: Number.POSITIVE_INFINITY, round: undefined, suffix: undefined };
  while (takeGroup(sum, run, table, reading)) {
    // Each turn takes one group with its scale.
  }
  if (sum.at === at) return undefined;
  return {
    value: sum.total,
    end: sum.at,
    ...(sum.suffix !== undefined && { suffix: sum.suffix }),
    ...(sum.round && { round: sum.round }),
    isDigit: sum.at === at + 1 && sum.total < 10 && sum.suffix === undefined,
  };
};

/** A cardinal from `low` to `high`. */
export const readWithin = (run: Run, at: number, table: NumberTable, low: number, high: number): Got<number> => {
  const number = readNumber(run, at, table);
  return number && number.value >= low && number.value <= high ? { value: number.value, end: number.end } : undefined;
};

/** Digits in groups of three from the right. */
export const groupThousands = (digits: string, separator: string): string =>
  digits.replaceAll(/\B(?=(?:\d{3})+$)/g, separator);
