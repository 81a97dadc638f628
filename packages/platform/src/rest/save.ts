/**
 * The only way to write descriptor entities: the draft is formed from the newest version while its entity is locked,
 * stamped, its unique keys reserved, and committed with its journal entry; memory changes when the commit is durable.
 * What another node changed meanwhile is read again and the draft formed anew.
 */
import type { Clock } from '@parley/kit/clock.ts';
import { type Change, Conflict, StoreUnavailable } from '@parley/kit/store/store.ts';
import { cannotApply, notFound, problem, taken } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Caller, Domains, Entity, Kind } from '../domains/types.ts';
import { createEntry } from '../journal/entry.ts';
import { isObject, isSame, type Json } from './json.ts';
import { createNumbers } from './numbers.ts';
import { createReservations, type Wanted } from './reservations.ts';
import type { Mode, Resource, SaveContext } from './resource.ts';
import { etagOf, redact } from './show.ts';

export type WriteRequest = {
  readonly resource: Resource;
  readonly domain: DomainMemory;
  readonly caller: Caller;
  readonly id: string;
  readonly mode: Mode | 'remove';
  readonly body: Json;
  readonly ifMatch?: string | undefined;
  /** Changes of further rows of the domain in the same commit; a Conflict about one of them is thrown as it is. */
  readonly along?: readonly Change[];
  /** The draft out of the newest version; undefined removes it. Runs again when the write is formed anew. */
  form(previous: Entity | undefined): Json | undefined;
};

export type Writer = {
  /** Resolves with what is held now; undefined after a removal. Throws the Problem of a write that cannot be. */
  write(request: WriteRequest): Promise<Held | undefined>;
};

type WriterParts = {
  readonly domains: Domains;
  readonly resources: readonly Resource[];
  readonly secrets: SecretBox;
  readonly clock: Clock;
  stamp(after?: string): string;
};

type Planned = {
  readonly resource: Resource;
  readonly id: string;
  readonly before: Held | undefined;
  next: Json | undefined;
};
type Plan = Map<string, Planned>;

/** How often a write is formed anew before the caller is told to come again. */
const MAX_ATTEMPTS = 20;

/** Makes the writer of an installation. */
export const createWriter = (parts: WriterParts): Writer => {
  const resources = new Map(parts.resources.map((resource) => [resource.kind, resource]));
  const reservations = createReservations();
  const numbers = createNumbers(parts.domains.store);

  const form = (request: WriteRequest): { plan: Plan; counters: Map<string, number> } => {
    const { resource, domain, id } = request;
    const held = domain.collection(resource.kind).get(id);
    if (request.ifMatch !== undefined) checkMatch(request.ifMatch, held);
    const plan: Plan = new Map();
    const counters = new Map<string, number>();
    const context: SaveContext = {
      domain,
      domains: parts.domains,
      caller: request.caller,
      mode: request.mode,
      body: request.body,
      also: (kind, other, change) => planOther(plan, domain, resources.get(kind)!, other, change),
      nextNumber: (counter) => {
        const next = numbers.next(domain.name, counter);
        counters.set(counter, next);
        return next;
      },
    };
    const draft = request.form(held?.entity);
    const own: Planned = { resource, id, before: held, next: draft };
    plan.set(`${resource.kind}/${id}`, own);
    if (draft) resource.beforeSave?.(draft, held?.entity, context);
    else if (held) resource.beforeRemove?.(held.entity, context);
    own.next = draft && finish(parts, own, draft);
    return { plan, counters };
  };

  const attempt = async (request: WriteRequest): Promise<{ held: Held | undefined } | 'again'> => {
    const { plan, counters } = form(request);
    const changed = [...plan.values()].filter(isChanged);
    const own = plan.get(`${request.resource.kind}/${request.id}`)!;
    if (changed.length === 0) return { held: own.before };
    const wanted = wantedKeys(request.domain, changed);
    const busy = reservations.busy(wanted);
    if (busy !== undefined) {
      await busy;
      return 'again';
    }
    const release = reservations.reserve(wanted);
    try {
      await commit(parts, request, changed, counters);
      return { held: request.domain.collection(request.resource.kind).get(request.id) };
    } catch (thrown) {
      await recover(thrown, request, changed, numbers);
      return 'again';
    } finally {
      release();
    }
  };

  const run = async (request: WriteRequest): Promise<Held | undefined> => {
    for (const counter of request.resource.counters) await numbers.load(request.domain, counter);
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      const outcome = await attempt(request);
      if (outcome !== 'again') return outcome.held;
    }
    throw problem('unavailable', { retryAfterSec: 1 });
  };

  return {
    write: (request) => {
      const { resource, domain, id } = request;
      const key = `${resource.kind}/${id}`;
      return resource.isExclusive(request.mode, request.body, domain.get(resource.kind, id))
        ? domain.locks.exclusive(() => run(request))
        : domain.locks.entity(key, () => run(request));
    },
  };
};

const checkMatch = (ifMatch: string, held: Held | undefined): void => {
  if (!held) throw notFound();
  const etag = etagOf(held);
  const isMatch = ifMatch.split(',').some((part) => {
    const given = part.trim();
    return given === '*' || given === etag || `W/${given}` === etag;
  });
  if (!isMatch) throw problem('precondition_failed');
};

const planOther = (
  plan: Plan,
  domain: DomainMemory,
  resource: Resource,
  id: string,
  change: (current: Entity) => Json | undefined,
): void => {
  const key = `${resource.kind}/${id}`;
  const planned = plan.get(key);
  const before = planned?.before ?? domain.collection(resource.kind).get(id);
  const current = planned ? planned.next : before?.entity;
  if (!current) return;
  plan.set(key, { resource, id, before, next: change(current) });
};

/** Seals new secrets. Stamps come with the commit, so that a write that changes nothing is known as one. */
const finish = ({ secrets }: WriterParts, { resource, before }: Planned, draft: Json): Json => {
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

const withoutStamps = (entity: Json | Entity): Json => {
  const { ext, ...rest } = entity as Json;
  if (!isObject(ext)) return entity as Json;
  const { ct: _ct, lwt: _lwt, ...own } = ext;
  return { ...rest, ext: own };
};

const isChanged = ({ before, next }: Planned): boolean =>
  before === undefined
    ? next !== undefined
    : next === undefined || !isSame(withoutStamps(before.entity), withoutStamps(next));

/** The unique keys of every changed entity; 409 when one is held by an entity that does not give it up here. */
const wantedKeys = (domain: DomainMemory, changed: readonly Planned[]): Wanted[] => {
  const leaving = new Set(changed.map(({ resource, id }) => `${resource.kind}/${id}`));
  const wanted = new Map<string, string>();
  for (const { resource, id, next } of changed) {
    for (const [key, value] of Object.entries(next ? uniqueOf(resource, next) : {})) {
      const name = `${domain.name}/${resource.kind}/${key}/${value}`;
      const holder = domain.find(resource.kind, key, value).find((other) => other !== id);
      const isHeld = holder !== undefined && !leaving.has(`${resource.kind}/${holder}`);
      if (isHeld || (wanted.get(name) ?? id) !== id) throw taken(key, value);
      wanted.set(name, id);
    }
  }
  return [...wanted].map(([name, id]) => ({ name, id }));
};

const uniqueOf = (resource: Resource, next: Json): Record<string, string> => {
  const unique: Record<string, string> = {};
  for (const key of resource.keys) {
    const value = key.isUnique ? key.valueOf(next) : undefined;
    if (value !== undefined) unique[key.name] = value;
  }
  return unique;
};

const stamped = (parts: WriterParts, { resource, before, next }: Planned): Json | undefined => {
  if (!next || !resource.fields.ext) return next;
  const previous = before?.entity.ext as { ct?: string; lwt?: string } | undefined;
  const lwt = parts.stamp(previous?.lwt);
  const own = isObject(next.ext) ? next.ext : {};
  const document: Json = { ...next, ext: { ...own, ct: previous?.ct ?? lwt, lwt } };
  return resource.stamp ? resource.stamp(document, lwt) : document;
};

const commit = async (
  parts: WriterParts,
  { domain, caller, along = [] }: WriteRequest,
  changed: readonly Planned[],
  counters: ReadonlyMap<string, number>,
): Promise<void> => {
  const ready = changed.map((planned) => ({ ...planned, next: stamped(parts, planned) }));
  const dtutc = parts.stamp();
  const changes: Change[] = ready.flatMap(({ resource, id, before, next }) => {
    const { kind } = resource;
    const expect = before?.version ?? 0;
    const row: Change = next
      ? { op: 'put', kind, id, data: next, unique: uniqueOf(resource, next), expect }
      : { op: 'drop', kind, id, expect };
    return [row, { op: 'journal', entry: entryOf(resource, id, before, next, caller, dtutc) }];
  });
  changes.push(...along);
  for (const [counter, value] of counters) {
    changes.push({ op: 'put', kind: 'counter', id: counter, data: { value }, quiet: true });
  }
  const { seq, versions } = await parts.domains.store.commit(domain.name, changes);
  for (const { resource, id, next } of ready) {
    const version = versions.get(`${resource.kind}/${id}`);
    domain.apply(resource.kind, id, next && version !== undefined ? { entity: next, version } : undefined, seq, caller);
  }
};

const entryOf = (
  resource: Resource,
  id: string,
  before: Held | undefined,
  next: Json | undefined,
  caller: Caller,
  dtutc: string,
) => {
  const main = (next ?? before?.entity)?.[resource.mainKey];
  const side = (entity: Entity | undefined) => entity && { stored: entity, shown: redact(resource, entity) };
  return createEntry(
    {
      objtype: resource.kind,
      objid: id,
      objkey: typeof main === 'string' || typeof main === 'number' ? String(main) : null,
      dtutc,
      modifierid: caller.userId,
      modifiername: caller.name,
      addr: caller.address === '' ? null : caller.address,
    },
    side(before?.entity),
    side(next),
  );
};

/** Makes the next attempt see what this one did not know; throws what another attempt would not mend. */
const recover = async (
  thrown: unknown,
  { domain, along = [] }: WriteRequest,
  changed: readonly Planned[],
  numbers: { skip(domain: string, counter: string): void },
): Promise<void> => {
  if (thrown instanceof StoreUnavailable) throw problem('unavailable', { retryAfterSec: 5, cause: thrown });
  if (!(thrown instanceof Conflict)) throw thrown;
  if (along.some((change) => 'kind' in change && change.kind === thrown.kind && change.id === thrown.id)) throw thrown;
  if (thrown.reason === 'version') {
    for (const { resource, id } of changed) await domain.refresh(resource.kind as Kind, id);
    return;
  }
  const counter = changed.find(({ resource }) => resource.counters.includes(thrown.key ?? ''));
  if (thrown.reason === 'unique' && counter && thrown.key) return numbers.skip(domain.name, thrown.key);
  if (thrown.reason === 'unique') throw taken(thrown.key ?? 'key');
  throw cannotApply('resource', 'is being changed elsewhere');
};
