/**
 * One condition of a filter against one value, by what the field holds: text with wildcards and alternatives, ranges
 * of numbers and times, booleans, lists that must be included, or whatever the value turns out to be.
 */
import type { Condition, Scalar } from '@parley/kit/store/store.ts';
import { badRequest } from '../codes.ts';
import type { Comparison } from './field.ts';
import { type Budget, MAX_LIST_VALUES, spendLeaf, spendPattern } from './filter-budget.ts';
import { getPath, isObject, type Json } from './json.ts';
import { isInside, parseDateRanges, parseNumberRanges, parseTimeRanges, type Range } from './ranges.ts';
import { exactly, parseTextCondition, type TextMatch } from './text-match.ts';

type WithoutPath<C> = C extends unknown ? Omit<C, 'path'> : never;

export type Matcher = {
  test(value: unknown): boolean;
  /** What a database can check beforehand. */
  readonly condition?: WithoutPath<Condition>;
  readonly isComplete?: boolean;
};

/** Compiles a condition on a field. Throws 400 naming the field. */
export const matcherOf = (compares: Comparison, condition: unknown, field: string, budget: Budget): Matcher => {
  spendLeaf(budget);
  if (Array.isArray(condition) && condition.length > MAX_LIST_VALUES) {
    throw badRequest(field, `filter holds more than ${MAX_LIST_VALUES} values`);
  }
  if (condition === null) return { test: isNothing };
  switch (compares) {
    case 'text':
      return matchText(condition, field, budget, (value) => value);
    case 'uuid':
      return matchText(condition, field, budget, (value) => value.toLowerCase());
    case 'number':
      return matchRanges(condition, field, budget, numberRanges, toNumber);
    case 'date':
      return matchRanges(condition, field, budget, dateRanges, toDateText);
    case 'time':
      return matchRanges(condition, field, budget, timeRanges, toText);
    case 'boolean':
      return matchBoolean(condition, field, budget);
    case 'list':
      return matchList(condition, field, budget);
    default:
      return matchAny(condition, field, budget);
  }
};

const isNothing = (value: unknown): boolean => value === undefined || value === null || value === '';

/** The text a pattern sees: text as it is, nothing as empty text, everything else as JSON. */
export const toSubject = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return JSON.stringify(value);
};

/** Compiles text with patterns, counting a regular expression. */
export const textOf = (source: string, field: string, budget: Budget): TextMatch => {
  const match = parseTextCondition(source, field, budget.cache);
  if (match.isRegex) spendPattern(budget);
  return match;
};

const isRegex = (condition: unknown): condition is string =>
  typeof condition === 'string' && condition.startsWith('/reg/');

const scalarText = (value: unknown, field: string): string => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw badRequest(field, 'filter must be text, or a list of texts');
};

const matchText = (condition: unknown, field: string, budget: Budget, fold: (text: string) => string): Matcher => {
  const match = Array.isArray(condition)
    ? exactly(condition.map((value) => (value === null ? '' : fold(scalarText(value, field)))))
    : textOf(isRegex(condition) ? condition : fold(scalarText(condition, field)), field, budget);
  const test = (value: unknown): boolean => match.test(typeof value === 'string' ? value : toSubject(value));
  // Absent text counts as empty, which a database sees otherwise.
  if (!match.exact || match.exact.length === 0 || match.exact.includes('')) return { test };
  if (match.exact.length === 1) return { test, condition: { op: '=', value: match.exact[0]! }, isComplete: true };
  return { test, condition: { op: 'in', values: match.exact }, isComplete: true };
};

const matchRanges = <T extends string | number>(
  condition: unknown,
  field: string,
  budget: Budget,
  parse: (part: unknown, field: string) => Range<T>[],
  read: (value: unknown) => T | undefined,
): Matcher => {
  if (isRegex(condition)) {
    const match = textOf(condition, field, budget);
    return { test: (value) => match.test(toSubject(value)) };
  }
  const ranges = (Array.isArray(condition) ? condition : [condition]).flatMap((part) => parse(part, field));
  const test = (value: unknown): boolean => {
    const point = read(value);
    return point !== undefined && isInside(ranges, point);
  };
  return { test, ...rangeCondition(ranges) };
};

const rangeCondition = <T extends Scalar>(ranges: readonly Range<T>[]): Pick<Matcher, 'condition' | 'isComplete'> => {
  const [only, ...more] = ranges;
  if (!only || more.length > 0) return {};
  if (only.lo !== undefined && only.lo === only.hi) return { condition: { op: '=', value: only.lo }, isComplete: true };
  if (only.lo !== undefined) return { condition: { op: '>=', value: only.lo }, isComplete: only.hi === undefined };
  return only.hi === undefined ? {} : { condition: { op: '<=', value: only.hi }, isComplete: true };
};

const numberRanges = (part: unknown, field: string): Range<number>[] => {
  if (typeof part === 'number') return [{ lo: part, hi: part }];
  if (typeof part === 'string') return parseNumberRanges(part, field);
  throw badRequest(field, 'filter must be a number or a range of numbers');
};

const dateRanges = (part: unknown, field: string): Range<string>[] => {
  if (typeof part === 'string') return parseDateRanges(part, field);
  throw badRequest(field, 'filter must be a date or a range of dates (RFC 3339)');
};

const timeRanges = (part: unknown, field: string): Range<string>[] => {
  if (typeof part === 'string') return parseTimeRanges(part, field);
  throw badRequest(field, 'filter must be a time of day or a range of times');
};

const toNumber = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value === '') return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
};

const toText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const DAY_LENGTH = 10;

/** A kept day stands for its first moment, so that it lies inside its own whole-day range. */
const toDateText = (value: unknown): string | undefined => {
  const text = toText(value);
  return text !== undefined && text.length === DAY_LENGTH ? `${text}T00:00:00.000000Z` : text;
};

/** True, false, or undefined when it is neither. */
export const toBoolean = (value: unknown): boolean | undefined => {
  if (value === true || value === 1) return true;
  if (value === false || value === 0) return false;
  const text = typeof value === 'string' ? value.trim().toLowerCase() : '';
  if (text === 'true' || text === '1') return true;
  return text === 'false' || text === '0' ? false : undefined;
};

const matchBoolean = (condition: unknown, field: string, budget: Budget): Matcher => {
  if (isRegex(condition)) {
    const match = textOf(condition, field, budget);
    return { test: (value) => match.test(toSubject(value ?? false)) };
  }
  const wanted = new Set(
    (Array.isArray(condition) ? condition : [condition]).map((part) => {
      const value = toBoolean(part);
      if (value === undefined) throw badRequest(field, 'filter must be true or false');
      return value;
    }),
  );
  const test = (value: unknown): boolean => wanted.has(value === true);
  // An absent value counts as false, so only `true` can be asked of a database.
  return wanted.size === 1 && wanted.has(true)
    ? { test, condition: { op: '=', value: true }, isComplete: true }
    : { test };
};

/** Every listed value must be in the list; one value is a list of one. */
const matchList = (condition: unknown, field: string, budget: Budget): Matcher => {
  const items = (Array.isArray(condition) ? condition : [condition]).map((part) => matchItem(part, field, budget));
  return {
    test: (value) => {
      const held = Array.isArray(value) ? value : [];
      return items.every((item) => held.some(item));
    },
  };
};

const matchItem = (condition: unknown, field: string, budget: Budget): ((value: unknown) => boolean) => {
  if (isObject(condition)) return matchObject(condition, field, budget);
  if (Array.isArray(condition)) throw badRequest(field, 'filter holds a list inside a list');
  return matchAny(condition, field, budget).test;
};

const matchObject = (condition: Json, field: string, budget: Budget): ((value: unknown) => boolean) => {
  const members = Object.entries(condition).map(([name, inner]) => {
    const test = isObject(inner)
      ? matchObject(inner, `${field}.${name}`, budget)
      : matcherOf('any', inner, `${field}.${name}`, budget).test;
    const path = name.split('.');
    return (value: unknown): boolean =>
      test(isObject(value) && Object.hasOwn(value, name) ? value[name] : getPath(value, path));
  });
  return (value) => isObject(value) && members.every((member) => member(value));
};

/** By what the value turns out to be: for `opts.*`, `ext.*`, `params.*` and properties of type any. */
const matchAny = (condition: unknown, field: string, budget: Budget): Matcher => {
  if (Array.isArray(condition)) {
    const parts = condition.map((part) => matchItem(part, field, budget));
    return {
      test: (value) =>
        Array.isArray(value) ? parts.every((part) => value.some(part)) : parts.some((part) => part(value)),
    };
  }
  if (typeof condition === 'boolean') {
    return {
      test: (value) => (Array.isArray(value) ? value.includes(condition) : (toBoolean(value) ?? false) === condition),
    };
  }
  if (typeof condition === 'number') {
    return { test: (value) => (Array.isArray(value) ? value.includes(condition) : toNumber(value) === condition) };
  }
  if (typeof condition !== 'string') {
    if (isObject(condition)) return { test: matchObject(condition, field, budget) };
    throw badRequest(field, 'filter cannot be used here');
  }
  const text = textOf(condition, field, budget);
  const ranges = tryRanges(condition);
  const wanted = toBoolean(condition);
  const test = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.some((item) => test(item));
    if (typeof value === 'number' && ranges) return isInside(ranges, value);
    if (typeof value === 'boolean' && wanted !== undefined) return value === wanted;
    return text.test(toSubject(value));
  };
  return { test };
};

const tryRanges = (condition: string): Range<number>[] | undefined => {
  if (!/^[\d\s.~;eE+-]+$/.test(condition)) return undefined;
  try {
    return parseNumberRanges(condition, 'filter');
  } catch {
    return undefined;
  }
};
