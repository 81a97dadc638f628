/** English words of numbers, dates, times and money, as data (docs/speech-api.md, numbers as digits). */
import type { NumberTable, NumberWord } from './itn-number.ts';
import { wordSet } from './itn-tokens.ts';

const UNITS = 'one two three four five six seven eight nine'.split(' ');
const TEENS = 'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(' ');
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const SCALES = ['thousand', 'million', 'billion', 'trillion'];
const UNIT_ORDINALS = 'first second third fourth fifth sixth seventh eighth ninth'.split(' ');
const TEEN_ORDINALS =
  'tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth'.split(' ');

const ordinalSuffix = (value: number): string => (value < 4 ? ['th', 'st', 'nd', 'rd'][value]! : 'th');

const entries = (): [string, NumberWord][] => [
  ['zero', { kind: 'zero', value: 0 }],
  ...UNITS.map((word, index): [string, NumberWord] => [word, { kind: 'unit', value: index + 1 }]),
  ...TEENS.map((word, index): [string, NumberWord] => [word, { kind: 'teen', value: index + 10 }]),
  ...TENS.map((word, index): [string, NumberWord] => [word, { kind: 'ten', value: (index + 2) * 10 }]),
  ['fourty', { kind: 'ten', value: 40 }],
  ['hundred', { kind: 'times100', value: 100 }],
  ...SCALES.map((word, index): [string, NumberWord] => [word, { kind: 'scale', value: 1000 ** (index + 1) }]),
  ...UNIT_ORDINALS.map((word, index): [string, NumberWord] => [
    word,
    { kind: 'unit', value: index + 1, suffix: ordinalSuffix(index + 1) },
  ]),
  ...TEEN_ORDINALS.map((word, index): [string, NumberWord] => [
    word,
    { kind: 'teen', value: index + 10, suffix: 'th' },
  ]),
  ...TENS.map((word, index): [string, NumberWord] => [
    word.replace(/y$/, 'ieth'),
    { kind: 'ten', value: (index + 2) * 10, suffix: 'th' },
  ]),
  ['hundredth', { kind: 'times100', value: 100, suffix: 'th' }],
  ...SCALES.map((word, index): [string, NumberWord] => [
    `${word}th`,
    { kind: 'scale', value: 1000 ** (index + 1), suffix: 'th' },
  ]),
];

export const ENGLISH_NUMBERS: NumberTable = {
  words: new Map(entries()),
  and: new Set(['and']),
  articles: new Set(['a']),
};

/** How single digits are dictated, besides by their names. */
export const ENGLISH_DIGITS: ReadonlyMap<string, string> = new Map([
  ['oh', '0'],
  ['o', '0'],
  ['zero', '0'],
  ['nought', '0'],
  ...UNITS.map((word, index): [string, string] => [word, String(index + 1)]),
]);
/** Say a digit twice or three times. */
export const ENGLISH_REPEATS: ReadonlyMap<string, number> = new Map([
  ['double', 2],
  ['triple', 3],
  ['treble', 3],
]);

const MONTH_NAMES = 'January February March April May June July August September October November December'.split(' ');
export const ENGLISH_MONTHS: ReadonlyMap<string, string> = new Map(
  MONTH_NAMES.map((name) => [name.toLowerCase(), name]),
);
/** Months that are words of their own too: a cardinal behind them makes no date. */
export const ENGLISH_DOUBTFUL_MONTHS = wordSet('may march');

export const ENGLISH_DECADES: ReadonlyMap<string, number> = new Map(
  TENS.map((word, index) => [word.replace(/y$/, 'ies'), (index + 2) * 10]),
);

export type Currency = { readonly symbol: string; readonly minor: ReadonlySet<string> };
const CENTS = wordSet('cent cents');
const PENCE = wordSet('penny pence p');
const NONE = wordSet('');
const currency = (words: string, symbol: string, minor: ReadonlySet<string>): [string, Currency][] =>
  words.split(' ').map((word) => [word, { symbol, minor }]);
export const ENGLISH_CURRENCIES: ReadonlyMap<string, Currency> = new Map([
  ...currency('dollar dollars', '$', CENTS),
  ...currency('euro euros', '€', CENTS),
  ...currency('pound pounds quid', '£', PENCE),
  ...currency('yen', '¥', NONE),
  ...currency('yuan', '¥', NONE),
  ...currency('rupee rupees', '₹', wordSet('paise')),
]);
/** Currencies and parts of one that keep their name behind the digits. */
export const ENGLISH_NAMED_MONEY = wordSet(
  'ruble rubles rouble roubles kopeck kopecks cents pence bucks francs crowns zloty hryvnias tenge dirhams',
);
/** What makes pounds a weight. */
export const ENGLISH_WEIGHING = wordSet('weigh weighs weighed weighing weight lost gained lose gain heavier lighter');

export const ENGLISH_PERCENT = wordSet('percent');
/** Words before a time of day. */
export const ENGLISH_BEFORE_TIME = wordSet('at by until till around before after since about from');
/** Words before a year. */
export const ENGLISH_BEFORE_YEAR = wordSet('in since year by of until till from before after during');
export const ENGLISH_NEAR_PHONE = wordSet('call phone telephone tel dial mobile cell fax ring text whatsapp');
export const ENGLISH_NEAR_CODE = wordSet('account card order reference ticket tracking id code pin serial invoice');
export const ENGLISH_CONNECTORS = wordSet('to or');

/** Fixed phrases: words → what is written. */
export const ENGLISH_PHRASES: readonly (readonly [readonly string[], string])[] = [
  [['twenty', 'four', 'seven'], '24/7'],
  [['fifty', 'fifty'], '50/50'],
];
