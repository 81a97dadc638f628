/** Leaves of the prefix form of filters: `["=", field, value]` and its kin. Values are exact here unless `like` or `regex`. */
import { badRequest } from '../codes.ts';
import { type Budget, type FilterField, MAX_LIST_VALUES, spendPattern } from './filter-budget.ts';
import { compareText, isSame } from './json.ts';
import { textOf, toBoolean, toSubject } from './match.ts';
import { toDay, toInstant } from './ranges.ts';

type Test = (value: unknown) => boolean;

const ORDERED: Readonly<Record<string, (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/** Compiles a leaf. Throws 400 for an unknown operator or a value that does not fit the field. */
export const compareLeaf = (
  operator: string,
  name: string,
  field: FilterField,
  values: readonly unknown[],
  budget: Budget,
): Test => {
  const [value, extra] = values;
  if (operator === 'isnull') return (held) => isNull(held) === (value === undefined || toBoolean(value) === true);
  if (value === undefined) throw badRequest(name, `${operator} needs a value`);
  if (operator === '=') return equals(field, name, value);
  if (operator === '!=') return not(equals(field, name, value));
  const ordered = Object.hasOwn(ORDERED, operator) ? ORDERED[operator] : undefined;
  if (ordered) return compare(field, name, value, ordered);
  if (operator === 'in') return isIn(field, name, value);
  if (operator === 'like') return like(name, value, budget);
  if (operator === 'regex') return regex(name, value, extra, budget);
  if (operator === 'contains') return contains(value);
  throw badRequest('filter', `there is no operator ${JSON.stringify(operator.slice(0, 40))}`);
};

const isNull = (held: unknown): boolean => held === undefined || held === null || held === '';

const not =
  (test: Test): Test =>
  (held) =>
    !test(held);

/** Brings what the filter says into the form in which the field keeps it. */
const canonical = (field: FilterField, name: string, value: unknown): unknown => {
  if (field.compares === 'number') return canonicalNumber(name, value);
  if (field.compares === 'date') return canonicalDate(name, value);
  if (field.compares === 'boolean') {
    const flag = toBoolean(value);
    if (flag === undefined) throw badRequest(name, 'filter must be true or false');
    return flag;
  }
  return field.compares === 'uuid' && typeof value === 'string' ? value.toLowerCase() : value;
};

const canonicalNumber = (name: string, value: unknown): number => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) throw badRequest(name, 'filter must be a number');
  return number;
};

const canonicalDate = (name: string, value: unknown): string => {
  const instant = typeof value === 'string' ? (toInstant(value) ?? dayStart(value)) : undefined;
  if (instant === undefined) throw badRequest(name, 'filter must be a date or a time (RFC 3339)');
  return instant;
};

const dayStart = (value: string): string | undefined => {
  const day = toDay(value);
  return day === undefined ? undefined : `${day}T00:00:00.000000Z`;
};

/** What the field keeps, in the form `canonical` gives. */
const heldAs = (field: FilterField, held: unknown): unknown => {
  if (field.compares === 'number' && typeof held === 'string' && held !== '') return Number(held);
  if (field.compares === 'boolean') return held === true;
  if (field.compares === 'date' && typeof held === 'string') return dayStart(held) ?? held;
  return held;
};

const equals = (field: FilterField, name: string, value: unknown): Test => {
  if (value === null) return isNull;
  const wanted = canonical(field, name, value);
  return (held) => isSame(heldAs(field, held), wanted);
};

const compare = (field: FilterField, name: string, value: unknown, decide: (order: number) => boolean): Test => {
  const bound = canonical(field, name, value);
  if (typeof bound === 'number') {
    return (held) => {
      const number = heldAs(field, held);
      return typeof number === 'number' && decide(number - bound);
    };
  }
  if (typeof bound !== 'string') throw badRequest(name, 'filter must be text or a number');
  return (held) => {
    const text = heldAs(field, held);
    return typeof text === 'string' && decide(compareText(text, bound));
  };
};

const isIn = (field: FilterField, name: string, value: unknown): Test => {
  if (!Array.isArray(value)) throw badRequest(name, 'in needs a list');
  if (value.length > MAX_LIST_VALUES) throw badRequest(name, `filter holds more than ${MAX_LIST_VALUES} values`);
  const tests = value.map((item) => equals(field, name, item));
  return (held) => tests.some((test) => test(held));
};

const like = (name: string, value: unknown, budget: Budget): Test => {
  if (typeof value !== 'string') throw badRequest(name, 'like needs text');
  const match = textOf(value, name, budget);
  return (held) => match.test(toSubject(held));
};

const regex = (name: string, value: unknown, flags: unknown, budget: Budget): Test => {
  if (typeof value !== 'string') throw badRequest(name, 'regex needs text');
  if (flags !== undefined && flags !== 'i' && flags !== '') throw badRequest(name, 'regex knows only the flag i');
  spendPattern(budget);
  const test = budget.cache.compile(value, flags === 'i', name);
  return (held) => test(toSubject(held));
};

/** A list holds the value (or each of several), or a text holds the part. */
const contains = (value: unknown): Test => {
  const wanted = Array.isArray(value) ? value : [value];
  return (held) => {
    if (Array.isArray(held)) return wanted.every((item) => held.some((one) => isSame(one, item)));
    return typeof held === 'string' && wanted.every((item) => typeof item === 'string' && held.includes(item));
  };
};
