/**
 * Field kinds: each knows how to check a value that came in, how filter and order compare it, and its JSON schema.
 * A check returns the canonical value or throws a Problem that names the field.
 */
import { isUuid } from '@parley/kit/ids.ts';
import { badRequest, cannotApply } from '../codes.ts';
import type { JsonSchema } from './endpoint.ts';
import { isObject, type Json } from './json.ts';

/** How values of a field compare. `any` goes by the value itself. */
export type Comparison =
  | 'text'
  | 'number'
  | 'boolean'
  | 'uuid'
  | 'date'
  | 'time'
  | 'list'
  | 'object'
  | 'any'
  | 'secret';

export type Field = {
  readonly compares: Comparison;
  /** Must be given on POST and PUT and cannot be removed by PATCH. */
  readonly required: boolean;
  /** Value of a field that was not given; undefined leaves it out. */
  readonly fallback: unknown;
  /** May not differ once written. */
  readonly fixed: boolean;
  /** Made by the platform: what a POST says of it is ignored. */
  readonly generated: boolean;
  /** Heard, never kept or shown (the old password when it changes). */
  readonly transient?: boolean;
  /** A secret that shows its mask even where there is none, so that nobody learns which it is. */
  readonly hidesAbsence?: boolean;
  /** Further spelling understood in bodies, filters, masks and orders. */
  readonly alias?: string;
  /** Known members of an object; others are kept as they come when the object is open. */
  readonly members?: Readonly<Record<string, Field>>;
  /** Names of members that are kept secret (encrypted at rest, shown as the mask). */
  readonly secrets?: ReadonlySet<string>;
  readonly schema: JsonSchema;
  check(value: unknown, name: string): unknown;
};

export type FieldOptions = {
  required?: boolean;
  fallback?: unknown;
  fixed?: boolean;
  generated?: boolean;
  alias?: string;
  transient?: boolean;
  hidesAbsence?: boolean;
  description?: string;
};

/** What a secret looks like to whoever reads it; sent back, it means "unchanged". */
export const SECRET_MASK = '*****';

const MAX_KEY = 128;
const MAX_TEXT = 1024;
const MAX_COMMENT = 65_536;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const CONTROL = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same, but line ends and tabs belong into long texts.
const CONTROL_IN_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

export const defineField = (
  compares: Comparison,
  schema: JsonSchema,
  options: FieldOptions,
  check: Field['check'],
  more: Pick<Field, 'members' | 'secrets'> = {},
): Field => ({
  compares,
  required: options.required ?? false,
  fallback: options.fallback,
  fixed: options.fixed ?? false,
  generated: options.generated ?? false,
  ...(options.alias === undefined ? {} : { alias: options.alias }),
  ...(options.transient ? { transient: true } : {}),
  ...(options.hidesAbsence ? { hidesAbsence: true } : {}),
  ...more,
  schema: {
    ...schema,
    ...(options.description === undefined ? {} : { description: options.description }),
    ...(options.fallback === undefined ? {} : { default: options.fallback }),
    ...(options.generated ? { readOnly: true } : {}),
  },
  check,
});

/** A name, code or key: one line of 1 to 128 characters. `pattern` narrows it further. */
export const key = (options: FieldOptions & { pattern?: RegExp; maxLength?: number } = {}): Field => {
  const maxLength = options.maxLength ?? MAX_KEY;
  const schema = {
    type: 'string',
    minLength: options.required ? 1 : 0,
    maxLength,
    ...(options.pattern ? { pattern: options.pattern.source } : {}),
  };
  return defineField('text', schema, options, (value, name) => {
    if (typeof value !== 'string') throw badRequest(name, 'must be text');
    if (value === '' && options.required) throw cannotApply(name, 'required');
    if (value.length > maxLength) throw badRequest(name, `must be at most ${maxLength} characters`);
    if (CONTROL.test(value)) throw badRequest(name, 'must not contain control characters');
    if (options.pattern && value !== '' && !options.pattern.test(value))
      throw badRequest(name, 'has a form that is not allowed');
    return value;
  });
};

/** Free text, line ends allowed. */
export const text = (options: FieldOptions & { maxLength?: number } = {}): Field => {
  const maxLength = options.maxLength ?? MAX_TEXT;
  return defineField('text', { type: 'string', maxLength }, options, (value, name) => {
    if (typeof value !== 'string') throw badRequest(name, 'must be text');
    if (value === '' && options.required) throw cannotApply(name, 'required');
    if (value.length > maxLength) throw badRequest(name, `must be at most ${maxLength} characters`);
    if (CONTROL_IN_TEXT.test(value)) throw badRequest(name, 'must not contain control characters');
    return value;
  });
};

/** One word of a closed set. The set is checked with 422 by the resource where the contract asks so; here 400 guards the type. */
export const word = (options: FieldOptions & { words: readonly string[] }): Field =>
  defineField('text', { type: 'string', enum: options.words }, options, (value, name) => {
    if (typeof value !== 'string') throw badRequest(name, 'must be text');
    return value;
  });

export const integer = (options: FieldOptions & { min?: number; max?: number; nullable?: boolean } = {}): Field => {
  const min = options.min ?? Number.MIN_SAFE_INTEGER;
  const max = options.max ?? Number.MAX_SAFE_INTEGER;
  const schema = { type: options.nullable ? ['integer', 'null'] : 'integer', minimum: min, maximum: max };
  return defineField('number', schema, options, (value, name) => {
    if (value === null && options.nullable) return null;
    const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isInteger(number)) throw badRequest(name, 'must be a whole number');
    if (number < min || number > max) throw badRequest(name, `must be between ${min} and ${max}`);
    return number;
  });
};

export const bool = (options: FieldOptions = {}): Field =>
  defineField('boolean', { type: 'boolean' }, options, (value, name) => {
    if (typeof value === 'boolean') return value;
    if (value === 1 || value === '1' || value === 'true') return true;
    if (value === 0 || value === '0' || value === 'false') return false;
    throw badRequest(name, 'must be true or false');
  });

/** A UUID in any case; kept in lower case. */
export const uuid = (options: FieldOptions = {}): Field =>
  defineField('uuid', { type: 'string', format: 'uuid' }, options, (value, name) => {
    if (typeof value !== 'string') throw badRequest(name, 'must be a uuid');
    const lower = value.toLowerCase();
    if (!isUuid(lower)) throw badRequest(name, 'must be a uuid');
    return lower;
  });

/** Items of one kind, at most `maxItems`. */
export const list = (items: Field, options: FieldOptions & { maxItems?: number; isUnique?: boolean } = {}): Field => {
  const maxItems = options.maxItems ?? 10_000;
  return defineField('list', { type: 'array', items: items.schema, maxItems }, options, (value, name) => {
    if (!Array.isArray(value)) throw badRequest(name, 'must be a list');
    if (value.length > maxItems) throw badRequest(name, `must hold at most ${maxItems} items`);
    const checked = value.map((item, at) => items.check(item, `${name}[${at}]`));
    return options.isUnique ? [...new Set(checked)] : checked;
  });
};

/** An open object: known members are checked, the rest is kept as it comes. `isClosed` refuses the rest. */
export const object = (
  members: Readonly<Record<string, Field>> = {},
  options: FieldOptions & { secrets?: readonly string[]; isClosed?: boolean; maxBytes?: number } = {},
): Field => {
  const properties = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, member.schema]));
  const required = Object.keys(members).filter((name) => members[name]!.required);
  const schema = {
    type: 'object',
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: !options.isClosed,
  };
  const check = (value: unknown, name: string): Json => {
    if (!isObject(value)) throw badRequest(name, 'must be an object');
    checkBytes(value, name, options.maxBytes);
    return checkMembers(value, name, members, options.isClosed === true);
  };
  const secrets = options.secrets ? { secrets: new Set(options.secrets) } : {};
  return defineField('object', schema, options, check, { members, ...secrets });
};

const checkMembers = (value: Json, name: string, members: Readonly<Record<string, Field>>, isClosed: boolean): Json => {
  const checked: Json = {};
  for (const [member, inner] of Object.entries(value)) {
    const known = Object.hasOwn(members, member) ? members[member] : undefined;
    if (!known && isClosed) throw badRequest(`${name}.${member}`, 'is not known');
    if (inner === null && known && !allowsNull(known)) continue;
    checked[member] = known ? known.check(inner, `${name}.${member}`) : inner;
  }
  for (const [member, field] of Object.entries(members)) {
    if (field.required && checked[member] === undefined) throw badRequest(`${name}.${member}`, 'is required');
  }
  return checked;
};

const checkBytes = (value: unknown, name: string, maxBytes: number | undefined): void => {
  if (maxBytes === undefined || Buffer.byteLength(JSON.stringify(value)) <= maxBytes) return;
  throw badRequest(name, `must be at most ${maxBytes} bytes`);
};

const allowsNull = (field: Field): boolean => Array.isArray(field.schema.type) && field.schema.type.includes('null');

/** Whatever JSON can say, up to `maxBytes`. */
export const anything = (options: FieldOptions & { maxBytes?: number } = {}): Field =>
  defineField('any', {}, options, (value, name) => {
    checkBytes(value, name, options.maxBytes);
    return value;
  });

/** A secret in text: the mask means "unchanged", and nothing shows it. */
export const secret = (options: FieldOptions & { maxLength?: number } = {}): Field => {
  const maxLength = options.maxLength ?? 256;
  return defineField('secret', { type: 'string', writeOnly: true, maxLength }, options, (value, name) => {
    if (typeof value !== 'string') throw badRequest(name, 'must be text');
    if (value.length > maxLength) throw badRequest(name, `must be at most ${maxLength} characters`);
    return value;
  });
};

/** `opts` of every entity: title, comment and whatever else. */
export const opts = (members: Readonly<Record<string, Field>> = {}): Field =>
  object(
    { title: text({ maxLength: MAX_TEXT }), comment: text({ maxLength: MAX_COMMENT }), ...members },
    { fallback: {}, description: 'Options; keys beyond the known ones are kept.' },
  );

const timestamp = (description: string): Field =>
  defineField(
    'date',
    { type: 'string', format: 'date-time', readOnly: true },
    { generated: true, description },
    (value) => value,
  );

/** `ext` of every entity: stamps made by the platform, and room for keys of applications. */
export const ext = (members: Readonly<Record<string, Field>> = {}): Field =>
  object(
    { ct: timestamp('Creation time, UTC.'), lwt: timestamp('Last write time, UTC.'), ...members },
    { fallback: {}, maxBytes: 65_536, description: 'Stamps, and keys of applications.' },
  );
