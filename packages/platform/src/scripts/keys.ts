/** Keys of objects: what they hold by their kind, and every expression and transfer among them. */
import { isObject, type Json } from '../rest/json.ts';
import type { Element, Key, ScriptObject } from './element.ts';
import { ScriptFault } from './fault.ts';
import { expressionsOf } from './template.ts';
import { isVariableName } from './variables.ts';

export type KeyFault = { readonly key: string; readonly reason: string };

/** Longest text of one key, in characters. */
const MAX_KEY_TEXT = 65_536;
const DEFAULT_MAX_ITEMS = 1000;

/** What follows the object where nothing else is said. */
const TRANSFER: Key = { kind: 'transfer' };

/** Keys of an element's objects, the common `transfer` among them. */
export const keysOf = ({ keys, isEnd }: Element): Readonly<Record<string, Key>> =>
  isEnd ? keys : { transfer: TRANSFER, ...keys };

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_KEY_TEXT;
const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

const isOfNames = (value: unknown, test: (name: string, inner: unknown) => boolean): boolean =>
  isObject(value) && Object.entries(value).every(([name, inner]) => test(name, inner));

const isInput = (input: unknown): boolean => isVariableName(isObject(input) ? input.name : input);

/** Reasons by kind; undefined where the value fits. */
const CHECKS: Readonly<Record<Key['kind'], (value: unknown, key: Key) => string | undefined>> = {
  template: (value) => templateFault(value),
  expression: (value) => (isText(value) ? undefined : 'must be an expression'),
  source: (value) => (isText(value) ? undefined : 'must be text'),
  text: (value) => (isText(value) ? undefined : 'must be text'),
  flag: (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
  transfer: (value) =>
    Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : 'must be the number of an object, or 0',
  variable: (value) => (isVariableName(value) ? undefined : 'must be the name of a variable'),
  expressions: (value) =>
    isOfNames(value, (name, inner) => isVariableName(name) && isText(inner))
      ? undefined
      : 'must be names with expressions',
  variables: (value, { words }) =>
    isOfNames(value, (name, inner) => (!words || words.includes(name)) && isVariableName(inner))
      ? undefined
      : `must say into which variables ${words ? words.join(', ') : 'its parts'} go`,
  word: (value, { words = [] }) => (words.includes(value as string) ? undefined : `must be one of ${words.join(', ')}`),
  number: (value, { min = 0, max = Number.MAX_SAFE_INTEGER }) =>
    typeof value === 'number' && value >= min && value <= max ? undefined : `must be a number from ${min} to ${max}`,
  list: (value, { maxItems = DEFAULT_MAX_ITEMS }) =>
    Array.isArray(value) && value.length <= maxItems && value.every(isObject)
      ? undefined
      : `must be a list of at most ${maxItems} objects`,
  inputs: (value) =>
    Array.isArray(value) && value.every(isInput) ? undefined : 'must be names, or objects with a name',
};

const templateFault = (value: unknown): string | undefined => {
  try {
    expressionsOf(value);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof ScriptFault) return thrown.message;
    throw thrown;
  }
};

/** The first key of an object that does not hold what its element wants. */
export const checkKeys = (object: Json, keys: Readonly<Record<string, Key>>, prefix = ''): KeyFault | undefined => {
  for (const [name, key] of Object.entries(keys)) {
    const fault = checkKey(object[name], key, prefix + name);
    if (fault) return fault;
  }
  return undefined;
};

const checkKey = (value: unknown, key: Key, name: string): KeyFault | undefined => {
  if (isAbsent(value)) return key.required ? { key: name, reason: 'is required' } : undefined;
  const reason = CHECKS[key.kind](value, key);
  if (reason !== undefined) return { key: name, reason };
  if (key.kind !== 'list') return undefined;
  for (const [at, item] of (value as Json[]).entries()) {
    const fault = checkKeys(item, key.items ?? {}, `${name}[${at}].`);
    if (fault) return fault;
  }
  return undefined;
};

/** Goes over every value of an object with its key, those in lists too. Values may be of any shape. */
const visitKeys = (
  object: Json,
  keys: Readonly<Record<string, Key>>,
  visit: (name: string, key: Key, value: unknown) => void,
  prefix = '',
): void => {
  for (const [name, key] of Object.entries(keys)) {
    const value = object[name];
    if (isAbsent(value)) continue;
    if (key.kind !== 'list') visit(prefix + name, key, value);
    else if (Array.isArray(value)) {
      for (const [at, item] of value.entries()) {
        if (isObject(item)) visitKeys(item, key.items ?? {}, visit, `${prefix}${name}[${at}].`);
      }
    }
  }
};

/** Where an object can lead. */
export const transfersOf = (object: Json, element: Element): { readonly key: string; readonly to: number }[] => {
  const found: { key: string; to: number }[] = [];
  visitKeys(object, keysOf(element), (key, { kind }, value) => {
    if (kind === 'transfer') found.push({ key, to: Number(value) });
  });
  return found;
};

/** A text that has to compile, and where it stands. */
export type Source = {
  readonly oId: number;
  readonly key: string;
  readonly source: string;
  readonly isCode: boolean;
};

/** Every expression of an object, and its statements. */
export const sourcesOf = (object: ScriptObject, element: Element): Source[] => {
  const found: Source[] = [];
  visitKeys(object, keysOf(element), (name, { kind }, value) => {
    for (const [key, source] of textsOf(name, kind, value)) {
      if (typeof source === 'string') found.push({ oId: object.oId, key, source, isCode: kind === 'source' });
    }
  });
  return found;
};

/** The texts of a value that are JavaScript, by the names of their places. */
const textsOf = (name: string, kind: Key['kind'], value: unknown): [string, unknown][] => {
  if (kind === 'expression' || kind === 'source') return [[name, value]];
  if (kind === 'expressions' && isObject(value)) {
    return Object.entries(value).map(([inner, source]) => [`${name}.${inner}`, source]);
  }
  if (kind !== 'template' || templateFault(value) !== undefined) return [];
  return expressionsOf(value).map((source) => [name, source]);
};
