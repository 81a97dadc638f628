/** How Russian numbers, dates, times, money, phones and percentages are written, as an ordered list of rules. */
import { groupThousands, readNumber } from './itn-number.ts';
import type { Language } from './itn-rules.ts';
import { russianDigits } from './itn-russian-digits.ts';
import { russianTimes } from './itn-russian-times.ts';
import {
  RUSSIAN_CONNECTORS,
  RUSSIAN_FRACTIONS,
  RUSSIAN_HALF,
  RUSSIAN_MONEY,
  RUSSIAN_MONTHS,
  RUSSIAN_NUMBERS,
  RUSSIAN_PERCENT,
  RUSSIAN_PHRASES,
  RUSSIAN_POINT,
  RUSSIAN_WHOLE,
  RUSSIAN_YEAR,
  RUSSIAN_YEARS,
} from './itn-russian-words.ts';
import { isOneOf, type Match, one, type Piece, type Rule, type Run, textAt } from './itn-tokens.ts';

type Amount = {
  readonly text: string;
  readonly end: number;
  readonly isSmall: boolean;
  /** Index of a scale word that stays: "5 миллионов". */
  readonly scaleAt?: number;
  /** "с половиной": digits only before a unit. */
  readonly hasHalf?: boolean;
};

const words = RUSSIAN_NUMBERS.words;
const GROUP_FROM = 10_000;
const NO_BREAK_SPACE = '\u00a0';
/** From here on a scale word stays behind the digits. */
const SCALE_WORD_FROM = 1_000_000;

/** Groups of three from five digits on, as Russian typography has it. */
const writeInteger = (value: number): string =>
  value >= GROUP_FROM ? groupThousands(String(value), NO_BREAK_SPACE) : String(value);

const scaleOf = (run: Run, at: number): number => {
  const word = words.get(textAt(run, at));
  return word?.kind === 'scale' && word.suffix === undefined ? word.value : 0;
};

/** A value with a fraction, and a scale behind it: thousands are multiplied, millions stay a word. */
const withScale = (run: Run, value: string, end: number, hasHalf: boolean): Amount => {
  const scale = scaleOf(run, end);
  const text = value.replace('.', ',');
  if (scale === 0) return { text, end, isSmall: false, hasHalf };
  if (scale >= SCALE_WORD_FROM) return { text, end, isSmall: false, scaleAt: end };
  return { text: writeInteger(Math.round(Number(value) * scale)), end: end + 1, isSmall: false };
};

const HALVES = ['с', 'половиной'];

/** The part behind the whole: "пять десятых", "ноль пять", "пять". */
const readFraction = (run: Run, at: number): { digits: string; end: number } | undefined => {
  const number = readNumber(run, at, RUSSIAN_NUMBERS);
  const places = number && RUSSIAN_FRACTIONS.get(textAt(run, number.end));
  if (!number || places === undefined || number.value >= 10 ** places) return undefined;
  return { digits: String(number.value).padStart(places, '0'), end: number.end + 1 };
};

/** Digits behind "запятая": leading zeros one by one, then a number. */
const readSpelledFraction = (run: Run, at: number): { digits: string; end: number } | undefined => {
  let zeros = '';
  let end = at;
  while (words.get(textAt(run, end))?.kind === 'zero') {
    zeros += '0';
    end += 1;
  }
  const number = readNumber(run, end, RUSSIAN_NUMBERS);
  if (number) return { digits: `${zeros}${number.value}`, end: number.end };
  return zeros === '' ? undefined : { digits: zeros, end };
};

/** What may stand between the whole and its fraction. */
const fractionAfter = (run: Run, at: number): { digits: string; end: number } | undefined => {
  if (isOneOf(run, at, RUSSIAN_POINT)) return readSpelledFraction(run, at + 1);
  const isWhole = isOneOf(run, at, RUSSIAN_WHOLE);
  const from = isWhole ? at + 1 : at;
  const joined = textAt(run, from) === 'и' ? from + 1 : from;
  return isWhole || joined > from ? readFraction(run, joined) : undefined;
};

const readAmount = (run: Run, at: number): Amount | undefined => {
  if (isOneOf(run, at, RUSSIAN_HALF)) return withScale(run, '1.5', at + 1, true);
  const number = readNumber(run, at, RUSSIAN_NUMBERS, { mayOpenWithScale: scaleOf(run, at) === 1000 });
  if (!number) return undefined;
  const fraction = fractionAfter(run, number.end);
  if (fraction) return withScale(run, `${number.value}.${fraction.digits}`, fraction.end, false);
  const saysHalf = HALVES.every((word, index) => textAt(run, number.end + index) === word);
  if (saysHalf) return withScale(run, `${number.value}.5`, number.end + HALVES.length, true);
  if (number.round) {
    return {
      text: writeInteger(number.round.count),
      end: number.round.scaleAt,
      isSmall: false,
      scaleAt: number.round.scaleAt,
    };
  }
  return { text: writeInteger(number.value), end: number.end, isSmall: number.isDigit };
};

/** The amount, and its scale word as a word of its own. */
const piecesOf = (run: Run, { text, end, scaleAt }: Amount, sign = ''): Piece[] => [
  { text: `${sign}${text}`, end },
  ...(scaleAt === undefined ? [] : [{ text: textAt(run, scaleAt), end: scaleAt + 1 }]),
];

const MINUS = new Set(['минус']);

const signed: Rule = (run, at) => {
  if (!isOneOf(run, at, MINUS) || (at > 0 && words.has(textAt(run, at - 1)))) return undefined;
  const amount = readAmount(run, at + 1);
  if (!amount) return undefined;
  if (isOneOf(run, amount.end, RUSSIAN_PERCENT)) return one(`-${amount.text}%`, amount.end + 1);
  return { pieces: piecesOf(run, amount, '-'), kind: 'number' };
};

const percent: Rule = (run, at) => {
  if (textAt(run, at) === 'полпроцента') return one('0,5%', at + 1);
  const amount = readAmount(run, at);
  if (!amount || amount.scaleAt !== undefined || !isOneOf(run, amount.end, RUSSIAN_PERCENT)) return undefined;
  return one(`${amount.text}%`, amount.end + 1);
};

/** Rubles and kopecks keep their names: those carry the case. */
const money: Rule = (run, at) => {
  const amount = readAmount(run, at);
  const unit = amount && (amount.scaleAt === undefined ? amount.end : amount.scaleAt + 1);
  if (!amount || unit === undefined || !isOneOf(run, unit, RUSSIAN_MONEY)) return undefined;
  return { pieces: piecesOf(run, amount), kind: 'number' };
};

const MAX_DAY = 31;
const FIRST_YEAR = 1000;
const LAST_YEAR = 2999;

const readOrdinal = (run: Run, at: number) => {
  const number = readNumber(run, at, RUSSIAN_NUMBERS, { ordinals: true, mayOpenWithScale: true });
  return number?.suffix === undefined ? undefined : { ...number, suffix: number.suffix };
};

const isYear = (value: number): boolean => value >= FIRST_YEAR && value <= LAST_YEAR;

/** "пятое мая (две тысячи двадцать пятого)". */
const date: Rule = (run, at) => {
  const day = readOrdinal(run, at);
  if (!day || day.value > MAX_DAY || !isOneOf(run, day.end, RUSSIAN_MONTHS)) return undefined;
  const pieces = [
    { text: String(day.value), end: day.end },
    { text: textAt(run, day.end), end: day.end + 1 },
  ];
  const year = readOrdinal(run, day.end + 1);
  return {
    pieces: year && isYear(year.value) ? [...pieces, { text: String(year.value), end: year.end }] : pieces,
    kind: 'other',
  };
};

/** "тысяча девятьсот восемьдесят четвёртый год": years stand without an ending. */
const year: Rule = (run, at) => {
  const number = readOrdinal(run, at);
  const isNamed = number && isYear(number.value) && isOneOf(run, number.end, RUSSIAN_YEAR);
  return isNamed ? one(String(number.value), number.end) : undefined;
};

const decade: Rule = (run, at) => {
  const number = readOrdinal(run, at);
  const isNamed = number && number.value >= 10 && isOneOf(run, number.end, RUSSIAN_YEARS);
  return isNamed ? one(`${number.value}-${number.suffix}`, number.end) : undefined;
};

const ordinal: Rule = (run, at) => {
  const number = readOrdinal(run, at);
  return number && number.value >= 10 ? one(`${number.value}-${number.suffix}`, number.end) : undefined;
};

const phrase: Rule = (run, at) => {
  const found = RUSSIAN_PHRASES.find(([said]) => said.every((word, index) => textAt(run, at + index) === word));
  return found && one(found[1], at + found[0].length);
};

const cardinal: Rule = (run, at): Match | undefined => {
  const amount = readAmount(run, at);
  // "тысяча" by itself is a word like any other.
  if (!amount || (amount.end === at + 1 && scaleOf(run, at) > 0)) return undefined;
  if (!amount.hasHalf) return { pieces: piecesOf(run, amount), kind: amount.isSmall ? 'small' : 'number' };
  const number = readNumber(run, at, RUSSIAN_NUMBERS);
  return number && !number.isDigit ? one(writeInteger(number.value), number.end, 'number') : undefined;
};

export const RUSSIAN: Language = {
  rules: [phrase, ...russianTimes, russianDigits, date, year, decade, percent, money, signed, ordinal, cardinal],
  connectors: RUSSIAN_CONNECTORS,
  range: { opens: 'между', joins: 'и' },
  neverAlone: new Set(['один', 'одна', 'одно', 'одного', 'одной', 'одному', 'одним', 'одном', 'одну', 'одною']),
};
