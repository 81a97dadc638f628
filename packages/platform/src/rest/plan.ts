/** What one write changes: its own entity and those its hooks reach for, sealed and compared with what was there. */
import { taken } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Entity } from '../domains/types.ts';
import type { DomainView } from '../domains/view.ts';
import { isObject, isSame, type Json } from './json.ts';
import type { Wanted } from './reservations.ts';
import type { Resource } from './resource.ts';

export type Planned = {
  readonly resource: Resource;
  readonly id: string;
  readonly before: Held | undefined;
  next: Json | undefined;
};
export type Plan = Map<string, Planned>;

/** Adds another entity of the domain, or changes what is planned of it. */
export const planOther = (
  plan: Plan,
  domain: DomainView,
  resource: Resource,
  id: string,
  change: (current: Entity) => Json | undefined,
): void => {
  const key = `${resource.kind}/${id}`;
  const planned = plan.get(key);
  const before = planned?.before ?? domain.held(resource.kind, id);
  const current = planned ? planned.next : before?.entity;
  if (!current) return;
  plan.set(key, { resource, id, before, next: change(current) });
};

/** Seals new secrets. Stamps come with the commit, so that a write that changes nothing is known as one. */
export const sealSecrets = (secrets: SecretBox, { resource, before }: Planned, draft: Json): Json => {
  const sealed: Json = { ...draft };
  for (const [name, field] of Object.entries(resource.fields)) {
    const value = sealed[name];
    if (!field.secrets || !isObject(value)) continue;
    const previous = before?.entity[name];
    sealed[name] = sealMembers(secrets, field.secrets, value, isObject(previous) ? previous : {});
  }
  return sealed;
};

const sealMembers = (box: SecretBox, names: ReadonlySet<string>, value: Json, previous: Json): Json => {
  const sealed: Json = { ...value };
  for (const name of names) {
    const plain = sealed[name];
    if (typeof plain !== 'string' || plain === '' || plain === previous[name]) continue;
    // The same secret sent again is no change, though it would be sealed into other bytes.
    const kept = previous[name];
    const isKept = typeof kept === 'string' && box.isSealed(kept) && box.open(kept) === plain;
    sealed[name] = isKept ? kept : box.seal(plain);
  }
  return sealed;
};

/** How many more of each licensed item there are afterwards. */
export const licensedDelta = (changed: readonly Planned[]): Map<string, number> => {
  const delta = new Map<string, number>();
  const count = (resource: Resource, entity: Json | Entity | undefined, by: number): void => {
    const item = entity && resource.licensed?.(entity);
    if (item === undefined) return;
    const sum = (delta.get(item) ?? 0) + by;
    if (sum === 0) delta.delete(item);
    else delta.set(item, sum);
  };
  for (const { resource, before, next } of changed) {
    count(resource, before?.entity, -1);
    count(resource, next, 1);
  }
  return delta;
};

const withoutStamps = (entity: Json | Entity): Json => {
  const { ext, ...rest } = entity as Json;
  if (!isObject(ext)) return entity as Json;
  const { ct: _ct, lwt: _lwt, ...own } = ext;
  return { ...rest, ext: own };
};

export const isChanged = ({ before, next }: Planned): boolean =>
  before === undefined
    ? next !== undefined
    : next === undefined || !isSame(withoutStamps(before.entity), withoutStamps(next));

/** The unique keys of every changed entity; 409 when one is held by an entity that does not give it up here. */
export const wantedKeys = (domain: DomainView, changed: readonly Planned[]): Wanted[] => {
  const leaving = new Set(changed.map(({ resource, id }) => `${resource.kind}/${id}`));
  const wanted = new Map<string, string>();
  const isTaken = ({ resource: { kind }, id }: Planned, key: string, value: string): boolean => {
    const holder = domain.holders(kind, key, value).find((other) => other !== id);
    return holder !== undefined && !leaving.has(`${kind}/${holder}`);
  };
  for (const planned of changed) {
    const { resource, id, before, next } = planned;
    const held = uniqueOf(resource, before?.entity);
    for (const [key, value] of Object.entries(uniqueOf(resource, next))) {
      const name = `${domain.name}/${resource.kind}/${key}/${value}`;
      const other = wanted.get(name) ?? id;
      // What it held before nobody else holds.
      if (other !== id || (held[key] !== value && isTaken(planned, key, value))) throw taken(key, value);
      wanted.set(name, id);
    }
  }
  return [...wanted].map(([name, id]) => ({ name, id }));
};

/** Unique keys of an entity by their names; none of nothing. */
export const uniqueOf = (resource: Resource, next: Json | Entity | undefined): Record<string, string> => {
  const unique: Record<string, string> = {};
  for (const key of next ? resource.keys : []) {
    const value = key.isUnique ? key.valueOf(next!) : undefined;
    if (value !== undefined) unique[key.name] = value;
  }
  return unique;
};
