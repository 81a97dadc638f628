/** How English numbers, dates, times, money, phones and percentages are written, as an ordered list of rules. */
import { englishDates } from './itn-english-dates.ts';
import { digitString } from './itn-english-digits.ts';
import {
  ENGLISH_CONNECTORS,
  ENGLISH_CURRENCIES,
  ENGLISH_DIGITS,
  ENGLISH_NAMED_MONEY,
  ENGLISH_NUMBERS,
  ENGLISH_PERCENT,
  ENGLISH_PHRASES,
  ENGLISH_WEIGHING,
} from './itn-english-words.ts';
import { groupThousands, readNumber } from './itn-number.ts';
import type { Language } from './itn-rules.ts';
import { isNear, isOneOf, type Match, one, type Rule, type Run, textAt } from './itn-tokens.ts';

/** An amount as it is written, with a scale word perhaps, and where it ends. */
type Amount = {
  readonly text: string;
  readonly scale: string;
  readonly end: number;
  /** A whole number below ten, which stays a word unless something stands behind it. */
  readonly isSmall: boolean;
  /** "and a half" was said: only written as digits before a unit. */
  readonly hasHalf: boolean;
  readonly isDecimal: boolean;
};

const SCALES = new Set(['million', 'billion', 'trillion']);
const MIN_YEAR_LIKE = 2001;
const MAX_YEAR_LIKE = 2099;

/** Thousands get a comma, but for what is most likely a year. */
const writeInteger = (value: number): string =>
  value >= MIN_YEAR_LIKE && value <= MAX_YEAR_LIKE ? String(value) : groupThousands(String(value), ',');

/** Digits behind "point": one by one, or a number below a hundred. */
const readFraction = (run: Run, at: number): { digits: string; end: number } | undefined => {
  let digits = '';
  let end = at;
  for (let digit = ENGLISH_DIGITS.get(textAt(run, end)); digit !== undefined; ) {
    digits += digit;
    end += 1;
    digit = ENGLISH_DIGITS.get(textAt(run, end));
  }
  if (digits !== '') return { digits, end };
  const number = readNumber(run, at, ENGLISH_NUMBERS);
  return number && number.value > 9 && number.value < 100
    ? { digits: String(number.value), end: number.end }
    : undefined;
};

const HALF = ['and', 'a', 'half'];
const saysHalf = (run: Run, at: number): boolean => HALF.every((word, index) => textAt(run, at + index) === word);

const withScale = (run: Run, amount: Omit<Amount, 'scale'>): Amount =>
  SCALES.has(textAt(run, amount.end))
    ? { ...amount, scale: textAt(run, amount.end), end: amount.end + 1 }
    : { ...amount, scale: '' };

const readAmount = (run: Run, at: number): Amount | undefined => {
  const isBarePoint = textAt(run, at) === 'point';
  const isOh = textAt(run, at) === 'oh' && textAt(run, at + 1) === 'point';
  const number = isOh
    ? { value: 0, end: at + 1, isDigit: true, round: undefined }
    : readNumber(run, at, ENGLISH_NUMBERS);
  const point = isBarePoint ? at : number?.end;
  if (point !== undefined && textAt(run, point) === 'point' && !number?.round) {
    const fraction = readFraction(run, point + 1);
    if (fraction) {
      const text = `${number ? number.value : 0}.${fraction.digits}`;
      return withScale(run, { text, end: fraction.end, isSmall: false, hasHalf: false, isDecimal: true });
    }
  }
  if (!number) return undefined;
  const plain = { isSmall: number.isDigit, hasHalf: false, isDecimal: false };
  if (number.round) {
    const { count, scaleAt } = number.round;
    return { ...plain, text: writeInteger(count), scale: textAt(run, scaleAt), end: scaleAt + 1, isSmall: false };
  }
  if (!saysHalf(run, number.end)) return { ...plain, text: writeInteger(number.value), scale: '', end: number.end };
  const half = {
    text: `${number.value}.5`,
    end: number.end + HALF.length,
    isSmall: false,
    hasHalf: true,
    isDecimal: true,
  };
  return withScale(run, half);
};

const spell = ({ text, scale }: Amount): string => (scale === '' ? text : `${text} ${scale}`);

const MINUS = new Set(['minus', 'negative']);

/** "minus five": the sign belongs to the number unless something is being subtracted. */
const signed: Rule = (run, at) => {
  if (!isOneOf(run, at, MINUS) || (at > 0 && ENGLISH_NUMBERS.words.has(textAt(run, at - 1)))) return undefined;
  const percent = percentRule(run, at + 1);
  if (percent) return { ...percent, pieces: percent.pieces.map((piece) => ({ ...piece, text: `-${piece.text}` })) };
  const amount = readAmount(run, at + 1);
  return amount && one(`-${spell(amount)}`, amount.end, 'number');
};

const PER_CENT = ['per', 'cent'];
const percentEnd = (run: Run, at: number): number | undefined => {
  if (isOneOf(run, at, ENGLISH_PERCENT)) return at + 1;
  return PER_CENT.every((word, index) => textAt(run, at + index) === word) ? at + 2 : undefined;
};

const percentRule: Rule = (run, at) => {
  const half = ['half', 'a'].every((word, index) => textAt(run, at + index) === word)
    ? percentEnd(run, at + 2)
    : undefined;
  if (half !== undefined) return one('0.5%', half);
  const amount = readAmount(run, at);
  const end = amount && percentEnd(run, amount.end);
  return amount && end !== undefined ? one(`${spell(amount)}%`, end) : undefined;
};

/** Hundredths of a currency: two digits. */
const readMinor = (run: Run, at: number, words: ReadonlySet<string>): { digits: string; end: number } | undefined => {
  const joined = textAt(run, at) === 'and' ? at + 1 : at;
  const number = readNumber(run, joined, ENGLISH_NUMBERS);
  if (!number || number.value < 1 || number.value > 99) return undefined;
  if (isOneOf(run, number.end, words)) return { digits: String(number.value).padStart(2, '0'), end: number.end + 1 };
  // "five dollars fifty": the cents go without saying.
  return joined === at && number.value > 9 ? { digits: String(number.value), end: number.end } : undefined;
};

const isWeight = (run: Run, at: number, unit: number): boolean =>
  textAt(run, unit).startsWith('pound') && (textAt(run, unit + 1) === 'of' || isNear(run, at, ENGLISH_WEIGHING, 2));

const ARTICLE = new Set(['a']);

const money: Rule = (run, at) => {
  // "a dollar fifty"; without cents it stays as it is.
  // "half a million dollars" stays as it is.
  if (at > 0 && textAt(run, at - 1) === 'half') return undefined;
  const isOne = isOneOf(run, at, ARTICLE) && ENGLISH_CURRENCIES.has(textAt(run, at + 1));
  const amount = isOne ? { text: '1', scale: '', end: at + 1, isDecimal: false } : readAmount(run, at);
  if (!amount) return undefined;
  const unit = textAt(run, amount.end);
  if (ENGLISH_NAMED_MONEY.has(unit))
    return { pieces: [{ text: spell({ ...amount } as Amount), end: amount.end }], kind: 'number' };
  const currency = ENGLISH_CURRENCIES.get(unit);
  if (!currency) return undefined;
  if (isWeight(run, at, amount.end)) return one(spell({ ...amount } as Amount), amount.end, 'number');
  const minor = amount.scale === '' && !amount.isDecimal ? readMinor(run, amount.end + 1, currency.minor) : undefined;
  if (minor) return one(`${currency.symbol}${amount.text}.${minor.digits}`, minor.end);
  if (isOne) return undefined;
  return one(`${currency.symbol}${spell({ ...amount } as Amount)}`, amount.end + 1);
};

const phrase: Rule = (run, at) => {
  const found = ENGLISH_PHRASES.find(([words]) => words.every((word, index) => textAt(run, at + index) === word));
  return found && !ENGLISH_NUMBERS.words.has(textAt(run, at + found[0].length))
    ? one(found[1], at + found[0].length)
    : undefined;
};

const ordinal: Rule = (run, at) => {
  const number = readNumber(run, at, ENGLISH_NUMBERS, { ordinals: true });
  if (number?.suffix === undefined || number.value < 10) return undefined;
  return one(`${groupThousands(String(number.value), ',')}${number.suffix}`, number.end);
};

const cardinal: Rule = (run, at) => {
  const amount = readAmount(run, at);
  if (!amount || (textAt(run, at) === 'point' && amount.scale === '')) return undefined;
  // "a million" is a manner of speaking.
  if (isOneOf(run, at, ARTICLE) && amount.scale !== '') return undefined;
  if (amount.hasHalf && amount.scale === '') {
    const number = readNumber(run, at, ENGLISH_NUMBERS)!;
    return number.isDigit ? undefined : one(writeInteger(number.value), number.end, 'number');
  }
  return one(spell(amount), amount.end, amount.isSmall ? 'small' : 'number');
};

const POINTS = ['percentage', 'point'];
/** "five percentage points" */
const percentagePoints: Rule = (run, at): Match | undefined => {
  const amount = readAmount(run, at);
  if (!amount || textAt(run, amount.end) !== POINTS[0]) return undefined;
  return one(spell(amount), amount.end, 'number');
};

export const ENGLISH: Language = {
  rules: [phrase, ...englishDates, digitString, percentRule, percentagePoints, money, signed, ordinal, cardinal],
  connectors: ENGLISH_CONNECTORS,
  range: { opens: 'between', joins: 'and' },
  neverAlone: new Set(['one']),
};
