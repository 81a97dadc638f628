/** JSON schemas of a resource, from the same fields that check its bodies. */
import type { JsonSchema } from './endpoint.ts';
import type { Field } from './field.ts';
import type { Resource } from './resource.ts';

type Fields = Readonly<Record<string, Field>>;

const properties = (fields: Fields): Record<string, JsonSchema> =>
  Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));

const without = (fields: Fields, drop: (field: Field, name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, field]) => !drop(field, name)));

/** What an item looks like when it is read. */
export const itemSchema = ({ fields, id }: Resource): JsonSchema => ({
  type: 'object',
  properties: properties(without(fields, (field) => field.transient === true)),
  required: [id],
});

/** What POST and PUT take. */
export const writeSchema = ({ fields, id }: Resource): JsonSchema => ({
  type: 'object',
  properties: properties(without(fields, (field) => field.generated)),
  required: Object.keys(fields).filter((name) => name !== id && fields[name]!.required),
});

/** What PATCH takes: any part of it. */
export const patchSchema = ({ fields }: Resource): JsonSchema => ({
  type: 'object',
  properties: properties(without(fields, (field) => field.generated || field.fixed)),
});

export const LOOKUP_BODY: JsonSchema = { oneOf: [{ type: 'string' }, { type: 'number' }], description: 'A key value.' };
export const LOOKUP_ANSWER: JsonSchema = { type: 'array', items: { type: 'string' }, minItems: 1 };
