/** Classes as `design/classes` tells them, what they inherit, and the collection of rows that each of them is. Pure. */
import type { Collection } from '../data/collections.ts';
import type { Json, JsonSchema } from '../data/schema.ts';

export const CLASSES_PATH = '/rest/v1/design/classes';
export const NIL = '00000000-0000-0000-0000-000000000000';

/** The platform's words (specification, classes). */
export const DATA_TYPES = [
  'string',
  'integer',
  'long',
  'float',
  'boolean',
  'datetime',
  'date',
  'time',
  'uuid',
  'enum',
  'any',
  'attachment',
] as const;
export const STORAGE_MODES = ['abstract', 'category', 'history', 'transactionlog', 'runtime'] as const;
export const INTEGRITY_MODES = ['sync_fast_read', 'sync_fast_notify', 'async'] as const;
export const CACHE_MODES = ['none', 'temp', 'full'] as const;

export type Property = Json & {
  readonly name: string;
  readonly data_type: string;
  readonly caption?: string;
  readonly required?: boolean;
  readonly multi?: boolean;
  readonly secret?: boolean;
  readonly items?: readonly unknown[];
  readonly default?: unknown;
};

export type ClassEntity = Json & {
  readonly id: string;
  readonly classname: string;
  readonly name: string;
  readonly parent_id: string;
  readonly storage_mode: string;
  readonly properties: readonly Property[];
};

/** All that classes are chosen and resolved by; 10,000 is the most a list gives. */
export const CLASS_LIST = `${CLASSES_PATH}?mask=id,classname,name,parent_id,storage_mode,properties&order=classname&limit=10000`;

type ById = ReadonlyMap<string, ClassEntity>;

export const byIdOf = (classes: readonly ClassEntity[]): ById => new Map(classes.map((each) => [each.id, each]));

/** The parents of a class, nearest first; ends at a circle. */
export const parentsOf = (parentId: string, classes: ById): ClassEntity[] => {
  const line: ClassEntity[] = [];
  for (let next = classes.get(parentId); next && !line.includes(next); next = classes.get(next.parent_id)) {
    line.push(next);
  }
  return line;
};

export type Inherited = { readonly from: ClassEntity; readonly property: Property };

/** What comes from parents, the farthest first, each replaced by a nearer one of the same name. */
export const inheritedOf = (parentId: string, classes: ById): Inherited[] => {
  const merged = new Map<string, Inherited>();
  for (const from of parentsOf(parentId, classes).toReversed()) {
    for (const property of from.properties ?? []) merged.set(property.name, { from, property });
  }
  return [...merged.values()];
};

/** True for the class itself and whatever has it among its parents: none of them can be its parent. */
export const isUnder = (each: ClassEntity, id: string, classes: ById): boolean =>
  each.id === id || parentsOf(each.parent_id, classes).some((parent) => parent.id === id);

/** The class's properties in effect. */
export const effectiveOf = (each: ClassEntity, classes: ById): Property[] => {
  const merged = new Map(inheritedOf(each.parent_id, classes).map(({ property }) => [property.name, property]));
  for (const property of each.properties ?? []) merged.set(property.name, property);
  return [...merged.values()];
};

/** The class a path below `/model/` names, and what follows it: the longest name wins, as on the platform. */
export const classAt = (
  path: string,
  classes: readonly ClassEntity[],
): { readonly found: ClassEntity; readonly rest: string } | undefined => {
  const found = classes
    .filter(({ classname }) => path === classname || path.startsWith(`${classname}/`))
    .reduce<ClassEntity | undefined>(
      (best, each) => (best && best.classname.length >= each.classname.length ? best : each),
      undefined,
    );
  return found && { found, rest: path.slice(found.classname.length + 1) };
};

const INFO: JsonSchema = { type: 'string', readOnly: true };
const MAX_LINE = 65_536;

const TYPES: Readonly<Record<string, JsonSchema>> = {
  string: { type: 'string', maxLength: MAX_LINE },
  integer: { type: 'integer' },
  int: { type: 'integer' },
  // 64 bits are more than a number of JavaScript holds; the platform takes them as text.
  long: { type: 'string', maxLength: 20 },
  float: { type: 'number' },
  boolean: { type: 'boolean' },
  datetime: { type: 'string', format: 'date-time' },
  date: { type: 'string', maxLength: 10 },
  time: { type: 'string', maxLength: 20 },
  uuid: { type: 'string', format: 'uuid', maxLength: 36 },
  any: {},
  attachment: {
    type: 'object',
    readOnly: true,
    properties: { name: INFO, size: { type: 'integer', readOnly: true }, type: INFO },
  },
};

const codesOf = (items: readonly unknown[] = []): string[] =>
  items.map((item) => (typeof item === 'object' && item !== null ? String((item as Json).code) : String(item)));

const schemaOf = (property: Property): JsonSchema => {
  const { data_type: type, caption, multi = false, secret = false } = property;
  const told = caption ? { description: caption } : {};
  const start = property.default === undefined || property.default === null ? {} : { default: property.default };
  const one = type === 'enum' ? { type: 'string', enum: codesOf(property.items) } : (TYPES[type] ?? {});
  if (multi) return { type: 'array', items: one, ...told };
  return { ...one, ...told, ...start, ...(secret ? { writeOnly: true } : {}) };
};

const EXT: JsonSchema = {
  type: 'object',
  properties: {
    ct: { type: 'string', format: 'date-time', readOnly: true },
    lwt: { type: 'string', format: 'date-time', readOnly: true },
  },
};

/** The rows of a class as a collection of the console. */
export const collectionOf = (each: ClassEntity, classes: ById): Collection => {
  const effective = effectiveOf(each, classes);
  const properties = Object.fromEntries(effective.map((property) => [property.name, schemaOf(property)]));
  const required = effective.filter((property) => property.required).map(({ name }) => name);
  const isLog = each.storage_mode === 'transactionlog';
  const input: JsonSchema = { type: 'object', properties, required };
  return {
    name: `model/${each.classname}`,
    path: `/rest/v1/model/${each.classname}`,
    domain: 'any',
    idField: 'id',
    row: {
      type: 'object',
      properties: { id: { type: 'string', maxLength: 36 }, ...properties, ext: EXT },
      required: ['id'],
    },
    create: input,
    // What was written into a log stays as it is; its form shows it all the same.
    change: input,
    canReplace: !isLog,
    canRemove: !isLog,
    canExport: true,
  };
};
