/**
 * `export=true`: every writable field in a form that POST takes back. What the platform makes itself is left out, and
 * secrets are masked; administrators get password hashes where the setting `export.secrets` allows it.
 */
import type { Caller, Entity } from '../domains/types.ts';
import type { Engine } from './engine.ts';
import { isObject, type Json } from './json.ts';
import type { Resource } from './resource.ts';
import { redact } from './show.ts';

/** Whose numbers name an entity to people: kept, though a POST ignores them. */
const KEPT = new Set(['autokey']);

const EVERYTHING = [{ methods: ['*'], url: '*' }];

export const toExport = (engine: Engine, resource: Resource, entity: Entity, caller: Caller): Json => {
  const shown = redact(resource, entity);
  const exported: Json = {};
  for (const [name, field] of Object.entries(resource.fields)) {
    const value = shown[name];
    if (value === undefined || (field.generated && !KEPT.has(name))) continue;
    exported[name] = name === 'ext' && isObject(value) ? withoutStamps(value) : value;
  }
  const hash = entity.pwd;
  if (engine.exportsSecrets && typeof hash === 'string' && caller.covers(EVERYTHING)) exported.pwd = hash;
  return exported;
};

const withoutStamps = ({ ct: _ct, lwt: _lwt, ...rest }: Json): Json => rest;
