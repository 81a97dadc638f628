/** Russian times of day. */
import { readWithin } from './itn-number.ts';
import {
  RUSSIAN_BEFORE_TIME,
  RUSSIAN_HOURS,
  RUSSIAN_MINUTES,
  RUSSIAN_NEXT_HOURS,
  RUSSIAN_NUMBERS,
  RUSSIAN_PARTS_OF_DAY,
} from './itn-russian-words.ts';
import { type Got, isOneOf, one, type Rule, type Run, textAt } from './itn-tokens.ts';

const words = RUSSIAN_NUMBERS.words;
const LAST_HOUR = 23;
/** Only as 24:00. */
const MIDNIGHT = 24;
const HALF_DAY = 12;
const pad = (value: number): string => String(value).padStart(2, '0');
const isZero = (run: Run, at: number): boolean => words.get(textAt(run, at))?.kind === 'zero';

/** Minutes behind the hour: ten to fifty-nine, "ноль пять", "ноль ноль". */
const readMinute = (run: Run, at: number): Got<number> => {
  if (!isZero(run, at)) return readWithin(run, at, RUSSIAN_NUMBERS, 10, 59);
  if (isZero(run, at + 1)) return { value: 0, end: at + 2 };
  return readWithin(run, at + 1, RUSSIAN_NUMBERS, 1, 9);
};

/** "пять часов тридцать минут". */
const spelledOut: Rule = (run, at) => {
  const hour = readWithin(run, at, RUSSIAN_NUMBERS, 0, LAST_HOUR);
  if (!hour || !isOneOf(run, hour.end, RUSSIAN_HOURS)) return undefined;
  const minute = readWithin(run, hour.end + 1, RUSSIAN_NUMBERS, 1, 59);
  return minute && isOneOf(run, minute.end, RUSSIAN_MINUTES)
    ? one(`${hour.value}:${pad(minute.value)}`, minute.end + 1)
    : undefined;
};

/** An hour that leaves words for the minutes: "двадцать один тридцать" and "двадцать тридцать". */
const readHour = (run: Run, at: number): Got<number> => readWithin(run, at, RUSSIAN_NUMBERS, 0, MIDNIGHT);

/** "в пять тридцать", "семнадцать ноль ноль", "пять тридцать утра". */
const clock: Rule = (run, at) => {
  const hour = readHour(run, at);
  const minute = hour && readMinute(run, hour.end);
  if (!hour || !minute || words.has(textAt(run, minute.end))) return undefined;
  if (hour.value === MIDNIGHT && minute.value > 0) return undefined;
  const isSaid = at > 0 && isOneOf(run, at - 1, RUSSIAN_BEFORE_TIME);
  const isSharp = minute.value === 0 && hour.value > 0;
  if (!(isSaid || isSharp || isOneOf(run, minute.end, RUSSIAN_PARTS_OF_DAY))) return undefined;
  return one(`${hour.value}:${pad(minute.value)}`, minute.end);
};

/** "девять утра", "в семь вечера". */
const partOfDay: Rule = (run, at) => {
  const hour = readWithin(run, at, RUSSIAN_NUMBERS, 1, HALF_DAY);
  const isHours = hour && isOneOf(run, hour.end, RUSSIAN_HOURS);
  const end = hour && (isHours ? hour.end + 1 : hour.end);
  return hour && end !== undefined && isOneOf(run, end, RUSSIAN_PARTS_OF_DAY)
    ? one(String(hour.value), hour.end)
    : undefined;
};

const before = (hour: number): number => (hour === 1 ? HALF_DAY : hour - 1);

const HALF = new Set(['половина', 'половине', 'половину', 'половины', 'пол']);

/** "половина шестого", "полшестого", "четверть шестого", "десять минут шестого". */
const ofNextHour: Rule = (run, at) => {
  const joined = textAt(run, at).startsWith('пол') ? RUSSIAN_NEXT_HOURS.get(textAt(run, at).slice(3)) : undefined;
  if (joined !== undefined) return one(`${before(joined)}:30`, at + 1);
  if (isOneOf(run, at, HALF)) {
    const next = RUSSIAN_NEXT_HOURS.get(textAt(run, at + 1));
    return next === undefined ? undefined : one(`${before(next)}:30`, at + 2);
  }
  if (textAt(run, at) === 'четверть') {
    const next = RUSSIAN_NEXT_HOURS.get(textAt(run, at + 1));
    return next === undefined ? undefined : one(`${before(next)}:15`, at + 2);
  }
  const minute = readWithin(run, at, RUSSIAN_NUMBERS, 1, 59);
  const next =
    minute && isOneOf(run, minute.end, RUSSIAN_MINUTES)
      ? RUSSIAN_NEXT_HOURS.get(textAt(run, minute.end + 1))
      : undefined;
  return minute && next !== undefined ? one(`${before(next)}:${pad(minute.value)}`, minute.end + 2) : undefined;
};

/** The hour that is named behind the minutes, from `at` on. */
const readNamedHour = (run: Run, at: number): Got<number> =>
  textAt(run, at) === 'час' ? { value: 1, end: at + 1 } : readWithin(run, at, RUSSIAN_NUMBERS, 1, HALF_DAY);

/** Minutes and the hour they are missing to; "без двадцати девять" is not 29. */
const readMissing = (run: Run, at: number): Got<{ minute: number; hour: number }> => {
  const whole = readWithin(run, at, RUSSIAN_NUMBERS, 1, 29);
  const short = readWithin(run.slice(at, at + 1), 0, RUSSIAN_NUMBERS, 1, 29);
  for (const minute of textAt(run, at) === 'четверти'
    ? [{ value: 15, end: at + 1 }]
    : [whole, short && { value: short.value, end: at + 1 }]) {
    if (!minute) continue;
    const hour = readNamedHour(run, isOneOf(run, minute.end, RUSSIAN_MINUTES) ? minute.end + 1 : minute.end);
    if (hour) return { value: { minute: minute.value, hour: hour.value }, end: hour.end };
  }
  return undefined;
};

/** "без четверти пять", "без пятнадцати (минут) пять". */
const beforeHour: Rule = (run, at) => {
  const missing = textAt(run, at) === 'без' ? readMissing(run, at + 1) : undefined;
  return missing && one(`${before(missing.value.hour)}:${pad(60 - missing.value.minute)}`, missing.end);
};

export const russianTimes: readonly Rule[] = [beforeHour, ofNextHour, spelledOut, clock, partOfDay];
