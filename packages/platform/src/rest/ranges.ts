/**
 * Ranges as filters write them: `lo~hi`, `~hi`, `lo~`, several joined by `;`, or one value. For numbers, for points
 * in time (a date alone is its whole UTC day) and for times of day. Bounds are inclusive.
 */
import { badRequest } from '../codes.ts';

export type Range<T> = { readonly lo: T | undefined; readonly hi: T | undefined };

const MAX_RANGES = 500;

const split = <T>(source: string, field: string, bound: (part: string, isHigh: boolean) => T): Range<T>[] => {
  const parts = source.split(';');
  if (parts.length > MAX_RANGES) throw badRequest(field, `filter holds more than ${MAX_RANGES} ranges`);
  return parts.map((part) => {
    const [low = '', high, ...rest] = part.split('~');
    if (rest.length > 0) throw badRequest(field, 'filter range has more than one "~"');
    if (high === undefined) return { lo: bound(low, false), hi: bound(low, true) };
    if (low.trim() === '' && high.trim() === '') throw badRequest(field, 'filter range has no bound');
    return {
      lo: low.trim() === '' ? undefined : bound(low, false),
      hi: high.trim() === '' ? undefined : bound(high, true),
    };
  });
};

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i;

const parseNumber = (source: string, field: string): number => {
  const trimmed = source.trim();
  if (!NUMBER.test(trimmed)) throw badRequest(field, 'filter is not a number or a range of numbers');
  return Number(trimmed);
};

export const parseNumberRanges = (source: string, field: string): Range<number>[] =>
  split(source, field, (part) => parseNumber(part, field));

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?\s*([Zz]|[+-]\d{2}:?\d{2})?$/;
const TIME = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?$/;

const isCalendarDay = (year: number, month: number, day: number): boolean => {
  const date = new Date(Date.UTC(2000, 0, 1));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
};

/**
 * RFC 3339 and what lies near it (a blank for the T, no seconds, no zone = UTC) as UTC with six fractional digits;
 * undefined when it is no point in time.
 */
export const toInstant = (source: string): string | undefined => {
  const found = DATE_TIME.exec(source.trim());
  if (!found) return undefined;
  const [, date, clock, fraction = '', zone = 'Z'] = found;
  const day = DATE.exec(date!)!;
  if (!isCalendarDay(Number(day[1]), Number(day[2]), Number(day[3]))) return undefined;
  const full = clock!.length === 5 ? `${clock}:00` : clock!;
  const offset = zone.toUpperCase() === 'Z' ? 'Z' : zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
  const millis = Date.parse(`${date}T${full}${offset}`);
  // ISO text leaves four digits of year outside 0..9999.
  if (Number.isNaN(millis) || millis < -62_167_219_200_000 || millis > 253_402_300_799_999) return undefined;
  return `${new Date(millis).toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`;
};

/** `YYYY-MM-DD` when it names a day of the calendar. */
export const toDay = (source: string): string | undefined => {
  const found = DATE.exec(source.trim());
  return found && isCalendarDay(Number(found[1]), Number(found[2]), Number(found[3])) ? found[0] : undefined;
};

/** `HH:mm:ss`, or undefined. */
export const toTimeOfDay = (source: string): string | undefined => {
  const found = TIME.exec(source.trim());
  if (!found || Number(found[1]) > 23 || Number(found[2]) > 59 || Number(found[3] ?? '0') > 59) return undefined;
  return `${found[1]}:${found[2]}:${found[3] ?? '00'}`;
};

/** Bounds as canonical instants; a date alone reaches from its first to its last microsecond. */
export const parseDateRanges = (source: string, field: string): Range<string>[] =>
  split(source, field, (part, isHigh) => {
    const day = toDay(part);
    if (day !== undefined) return isHigh ? `${day}T23:59:59.999999Z` : `${day}T00:00:00.000000Z`;
    const instant = toInstant(part);
    if (instant === undefined) throw badRequest(field, 'filter is not a date, a time or a range of them (RFC 3339)');
    return instant;
  });

export const parseTimeRanges = (source: string, field: string): Range<string>[] =>
  split(source, field, (part) => {
    const time = toTimeOfDay(part);
    if (time === undefined) throw badRequest(field, 'filter is not a time of day (HH:mm:ss) or a range of them');
    return time;
  });

/** True when the value lies in one of the ranges. Text compares by its characters, which is right for canonical times. */
export const isInside = <T extends string | number>(ranges: readonly Range<T>[], value: T): boolean =>
  ranges.some(({ lo, hi }) => (lo === undefined || value >= lo) && (hi === undefined || value <= hi));
