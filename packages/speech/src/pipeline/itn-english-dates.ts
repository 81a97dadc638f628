/** English dates, years and times of day. */
import {
  ENGLISH_BEFORE_TIME,
  ENGLISH_BEFORE_YEAR,
  ENGLISH_CURRENCIES,
  ENGLISH_DECADES,
  ENGLISH_DOUBTFUL_MONTHS,
  ENGLISH_MONTHS,
  ENGLISH_NUMBERS,
  ENGLISH_PERCENT,
} from './itn-english-words.ts';
import { readNumber, readWithin } from './itn-number.ts';
import { type Got, isOneOf, type Match, one, type Rule, type Run, textAt } from './itn-tokens.ts';

const words = ENGLISH_NUMBERS.words;
const pad = (value: number): string => String(value).padStart(2, '0');
const ZEROS = new Set(['oh', 'o', 'zero']);

/** "nineteen eighty four", "twenty oh five", "nineteen hundred", "two thousand (and) five". */
const readYear = (run: Run, at: number, firstCentury: number): Got<number> => {
  const century = words.get(textAt(run, at));
  const isCentury = century?.kind === 'teen' || century?.value === 20;
  if (isCentury && century.suffix === undefined && century.value >= firstCentury) {
    if (isOneOf(run, at + 1, ZEROS)) {
      const unit = words.get(textAt(run, at + 2));
      if (unit?.kind === 'unit' && unit.suffix === undefined)
        return { value: century.value * 100 + unit.value, end: at + 3 };
    }
    const rest = readWithin(run, at + 1, ENGLISH_NUMBERS, 10, 99);
    if (rest) return { value: century.value * 100 + rest.value, end: rest.end };
  }
  const number = readNumber(run, at, ENGLISH_NUMBERS);
  const isPlain = number && number.suffix === undefined && !number.round;
  return isPlain && number.value >= 1100 && number.value < 2100 ? { value: number.value, end: number.end } : undefined;
};

/** Centuries a year may begin with when nothing says that it is one. */
const FIRST_BARE_CENTURY = 16;
const FIRST_CENTURY = 10;

const isUnit = (run: Run, at: number): boolean =>
  words.has(textAt(run, at)) || ENGLISH_CURRENCIES.has(textAt(run, at)) || isOneOf(run, at, ENGLISH_PERCENT);

const year: Rule = (run, at) => {
  const isSaid = at > 0 && isOneOf(run, at - 1, ENGLISH_BEFORE_YEAR);
  const found = readYear(run, at, isSaid ? FIRST_CENTURY : FIRST_BARE_CENTURY);
  // A thousand of something is written with a comma; a pair of numbers is a year even without a hint.
  const isPair = found && words.get(textAt(run, at))?.kind !== 'unit' && textAt(run, at + 1) !== 'hundred';
  return found && (isSaid || isPair) && !isUnit(run, found.end) ? one(String(found.value), found.end) : undefined;
};

const decade: Rule = (run, at) => {
  const century = words.get(textAt(run, at));
  const tens = ENGLISH_DECADES.get(textAt(run, at + 1));
  const isCentury = century?.kind === 'teen' || century?.value === 20;
  if (tens !== undefined && isCentury) return one(`${century.value}${tens}s`, at + 2);
  return century?.kind === 'teen' && textAt(run, at + 1) === 'hundreds'
    ? one(`${century.value}00s`, at + 2)
    : undefined;
};

const MAX_DAY = 31;

const readDay = (run: Run, at: number, ordinals: boolean): (Got<number> & { suffix: string }) | undefined => {
  const number = readNumber(run, at, ENGLISH_NUMBERS, { ordinals });
  if (!number || number.value < 1 || number.value > MAX_DAY || (ordinals && number.suffix === undefined))
    return undefined;
  return { value: number.value, end: number.end, suffix: number.suffix ?? '' };
};

const THE = new Set(['the']);

/** "June fifth twenty twenty five", "June the fifth", "June five", "June twenty twenty five". */
const monthFirst: Rule = (run, at) => {
  const month = ENGLISH_MONTHS.get(textAt(run, at));
  if (month === undefined) return undefined;
  const from = isOneOf(run, at + 1, THE) ? at + 2 : at + 1;
  const ordinal = readDay(run, from, true);
  const day = ordinal ?? (from === at + 1 ? readDay(run, from, false) : undefined);
  const yearAfter = day && readYear(run, day.end, FIRST_CENTURY);
  const yearOnly = ordinal ? undefined : readYear(run, at + 1, FIRST_CENTURY);
  const name = { text: month, end: at + 1 };
  if (day && yearAfter && yearAfter.end > (yearOnly?.end ?? 0)) {
    return {
      pieces: [name, { text: `${day.value},`, end: day.end }, { text: String(yearAfter.value), end: yearAfter.end }],
      kind: 'other',
    };
  }
  if (yearOnly) return { pieces: [name, { text: String(yearOnly.value), end: yearOnly.end }], kind: 'other' };
  const isDoubtful = !ordinal && isOneOf(run, at, ENGLISH_DOUBTFUL_MONTHS);
  if (!day || isDoubtful || isUnit(run, day.end)) return undefined;
  return { pieces: [name, { text: String(day.value), end: day.end }], kind: 'other' };
};

/** "the fifth of June (twenty twenty five)". */
const dayFirst: Rule = (run, at) => {
  const day = readDay(run, at, true);
  const month = day && textAt(run, day.end) === 'of' ? ENGLISH_MONTHS.get(textAt(run, day.end + 1)) : undefined;
  if (!day || month === undefined) return undefined;
  const found = readYear(run, day.end + 2, FIRST_CENTURY);
  const pieces = [
    { text: `${day.value}${day.suffix}`, end: day.end },
    { text: 'of', end: day.end + 1 },
    { text: month, end: day.end + 2 },
  ];
  return { pieces: found ? [...pieces, { text: String(found.value), end: found.end }] : pieces, kind: 'other' };
};

const HALVES: ReadonlyMap<string, string> = new Map([
  ['am', 'AM'],
  ['pm', 'PM'],
]);

const readHalfOfDay = (run: Run, at: number): Got<string> => {
  const whole = HALVES.get(textAt(run, at));
  if (whole !== undefined) return { value: whole, end: at + 1 };
  const spelled = textAt(run, at + 1) === 'm' ? HALVES.get(`${textAt(run, at)}m`) : undefined;
  return spelled === undefined ? undefined : { value: spelled, end: at + 2 };
};

const OCLOCK = new Set(["o'clock", 'oclock']);

const readHour = (run: Run, at: number, last: number): Got<number> => {
  const word = words.get(textAt(run, at));
  const isShort = word?.kind === 'unit' || word?.kind === 'teen';
  if (isShort && word.suffix === undefined && word.value <= last) return { value: word.value, end: at + 1 };
  return last > 12 ? readWithin(run, at, ENGLISH_NUMBERS, 13, last) : undefined;
};

const readMinute = (run: Run, at: number): Got<number> => {
  if (!isOneOf(run, at, ZEROS)) return readWithin(run, at, ENGLISH_NUMBERS, 10, 59);
  const unit = words.get(textAt(run, at + 1));
  return unit?.kind === 'unit' && unit.suffix === undefined ? { value: unit.value, end: at + 2 } : undefined;
};

const LAST_HOUR = 12;
const LAST_HOUR_OF_DAY = 23;

/** "five thirty p m", "five p m", "at five oh five", "five thirty". */
const clock: Rule = (run, at) => {
  const isSaid = at > 0 && isOneOf(run, at - 1, ENGLISH_BEFORE_TIME);
  const hour = readHour(run, at, isSaid ? LAST_HOUR_OF_DAY : LAST_HOUR);
  if (!hour) return undefined;
  const sharp = readHalfOfDay(run, hour.end);
  if (sharp) return one(`${hour.value} ${sharp.value}`, sharp.end);
  if (isOneOf(run, hour.end, OCLOCK)) {
    return {
      pieces: [
        { text: String(hour.value), end: hour.end },
        { text: "o'clock", end: hour.end + 1 },
      ],
      kind: 'other',
    };
  }
  const minute = readMinute(run, hour.end);
  if (!minute) return undefined;
  const half = readHalfOfDay(run, minute.end);
  const time = `${hour.value}:${pad(minute.value)}`;
  if (half) return one(`${time} ${half.value}`, half.end);
  const isBare = hour.value <= LAST_HOUR && !isOneOf(run, hour.end, ZEROS);
  return (isSaid || isBare) && !isUnit(run, minute.end) ? one(time, minute.end) : undefined;
};

const PAST = new Set(['past', 'after']);
const TO = new Set(['to', 'till', 'of']);
const MINUTES = new Set(['minutes', 'minute']);
const ROUND_MINUTES = new Set([5, 10, 15, 20, 25]);
const ARTICLE = new Set(['a']);

/** Minutes before or after the hour: "half", "a quarter", "ten (minutes)". */
const readDistance = (run: Run, at: number): (Got<number> & { sure: boolean }) | undefined => {
  const from = isOneOf(run, at, ARTICLE) ? at + 1 : at;
  if (textAt(run, from) === 'quarter') return { value: 15, end: from + 1, sure: true };
  if (textAt(run, at) === 'half') return { value: 30, end: at + 1, sure: true };
  const number = readWithin(run, at, ENGLISH_NUMBERS, 1, 29);
  if (!number) return undefined;
  const isCounted = isOneOf(run, number.end, MINUTES);
  return { value: number.value, end: number.end + (isCounted ? 1 : 0), sure: isCounted };
};

/** "half past five", "quarter to five", "at ten to five", "ten minutes past five". */
const relative: Rule = (run, at) => {
  const distance = readDistance(run, at);
  const isPast = distance !== undefined && isOneOf(run, distance.end, PAST);
  const isTo = distance !== undefined && distance.value !== 30 && isOneOf(run, distance.end, TO);
  if (!distance || !(isPast || isTo)) return undefined;
  const hour = readHour(run, distance.end + 1, LAST_HOUR);
  if (!hour) return undefined;
  const half = readHalfOfDay(run, hour.end);
  const isSaid = at > 0 && isOneOf(run, at - 1, ENGLISH_BEFORE_TIME) && textAt(run, at - 1) !== 'from';
  const isRound = ROUND_MINUTES.has(distance.value);
  if (!(distance.sure || half || (isRound && (isSaid || textAt(run, distance.end) === 'past')))) return undefined;
  const total = hour.value * 60 + (isPast ? distance.value : -distance.value);
  const shownHour = Math.floor(total / 60) || LAST_HOUR;
  const time = `${shownHour}:${pad(total % 60)}`;
  return half ? one(`${time} ${half.value}`, half.end) : one(time, hour.end);
};

/** "seventeen hundred hours", "zero eight hundred hours", "oh six thirty hours". */
const military: Rule = (run, at): Match | undefined => {
  const from = isOneOf(run, at, ZEROS) ? at + 1 : at;
  const hour = readHour(run, from, LAST_HOUR_OF_DAY) ?? readWithin(run, from, ENGLISH_NUMBERS, 20, LAST_HOUR_OF_DAY);
  const end = hour?.end ?? from;
  const minute = textAt(run, end) === 'hundred' ? { value: 0, end: end + 1 } : readMinute(run, end);
  if (!hour || !minute || textAt(run, minute.end) !== 'hours') return undefined;
  return one(`${pad(hour.value)}:${pad(minute.value)}`, minute.end + 1);
};

export const englishDates: readonly Rule[] = [military, relative, clock, monthFirst, dayFirst, decade, year];
