/** JSON documents as the engine handles them: paths, merge patch (RFC 7396), equality, and the bounds of what is let in. */
import { badRequest } from '../codes.ts';

export type Json = { [key: string]: unknown };

/** Nesting of a request body; deeper is refused before anything recurses over it. */
const MAX_DEPTH = 32;
/** Keys of all objects of one body together. */
const MAX_KEYS = 10_000;

/** Names that would reach an object's prototype. */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a dotted path; a key that itself holds the dots is found when no nested one is. */
export const getPath = (document: unknown, path: readonly string[]): unknown => {
  let node = document;
  for (const part of path) {
    if (!isObject(node) || !Object.hasOwn(node, part)) return undefined;
    node = node[part];
  }
  return node;
};

/** Sets the value at a path, making the objects on the way. */
export const setPath = (document: Json, path: readonly string[], value: unknown): void => {
  let node = document;
  for (const part of path.slice(0, -1)) {
    if (!isObject(node[part])) node[part] = {};
    node = node[part] as Json;
  }
  node[path.at(-1)!] = value;
};

/** RFC 7396: objects merge deeply, arrays are replaced whole, null removes. Returns a new value; shares what is unchanged. */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch;
  const merged: Json = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
};

/** Deep equality of JSON values; the order of keys does not matter. */
export const isSame = (left: unknown, right: unknown): boolean => {
  if (left === right) return true;
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, at) => isSame(item, right[at]));
  }
  if (!isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left).filter((key) => left[key] !== undefined);
  const others = Object.keys(right).filter((key) => right[key] !== undefined);
  return (
    keys.length === others.length && keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]))
  );
};

const checkString = (value: string, field: string): void => {
  if (value.includes('\0')) throw badRequest(field, 'must not contain the character U+0000');
  if (!value.isWellFormed()) throw badRequest(field, 'is not well-formed Unicode');
};

/** Refuses (400) what no later step should have to think of: depth, number of keys, prototype names, broken text. */
export const checkShape = (body: unknown): void => {
  checkNode(body, 'body', 0, { keys: 0 });
};

type Count = { keys: number };

const checkNode = (value: unknown, field: string, depth: number, count: Count): void => {
  if (typeof value === 'string') checkString(value, field);
  // `1e999` is a number to JSON and infinite to us; written out again it would be null.
  if (value === Infinity || value === -Infinity) throw badRequest(field, 'is too large a number');
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_DEPTH) throw badRequest(field, `must not be nested deeper than ${MAX_DEPTH}`);
  if (Array.isArray(value)) for (const item of value) checkNode(item, field, depth + 1, count);
  else {
    for (const [key, inner] of Object.entries(value)) {
      checkKey(key, field, count);
      checkNode(inner, depth === 0 ? key : field, depth + 1, count);
    }
  }
};

const checkKey = (key: string, field: string, count: Count): void => {
  count.keys += 1;
  if (count.keys > MAX_KEYS) throw badRequest(field, `must not hold more than ${MAX_KEYS} keys`);
  if (FORBIDDEN_KEYS.has(key)) throw badRequest(key, 'is no name for a field');
  checkString(key, field);
};

/**
 * `{"opts.title": "x"}` means `{"opts": {"title": "x"}}`. The same path given both ways with different values is
 * refused. Only dotted names whose first part is one of `roots` are taken apart.
 */
export const unflatten = (body: Json, roots: (name: string) => boolean): Json => {
  if (!Object.keys(body).some((key) => key.includes('.'))) return body;
  const result: Json = {};
  for (const [key, value] of Object.entries(body)) {
    if (!key.includes('.') || !roots(key.slice(0, key.indexOf('.')))) {
      result[key] = isObject(result[key]) && isObject(value) ? joinBoth(value, result[key], key) : value;
      continue;
    }
    placeFlat(result, key, value);
  }
  return result;
};

const placeFlat = (result: Json, key: string, value: unknown): void => {
  const path = key.split('.');
  const forbidden = path.find((part) => FORBIDDEN_KEYS.has(part));
  if (forbidden !== undefined) throw badRequest(forbidden, 'is no name for a field');
  const before = getPath(result, path);
  const holder = getPath(result, path.slice(0, -1));
  const differs = before !== undefined && !isSame(before, value);
  if (differs || (holder !== undefined && !isObject(holder)))
    throw badRequest(key, 'is given twice with different values');
  detach(result, path.slice(0, -1));
  setPath(result, path, value);
};

/** Copies the objects along a path, so that setting below them leaves the caller's own alone. */
const detach = (document: Json, path: readonly string[]): void => {
  let node = document;
  for (const part of path) {
    if (!isObject(node[part])) return;
    node[part] = { ...node[part] };
    node = node[part] as Json;
  }
};

const joinBoth = (nested: Json, flat: Json, field: string): Json => {
  const joined: Json = { ...nested };
  for (const [key, value] of Object.entries(flat)) {
    if (!Object.hasOwn(joined, key)) joined[key] = value;
    else if (isObject(joined[key]) && isObject(value)) joined[key] = joinBoth(joined[key], value, `${field}.${key}`);
    else if (!isSame(joined[key], value)) throw badRequest(`${field}.${key}`, 'is given twice with different values');
  }
  return joined;
};

/** Nested objects become dotted keys; arrays stay; empty objects vanish; a nested value wins over a dotted key. */
export const flatten = (document: Json): Json => {
  const flat: Json = {};
  const nested: Json = {};
  const visit = (node: Json, prefix: string): void => {
    for (const [key, value] of Object.entries(node)) {
      if (isObject(value)) visit(value, `${prefix}${key}.`);
      else if (prefix === '') flat[key] = value;
      else nested[`${prefix}${key}`] = value;
    }
  };
  visit(document, '');
  return { ...flat, ...nested };
};

const SURROGATES_UP = 0xd800;

/** Moves surrogates above the rest of the basic plane, so that units compare as their code points would. */
const rank = (unit: number): number => {
  if (unit < SURROGATES_UP) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
};

/** Orders text by code point, as both databases do. */
export const compareText = (left: string, right: string): number => {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const a = left.charCodeAt(at);
    const b = right.charCodeAt(at);
    if (a !== b) return rank(a) - rank(b);
  }
  return left.length - right.length;
};
