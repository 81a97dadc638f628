/** The `mask` parameter: which fields come back, by dotted paths; unknown names are ignored, `*` means all. */

import { badRequest } from '../codes.ts';
import { flatten, getPath, isObject, type Json, setPath } from './json.ts';

type Pick = { readonly path: readonly string[]; readonly shown: readonly string[] };
export type Mask = { readonly name: string; apply(document: Json): Json };

const MAX_NAMES = 500;

/** Everything. */
const FULL_MASK: Mask = { name: '*', apply: (document) => document };

/** Parses the parameter; undefined when it is absent or empty. `fieldOf` gives the true name of a first part. */
export const parseMask = (source: string | undefined, fieldOf: (name: string) => string): Mask | undefined => {
  if (source === undefined) return undefined;
  const names = source
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length > MAX_NAMES) throw badRequest('mask', `must not name more than ${MAX_NAMES} fields`);
  return names.length === 0 ? undefined : maskOf(names, fieldOf);
};

/** A mask out of field names; a name that is another spelling comes back in that spelling. */
export const maskOf = (names: readonly string[], fieldOf: (name: string) => string): Mask => {
  if (names.includes('*')) return FULL_MASK;
  const picks = names.map((name): Pick => {
    const shown = name.split('.');
    return { path: [fieldOf(shown[0]!), ...shown.slice(1)], shown };
  });
  // Whole subtrees first, so that a part named beside its whole finds the whole.
  picks.sort((left, right) => left.path.length - right.path.length);
  return { name: names.join(), apply: (document) => pickAll(document, picks) };
};

const pickAll = (document: Json, picks: readonly Pick[]): Json => {
  const picked: Json = {};
  for (const { path, shown } of picks) {
    if (path.length === 1) {
      const value = document[path[0]!];
      if (value !== undefined && Object.hasOwn(document, path[0]!)) picked[shown[0]!] = value;
    } else pickDeep(document, picked, path, shown);
  }
  return picked;
};

const pickDeep = (document: Json, picked: Json, path: readonly string[], shown: readonly string[]): void => {
  const value = getPath(document, path);
  if (value === undefined || getPath(picked, shown) !== undefined) return;
  if (isObject(picked[shown[0]!]) && picked[shown[0]!] === document[path[0]!]) return;
  setPath(picked, shown, value);
};

/** `flat=true`: nested objects become dotted keys. */
export const applyFlat = (document: Json, isFlat: boolean): Json => (isFlat ? flatten(document) : document);
