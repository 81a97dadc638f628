/**
 * From a request body to the document that shall be written: spellings, flat keys, masks of secrets, checks per field,
 * defaults, and the merge of a PATCH. Knows no Store and no lock, so that it can run again when a write has to be
 * computed anew from a newer version.
 */
import { badRequest, cannotApply } from '../codes.ts';
import type { Entity } from '../domains/types.ts';
import { type Field, SECRET_MASK } from './field.ts';
import { isObject, isSame, type Json, mergePatch, unflatten } from './json.ts';
import type { Resource } from './resource.ts';

export type Input = {
  /** Known fields by their true names, flat keys nested, stamps dropped. Not yet checked. */
  readonly fields: Json;
  /** Names that stand for no field. */
  readonly ignored: readonly string[];
};

/** The body of a POST, PUT or PATCH by fields. 400 when it is no object, or strict and holds unknown fields. */
export const readInput = (resource: Resource, body: unknown, isStrict: boolean): Input => {
  if (body === undefined) return { fields: {}, ignored: [] };
  if (!isObject(body)) throw badRequest('body', 'must be an object');
  const isNested = (name: string): boolean => {
    const field = resource.fields[resource.fieldOf(name)];
    return field?.compares === 'object' || field?.compares === 'any';
  };
  const fields: Json = {};
  const ignored: string[] = [];
  for (const [given, value] of Object.entries(unflatten(body, isNested))) {
    const name = resource.fieldOf(given);
    if (!Object.hasOwn(resource.fields, name)) ignored.push(given);
    else if (Object.hasOwn(fields, name) && !isSame(fields[name], value)) {
      throw badRequest(given, 'is given twice with different values');
    } else fields[name] = value;
  }
  if (isStrict && ignored.length > 0) throw badRequest(ignored[0]!, 'is not a field here');
  if (isObject(fields.ext)) fields.ext = withoutStamps(fields.ext);
  return { fields, ignored };
};

const withoutStamps = ({ ct: _ct, lwt: _lwt, ...rest }: Json): Json => rest;

const isMask = (field: Field, value: unknown): boolean => field.compares === 'secret' && value === SECRET_MASK;

/** A new document. Required fields must be there; the rest takes its default. */
export const draftNew = (resource: Resource, { fields: input }: Input, id: string): Json => {
  const draft: Json = {};
  for (const [name, field] of Object.entries(resource.fields)) {
    const given = field.generated || isMask(field, input[name]) ? undefined : input[name];
    const isAbsent = given === undefined || (given === null && !takesNull(field));
    if (name === resource.id) draft[name] = id;
    else if (!isAbsent) draft[name] = resolveMasks(field, field.check(given, name), undefined);
    else if (field.required) throw cannotApply(name, 'required');
    else if (field.fallback !== undefined) draft[name] = structuredClone(field.fallback);
  }
  return draft;
};

const takesNull = (field: Field): boolean => Array.isArray(field.schema.type) && field.schema.type.includes('null');

/** The previous document with the whole replaced: what is absent returns to its default, what is fixed or secret stays. */
export const draftReplaced = (resource: Resource, input: Input, previous: Entity): Json => {
  const draft: Json = {};
  for (const [name, field] of Object.entries(resource.fields)) {
    const value = name === resource.id ? previous[name] : replacedValue(name, field, input.fields[name], previous);
    if (value !== undefined) draft[name] = value;
  }
  return draft;
};

const replacedValue = (name: string, field: Field, sent: unknown, previous: Entity): unknown => {
  const isAbsent = sent === undefined || (sent === null && !takesNull(field)) || isMask(field, sent);
  if (field.fixed || field.generated) return keepFixed(name, field, isAbsent ? undefined : sent, previous);
  if (!isAbsent) return resolveMasks(field, field.check(sent, name), previous[name]);
  if (field.compares === 'secret') return previous[name];
  if (field.required) throw cannotApply(name, 'required');
  return structuredClone(field.fallback);
};

/** Sent back unchanged it is fine, and absent it stays; anything else cannot be applied. */
const keepFixed = (name: string, field: Field, given: unknown, previous: Entity): unknown => {
  if (given !== undefined && !isSame(field.check(given, name), previous[name])) {
    throw cannotApply(name, 'cannot be changed');
  }
  return previous[name];
};

/** The previous document with only the given fields merged in (RFC 7396). */
export const draftPatched = (resource: Resource, { fields: input }: Input, previous: Entity): Json => {
  const draft: Json = { ...previous };
  for (const [name, given] of Object.entries(input)) {
    const field = resource.fields[name]!;
    if (isMask(field, given)) continue;
    const value = patchedValue(name, field, given, previous);
    if (value === undefined) delete draft[name];
    else draft[name] = value;
  }
  return draft;
};

const patchedValue = (name: string, field: Field, given: unknown, previous: Entity): unknown => {
  if (field.fixed || field.generated) return keepFixed(name, field, given ?? undefined, previous);
  if (given !== null || takesNull(field)) {
    return resolveMasks(field, field.check(mergePatch(previous[name], given), name), previous[name]);
  }
  if (field.required) throw cannotApply(name, 'required');
  return structuredClone(field.fallback);
};

/** A mask in an object that holds secrets means "as it was"; where there was nothing, there is nothing. */
const resolveMasks = (field: Field, value: unknown, previous: unknown): unknown => {
  if (!field.secrets || !isObject(value)) return value;
  const resolved: Json = { ...value };
  for (const name of field.secrets) {
    if (resolved[name] !== SECRET_MASK) continue;
    const before = isObject(previous) ? previous[name] : undefined;
    if (before === undefined) delete resolved[name];
    else resolved[name] = before;
  }
  return resolved;
};
