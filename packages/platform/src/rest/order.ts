/**
 * The `order` parameter: JSON (`[{"login":"asc"},"name"]`, one object, one text) or plain `login,-name`. `id` always
 * closes it, so that ties never move between pages. What is absent comes last when ascending.
 */
import { badRequest } from '../codes.ts';
import type { Comparison } from './field.ts';
import type { ResolveField } from './filter.ts';
import { compareText, getPath, isObject, type Json } from './json.ts';

export type OrderKey = {
  readonly path: readonly string[];
  readonly compares: Comparison;
  readonly direction: 'asc' | 'desc';
};
export type Order = {
  /** Names this order among others, so that a sorted list can be kept for it. */
  readonly name: string;
  readonly keys: readonly OrderKey[];
  compare(left: Json, right: Json): number;
};

const MAX_KEYS = 8;

/** Parses the parameter; absent or empty means by id alone. Throws 400. */
export const parseOrder = (source: string | undefined, resolve: ResolveField, idField = 'id'): Order => {
  const named = source === undefined || source.trim() === '' ? [] : readKeys(source.trim());
  if (named.length > MAX_KEYS) throw badRequest('order', `must not name more than ${MAX_KEYS} fields`);
  const keys = named.map(({ name, direction }): OrderKey => {
    const field = resolve(name);
    if (!field) throw badRequest('order', `there is no field ${JSON.stringify(name.slice(0, 100))}`);
    if (field.compares === 'secret') throw badRequest('order', `${name} is secret`);
    return { ...field, direction };
  });
  return createOrder(keys, idField);
};

type Named = { readonly name: string; readonly direction: 'asc' | 'desc' };

const readKeys = (source: string): Named[] => {
  if (!/^[[{"]/.test(source)) return source.split(',').map((part) => readWord(part.trim()));
  let parsed: unknown;
  try {
    parsed = JSON.parse(source);
  } catch {
    throw badRequest('order', 'is not JSON');
  }
  return (Array.isArray(parsed) ? parsed : [parsed]).flatMap((part) => {
    if (typeof part === 'string') return part.split(',').map((word) => readWord(word.trim()));
    if (!isObject(part)) throw badRequest('order', 'must hold names of fields or objects of them');
    return Object.entries(part).map(([name, direction]) => ({ name, direction: readDirection(direction) }));
  });
};

const readWord = (word: string): Named => {
  const [name = '', direction, ...rest] = word.split(/[\s:]+/);
  if (name === '' || rest.length > 0) throw badRequest('order', 'names an empty field');
  if (direction !== undefined) return { name, direction: readDirection(direction) };
  return name.startsWith('-') ? { name: name.slice(1), direction: 'desc' } : { name, direction: 'asc' };
};

const readDirection = (direction: unknown): 'asc' | 'desc' => {
  const word = typeof direction === 'string' ? direction.toLowerCase() : '';
  if (word === 'asc' || word === 'desc') return word;
  throw badRequest('order', 'direction must be asc or desc');
};

const createOrder = (keys: readonly OrderKey[], idField: string): Order => {
  const comparers = keys.map(comparerOf);
  const byId = (left: Json, right: Json): number => compareText(String(left[idField]), String(right[idField]));
  const compare = (left: Json, right: Json): number => {
    for (const comparer of comparers) {
      const order = comparer(left, right);
      if (order !== 0) return order;
    }
    return byId(left, right);
  };
  const name = keys.map(({ path, direction }) => `${JSON.stringify(path)}${direction}`).join();
  return { name, keys, compare: keys.length === 0 ? byId : compare };
};

const comparerOf = ({ path, direction }: OrderKey): ((left: Json, right: Json) => number) => {
  const sign = direction === 'asc' ? 1 : -1;
  if (path.length === 1) {
    const [name] = path as [string];
    return (left, right) => sign * compareValues(left[name], right[name]);
  }
  return (left, right) => sign * compareValues(getPath(left, path), getPath(right, path));
};

/** Numbers, then text, then booleans, then lists and objects by their JSON; what is absent last. */
const rankOf = (value: unknown): number => {
  if (value === undefined || value === null) return 4;
  if (typeof value === 'number') return 0;
  if (typeof value === 'string') return 1;
  return typeof value === 'boolean' ? 2 : 3;
};

const compareValues = (left: unknown, right: unknown): number => {
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  const order = rankOf(left) - rankOf(right);
  if (order !== 0) return order;
  if (typeof left === 'boolean') return Number(left) - Number(right);
  return rankOf(left) === 4 ? 0 : compareText(JSON.stringify(left), JSON.stringify(right));
};
