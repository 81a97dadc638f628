/** Between the values of an item and what stands in the inputs of its form, which is always text. Pure. */
import { isObject, type Json, type Leaf, valueAt, withValue } from './schema.ts';

/** Input → its text. */
export type Raw = Readonly<Record<string, string>>;

/** Names an input among those of a form. */
export const keyOf = ({ path, isRest }: Leaf): string => (isRest ? `${path}.*` : path);

/** The members of an open object that have no input of their own. */
const restOf = (leaf: Leaf, item: Json): Json => {
  const value = valueAt(item, leaf.path);
  const known = leaf.schema.properties ?? {};
  return Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).filter(([name]) => !Object.hasOwn(known, name)),
  );
};

const toText = (leaf: Leaf, value: unknown): string => {
  if (value === undefined || value === null) return '';
  if (leaf.kind === 'json') return JSON.stringify(value, null, 2);
  if (leaf.kind === 'list' && Array.isArray(value)) return value.join('\n');
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const textOf = (leaf: Leaf, item: Json): string => {
  if (leaf.kind === 'secret') return '';
  if (!leaf.isRest) return toText(leaf, valueAt(item, leaf.path));
  const rest = restOf(leaf, item);
  return Object.keys(rest).length === 0 ? '' : JSON.stringify(rest, null, 2);
};

/** The texts of an item. */
export const toRaw = (leaves: readonly Leaf[], item: Json): Raw =>
  Object.fromEntries(leaves.map((leaf) => [keyOf(leaf), textOf(leaf, item)]));

/** The texts of an item that does not exist yet: defaults where they are plain. */
export const newRaw = (leaves: readonly Leaf[]): Raw =>
  Object.fromEntries(
    leaves.map((leaf) => {
      const { default: given } = leaf.schema;
      const isPlain = typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean';
      return [keyOf(leaf), isPlain ? String(given) : ''];
    }),
  );

export type InputFault = 'number' | 'json' | 'object';
type Parsed = { readonly value: unknown } | { readonly fault: InputFault };

/** Empty is no value; except that an empty line is an empty text where one stood before. */
const parse = (leaf: Leaf, text: string): Parsed => {
  const trimmed = text.trim();
  if (trimmed === '') return { value: undefined };
  switch (leaf.kind) {
    case 'number':
      return Number.isFinite(Number(trimmed)) ? { value: Number(trimmed) } : { fault: 'number' };
    case 'flag':
      return { value: trimmed === 'true' };
    case 'list':
      return parseList(leaf, text);
    case 'json':
      return parseJson(leaf, trimmed);
    default:
      return { value: text };
  }
};

const parseList = (leaf: Leaf, text: string): Parsed => {
  const items = text.split('\n').map((line) => line.trim());
  const given = items.filter((line) => line !== '');
  const { type } = leaf.schema.items ?? {};
  if (type !== 'integer' && type !== 'number') return { value: given };
  const numbers = given.map(Number);
  return numbers.every(Number.isFinite) ? { value: numbers } : { fault: 'number' };
};

const parseJson = (leaf: Leaf, text: string): Parsed => {
  try {
    const value: unknown = JSON.parse(text);
    return leaf.isRest && !isObject(value) ? { fault: 'object' } : { value };
  } catch {
    return { fault: 'json' };
  }
};

export type Read = { readonly item: Json; readonly faults: Readonly<Record<string, InputFault>> };

/** The item as the inputs that were changed since `initial` make it out of `before`. */
export const readItem = (leaves: readonly Leaf[], before: Json, initial: Raw, raw: Raw): Read => {
  let item = before;
  const faults: Record<string, InputFault> = {};
  for (const leaf of leaves) {
    const key = keyOf(leaf);
    const text = raw[key] ?? '';
    if (text === (initial[key] ?? '')) continue;
    const parsed = parse(leaf, text);
    if ('fault' in parsed) faults[key] = parsed.fault;
    else item = withValue(item, leaf.path, placedValue(leaf, item, parsed.value));
  }
  return { item, faults };
};

const placedValue = (leaf: Leaf, item: Json, value: unknown): unknown => {
  if (!leaf.isRest) return value;
  const known = leaf.schema.properties ?? {};
  const present = valueAt(item, leaf.path);
  const kept = Object.entries(isObject(present) ? present : {}).filter(([name]) => Object.hasOwn(known, name));
  return { ...Object.fromEntries(kept), ...(isObject(value) ? value : {}) };
};

/** A copy without what is undefined, for a body. */
export const withoutNothing = (item: Json): Json =>
  Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [[name, isObject(value) ? withoutNothing(value) : value]];
    }),
  );
