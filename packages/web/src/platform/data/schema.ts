/** JSON schemas as the platform writes them, taken apart into columns of tables and inputs of forms. Pure. */

export type Json = Record<string, unknown>;

export type JsonSchema = {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly JsonSchema[];
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly readOnly?: boolean;
  readonly writeOnly?: boolean;
  readonly additionalProperties?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** A value whose shape goes with another field: key → schema (domain/settings). */
  readonly 'x-by-key'?: Readonly<Record<string, JsonSchema>>;
};

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schema of one row in the answer of a list, which may also be a count. */
export const rowSchemaOf = (answer: JsonSchema): JsonSchema | undefined =>
  answer.oneOf ? answer.oneOf.map(rowSchemaOf).find((found) => found !== undefined) : answer.items;

/** What a value is to people. */
export type ValueKind =
  | 'line'
  | 'text'
  | 'secret'
  | 'number'
  | 'flag'
  | 'choice'
  | 'instant'
  /** A list of texts or numbers. */
  | 'list'
  | 'json';

export type Leaf = {
  /** `opts.title`; the way the platform names it in masks, filters, orders and faults. */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly kind: ValueKind;
  readonly required: boolean;
  /** The other keys of an open object, whose path this is. */
  readonly isRest?: boolean;
};

/** Longer texts get an input of several lines. */
const LINE_LENGTH = 1024;

const typesOf = ({ type }: JsonSchema): readonly string[] => (typeof type === 'string' ? [type] : (type ?? []));

const isPlain = (schema: JsonSchema | undefined): boolean =>
  schema !== undefined && typesOf(schema).some((type) => type === 'string' || type === 'integer' || type === 'number');

const kindOf = (schema: JsonSchema): ValueKind => {
  const types = typesOf(schema);
  if (schema.enum) return 'choice';
  if (schema.writeOnly) return 'secret';
  if (types.includes('boolean')) return 'flag';
  if (types.includes('integer') || types.includes('number')) return 'number';
  if (types.includes('array')) return isPlain(schema.items) ? 'list' : 'json';
  if (types.includes('string')) return stringKindOf(schema);
  // Text or a number: text it is, and the platform knows numbers in it.
  return schema.oneOf?.every(isPlain) ? 'line' : 'json';
};

const stringKindOf = ({ format, maxLength = 0 }: JsonSchema): ValueKind => {
  if (format === 'date-time') return 'instant';
  return maxLength > LINE_LENGTH ? 'text' : 'line';
};

/** Every field down to the members of objects whose members are known. */
export const leavesOf = (schema: JsonSchema, prefix = ''): Leaf[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, each]) => {
    const path = prefix + name;
    const required = prefix === '' && (schema.required?.includes(name) ?? false);
    if (!each.properties) return [{ path, schema: each, kind: kindOf(each), required }];
    const rest: Leaf[] = each.additionalProperties
      ? [{ path, schema: each, kind: 'json', required, isRest: true }]
      : [];
    return [...leavesOf(each, `${path}.`), ...rest];
  });

/** The value at a dotted path. */
export const valueAt = (row: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), row);

/** A copy in which the value stands at the path. */
export const withValue = (row: Json, path: string, value: unknown): Json => {
  const [name = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...row, [name]: value };
  const inner = row[name];
  return { ...row, [name]: withValue(isObject(inner) ? inner : {}, rest.join('.'), value) };
};

/** What makes `after` of `before` as a merge patch (RFC 7396); undefined when they are the same. */
export const mergePatchOf = (before: unknown, after: unknown): unknown => {
  if (!isObject(before) || !isObject(after)) {
    return JSON.stringify(before) === JSON.stringify(after) ? undefined : (after ?? null);
  }
  const patch: Json = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = after[name] === undefined ? null : mergePatchOf(before[name], after[name]);
    if (change === null ? before[name] !== undefined && before[name] !== null : change !== undefined)
      patch[name] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
};

/** `{a: {b: 1}}` → `[['a.b', 1]]`; lists stay whole. */
export const flatten = (value: Json, prefix = ''): [path: string, value: unknown][] =>
  Object.entries(value).flatMap(([name, each]) =>
    isObject(each) && Object.keys(each).length > 0 ? flatten(each, `${prefix}${name}.`) : [[prefix + name, each]],
  );
