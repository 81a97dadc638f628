/** A field per data type: strict types, plus the texts that stand for numbers, booleans and times. */
import { badRequest } from '../codes.ts';
import { anything, bool, defineField, type Field, integer, secret, text, uuid } from '../rest/field.ts';
import { toDay, toInstant, toTimeOfDay } from '../rest/ranges.ts';

type Typed = { readonly data_type: string; readonly secret?: boolean };

const MAX_INT = 2_147_483_647;
const MAX_LONG = 9_223_372_036_854_775_807n;
const MAX_ANY_BYTES = 65_536;
const MAX_STRING = 65_536;

const long = (): Field =>
  defineField('number', { type: ['integer', 'string'], format: 'int64' }, {}, (value, name) => {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
    if (typeof value !== 'string' || !/^-?\d{1,19}$/.test(value))
      throw badRequest(name, 'must be a whole number of 64 bits');
    const number = BigInt(value);
    if (number > MAX_LONG || number < -MAX_LONG - 1n) throw badRequest(name, 'must be a whole number of 64 bits');
    const small = Number(number);
    return Number.isSafeInteger(small) ? small : number.toString();
  });

const float = (): Field =>
  defineField('number', { type: 'number' }, {}, (value, name) => {
    const number =
      typeof value === 'string' && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(value.trim())
        ? Number(value)
        : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) throw badRequest(name, 'must be a number');
    return number;
  });

const timed = (compares: 'date' | 'time', format: string, read: (source: string) => string | undefined): Field =>
  defineField(compares, { type: 'string', format }, {}, (value, name) => {
    const canonical = typeof value === 'string' ? read(value) : undefined;
    if (canonical === undefined) throw badRequest(name, `must be a ${format} (RFC 3339)`);
    return canonical;
  });

const dateTime = (source: string): string | undefined => {
  const day = toDay(source);
  return day === undefined ? toInstant(source) : `${day}T00:00:00.000000Z`;
};

const enumeration = (codes: readonly string[]): Field => {
  const known = new Set(codes);
  return defineField('text', { type: 'string', enum: codes }, {}, (value, name) => {
    if (typeof value !== 'string' || !known.has(value)) throw badRequest(name, 'is none of the listed words');
    return value;
  });
};

/** What an attachment says of its file; the file itself has an address of its own. */
const attachment = (): Field =>
  defineField(
    'object',
    {
      type: 'object',
      readOnly: true,
      properties: {
        name: { type: 'string' },
        size: { type: 'integer' },
        md5: { type: 'string' },
        type: { type: 'string' },
      },
    },
    { generated: true },
    (value) => value,
  );

/** The field of one value (not of a list) of this type. */
export const fieldOfType = (property: Typed, codes: readonly string[]): Field => {
  if (property.secret) return secret({ maxLength: 4096 });
  switch (property.data_type) {
    case 'integer':
    case 'int':
      return integer({ min: -MAX_INT - 1, max: MAX_INT });
    case 'long':
      return long();
    case 'float':
      return float();
    case 'boolean':
      return bool();
    case 'datetime':
      return timed('date', 'date-time', dateTime);
    case 'date':
      return timed('date', 'date', (source) => toDay(source) ?? toInstant(source)?.slice(0, 10));
    case 'time':
      return timed('time', 'time', toTimeOfDay);
    case 'uuid':
      return uuid();
    case 'enum':
      return enumeration(codes);
    case 'attachment':
      return attachment();
    case 'any':
      return anything({ maxBytes: MAX_ANY_BYTES });
    default:
      return text({ maxLength: MAX_STRING });
  }
};
