/**
 * Properties of classes: the form of a definition, the rules it must keep, what a class has in effect through its
 * parents, and the field that checks a value of it.
 */
import { ZERO_UUID } from '@parley/kit/ids.ts';
import { cannotApply } from '../codes.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { anything, bool, type Field, key, list, object, text } from '../rest/field.ts';
import { isObject } from '../rest/json.ts';
import { fieldOfType } from './property-fields.ts';

export const DATA_TYPES = [
  'string',
  'integer',
  'int',
  'long',
  'float',
  'boolean',
  'datetime',
  'date',
  'time',
  'uuid',
  'any',
  'enum',
  'attachment',
] as const;
export type DataType = (typeof DATA_TYPES)[number];

export type Property = {
  readonly name: string;
  readonly caption?: string;
  readonly data_type: DataType;
  readonly required?: boolean;
  readonly default?: unknown;
  readonly multi?: boolean;
  readonly items?: readonly unknown[];
  /** Sealed at rest and shown as the mask; only for `string`. */
  readonly secret?: boolean;
};

const MAX_PROPERTIES = 500;
const MAX_PARENTS = 32;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
/** Names an item has anyway. */
const RESERVED = new Set(['id', 'ext', '__proto__', 'constructor', 'prototype']);

/** Field of a class that holds its definitions; the rules are `checkProperties`. */
export const propertiesField = (): Field =>
  list(
    object({
      name: key({ required: true }),
      caption: text(),
      data_type: key({ required: true }),
      required: bool(),
      multi: bool(),
      items: list(anything({ maxBytes: 4096 }), { maxItems: 10_000 }),
      default: anything({ maxBytes: 65_536 }),
      secret: bool(),
    }),
    { fallback: [], maxItems: MAX_PROPERTIES },
  );

/** Throws 422 naming the property that breaks a rule. */
export const checkProperties = (properties: readonly Property[]): void => {
  const seen = new Set<string>();
  for (const property of properties) {
    const { name } = property;
    if (!NAME.test(name) || RESERVED.has(name.toLowerCase())) throw refuse(name, 'name is not allowed');
    if (seen.has(name.toLowerCase())) throw refuse(name, 'name is used twice');
    seen.add(name.toLowerCase());
    checkOne(property);
  }
};

const refuse = (name: string, reason: string): Error =>
  cannotApply('properties', `${name}: ${reason}`, { property: name });

const checkOne = (property: Property): void => {
  const { name, data_type: type, items } = property;
  if (!DATA_TYPES.includes(type)) throw refuse(name, 'data_type is not known');
  if (type === 'enum') checkItems(name, items);
  if (type === 'attachment' && (property.multi || property.default !== undefined)) {
    throw refuse(name, 'an attachment has no default and is never multi');
  }
  if (property.secret && (type !== 'string' || property.multi)) throw refuse(name, 'only one text can be secret');
  if (property.default === undefined || property.default === null) return;
  try {
    fieldOf(property).check(property.default, name);
  } catch {
    throw refuse(name, 'default does not fit its own type');
  }
};

const checkItems = (name: string, items: readonly unknown[] | undefined): void => {
  const codes = codesOf(items);
  if (codes.length === 0 || codes.length !== new Set(codes).size) throw refuse(name, 'items must be different words');
  if (codes.length !== items?.length) throw refuse(name, 'items must be texts or objects with a code');
};

/** Codes of an enumeration's items: texts, or objects with a `code`. */
const codesOf = (items: readonly unknown[] | undefined): string[] =>
  (items ?? []).flatMap((item) => {
    const code = isObject(item) ? item.code : item;
    return typeof code === 'string' && code !== '' ? [code] : [];
  });

/** The field that checks values of a property. */
export const fieldOf = (property: Property): Field => {
  const one = fieldOfType(property, codesOf(property.items));
  return property.multi ? list(one, { maxItems: 10_000 }) : one;
};

/** A class and its parents, nearest first. Throws 422 on an unknown parent or a circle. */
export const lineageOf = (domain: Domain, start: Entity): Entity[] => {
  const line = [start];
  let parent = String(start.parent_id ?? ZERO_UUID);
  while (parent !== ZERO_UUID) {
    if (line.some(({ id }) => id === parent)) throw cannotApply('parent_id', 'makes a circle');
    if (line.length > MAX_PARENTS) throw cannotApply('parent_id', 'is too deep');
    const next = domain.get('class', parent);
    if (!next) throw cannotApply('parent_id', 'unknown class');
    line.push(next);
    parent = String(next.parent_id ?? ZERO_UUID);
  }
  return line;
};

/** Properties in effect: the parents' first, each replaced whole by a child's of the same name. */
export const effectiveProperties = (line: readonly Entity[]): Property[] => {
  const merged = new Map<string, Property>();
  for (const each of line.toReversed()) {
    for (const property of (each.properties ?? []) as Property[]) {
      const before = merged.get(property.name);
      if (before && !isCompatible(before, property)) {
        throw cannotApply('properties', `${property.name}: overrides another type`, { property: property.name });
      }
      merged.set(property.name, property);
    }
  }
  return [...merged.values()];
};

const WIDER: Readonly<Record<string, readonly DataType[]>> = { integer: ['long', 'float'], int: ['long', 'float'] };

/** An override may widen a number or open the type to any; `int` is another word for `integer`. */
const isCompatible = (before: Property, after: Property): boolean => {
  if ((before.multi ?? false) !== (after.multi ?? false)) return false;
  const same = (type: DataType): DataType => (type === 'int' ? 'integer' : type);
  if (same(before.data_type) === same(after.data_type) || after.data_type === 'any') return true;
  return WIDER[before.data_type]?.includes(after.data_type) ?? false;
};
