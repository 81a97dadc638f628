/** What callers see of an entity: secrets masked, and what the resource adds; kept as text beside the entity. */
import type { Held } from '../domains/collection.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { SECRET_MASK } from './field.ts';
import { isObject, type Json } from './json.ts';
import type { Resource } from './resource.ts';

/** The entity with its secrets masked and without what is hidden. */
export const redact = (resource: Resource, entity: Entity): Json => {
  let shown: Json = withoutHidden(resource.hidden, entity);
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.transient) continue;
    if (field.compares === 'secret') {
      if (field.hidesAbsence || shown[name] !== undefined) shown = { ...shown, [name]: SECRET_MASK };
    } else if (field.secrets && isObject(shown[name])) {
      shown = { ...shown, [name]: maskMembers(shown[name], field.secrets) };
    }
  }
  return shown;
};

const withoutHidden = (hidden: readonly string[], entity: Entity): Json =>
  hidden.some((name) => Object.hasOwn(entity, name))
    ? Object.fromEntries(Object.entries(entity).filter(([name]) => !hidden.includes(name)))
    : (entity as Json);

const maskMembers = (value: Json, secrets: ReadonlySet<string>): Json => {
  const masked: Json = { ...value };
  for (const name of secrets) {
    if (masked[name] !== undefined && masked[name] !== '') masked[name] = SECRET_MASK;
  }
  return masked;
};

/** The item as callers see it. */
export const show = (resource: Resource, entity: Entity, domain: Domain): Json => {
  const redacted = redact(resource, entity);
  return resource.show ? resource.show(redacted, domain) : redacted;
};

/** The item as JSON text, written once per version of the entity. */
export const showText = (resource: Resource, held: Held, domain: Domain): string => {
  // What a resource computes may change without the entity.
  if (resource.show) return JSON.stringify(show(resource, held.entity, domain));
  held.shown ??= JSON.stringify(redact(resource, held.entity));
  return held.shown;
};

/** Weak validator of an entity: its last write. */
export const etagOf = (held: Held): string => {
  const ext = held.entity.ext as { lwt?: unknown } | undefined;
  return `W/"${typeof ext?.lwt === 'string' ? ext.lwt : `v${held.version}`}"`;
};
