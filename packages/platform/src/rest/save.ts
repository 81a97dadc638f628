/**
 * The only way to write descriptor entities: the draft is formed from the newest version while its entity is locked,
 * stamped, its unique keys reserved, and committed with its journal entry; memory changes when the commit is durable.
 * What another node changed meanwhile, of the entity or of anything the draft was judged by, is read again and the
 * draft formed anew: so no node leaves behind a reference to what another has just removed.
 */
import { type Change, Conflict, StoreUnavailable } from '@parley/kit/store/store.ts';
import { cannotApply, problem, taken } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller, Entity, Kind } from '../domains/types.ts';
import { createEntry } from '../journal/entry.ts';
import { counted, type Outcome } from './counted.ts';
import { createForm, type Formed, type WriteRequest, type WriterParts } from './form.ts';
import { isObject, type Json } from './json.ts';
import { createNumbers, type Numbers } from './numbers.ts';
import { type Planned, uniqueOf } from './plan.ts';
import type { Usage } from './quota.ts';
import { createReservations } from './reservations.ts';
import type { Resource } from './resource.ts';
import { redact } from './show.ts';

export type Writer = {
  /** Resolves with what is held now; undefined after a removal. Throws the Problem of a write that cannot be. */
  write(request: WriteRequest): Promise<Held | undefined>;
  /** Throws when the licence has no place for a new entity; for before something slow begins. */
  admit(resource: Resource, entity: Entity): Promise<void>;
};

/** How often a write is formed anew before the caller is told to come again. */
const MAX_ATTEMPTS = 20;

/** Makes the writer of an installation. */
export const createWriter = (parts: WriterParts): Writer => {
  const resources = new Map(parts.resources.map((resource) => [resource.kind, resource]));
  const reservations = createReservations();
  const numbers = createNumbers(parts.domains.store);
  const form = createForm(parts, resources, numbers);

  const attempt = async (request: WriteRequest): Promise<Outcome> => {
    const { domain } = request;
    const since = domain.current();
    // Forming runs again when rows had to be read for it; the number it took stays.
    const counters = new Map<string, number>();
    const formed = await domain.view((view) => form(request, view, since, counters));
    if (formed.changed.length === 0) return { held: formed.held };
    const busy = reservations.busy(formed.wanted);
    if (busy !== undefined) return { again: () => busy };
    const release = reservations.reserve(formed.wanted);
    try {
      return await counted(parts.quota, formed.changed, (usage) => commit(parts, request, formed, usage));
    } catch (thrown) {
      return { again: recovery(thrown, request, formed.changed, numbers) };
    } finally {
      release();
    }
  };

  return {
    admit: async ({ licensed }, entity) => {
      const item = licensed?.(entity);
      if (item !== undefined) await parts.quota.alone(async () => parts.quota.claim(new Map([[item, 1]])));
    },
    write: async (request) => {
      const { resource, domain, id, more = [] } = request;
      for (const counter of [request, ...more].flatMap((part) => part.resource.counters)) {
        await numbers.load(domain, counter);
      }
      const held = await domain.read((rows) => rows.get(resource.kind, id));
      const isAlone = more.length > 0 || resource.isExclusive(request.mode, request.body, held);
      for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
        const outcome = isAlone
          ? await domain.locks.exclusive(() => attempt(request))
          : await domain.locks.entity(`${resource.kind}/${id}`, () => attempt(request));
        if ('held' in outcome) return outcome.held;
        await outcome.again();
      }
      throw problem('unavailable', { retryAfterSec: 1 });
    },
  };
};

const stamped = (parts: WriterParts, { resource, before, next }: Planned): Json | undefined => {
  if (!next || !resource.fields.ext) return next;
  const previous = before?.entity.ext as { ct?: string; lwt?: string } | undefined;
  const lwt = parts.stamp(previous?.lwt);
  const own = isObject(next.ext) ? next.ext : {};
  const document: Json = { ...next, ext: { ...own, ct: previous?.ct ?? lwt, lwt } };
  return resource.stamp ? resource.stamp(document, lwt) : document;
};

/** Writes it, makes it visible and answers what is held now. */
const commit = async (
  parts: WriterParts,
  { resource: own, domain, caller, id: ownId, along = [], further = [] }: WriteRequest,
  { held, changed, counters, guards }: Formed,
  usage: Usage | undefined,
): Promise<Held | undefined> => {
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
  const isUsageHere = usage?.domain === domain.name;
  if (usage && isUsageHere) changes.push(usage.change);
  const numbered = changes.length;
  for (const [counter, value] of counters) {
    changes.push({ op: 'put', kind: 'counter', id: counter, data: { value }, quiet: true });
  }
  const also = usage && !isUsageHere ? [{ domain: usage.domain, changes: [usage.change] }] : [];
  const all = [...guards, ...changes, ...along];
  const { seq, versions } = await parts.domains.store.commit(domain.name, all, [...also, ...further]);
  const applied = ready.map(({ resource: { kind }, id, before, next }) => {
    const version = versions.get(`${kind}/${id}`);
    return {
      kind,
      id,
      before: before?.entity,
      row: next && version !== undefined ? { entity: next, version } : undefined,
    };
  });
  domain.apply(applied, { first: seq - numbered + 1, last: seq }, caller);
  const now = applied.find(({ kind, id }) => kind === own.kind && id === ownId);
  if (!now) return held;
  return now.row && (domain.collection(own.kind).peek(ownId) ?? { id: ownId, ...now.row });
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

/** Reads rows again, each when no write to it is under way. */
const refreshAll = async (domain: DomainMemory, rows: readonly { kind: Kind; id: string }[]): Promise<void> => {
  for (const { kind, id } of rows) {
    await domain.locks.entity(`${kind}/${id}`, () => domain.refresh(kind, id));
  }
};

const catchUp = async (domain: DomainMemory, seq: number): Promise<void> => {
  if (!(await domain.caughtUp(seq))) throw problem('unavailable', { retryAfterSec: 1 });
};

/** What makes the next attempt see what this one did not know; throws what another attempt would not mend. */
const recovery = (
  thrown: unknown,
  { domain, along = [] }: WriteRequest,
  changed: readonly Planned[],
  numbers: Numbers,
): (() => Promise<unknown>) => {
  if (thrown instanceof StoreUnavailable) throw problem('unavailable', { retryAfterSec: 5, cause: thrown });
  if (!(thrown instanceof Conflict)) throw thrown;
  const { reason, kind, id, key = '' } = thrown;
  if (along.some((change) => 'kind' in change && change.kind === kind && change.id === id)) throw thrown;
  if (reason === 'version') {
    const rows = [{ kind: kind as Kind, id }, ...changed.map((each) => ({ kind: each.resource.kind, id: each.id }))];
    return () => refreshAll(domain, rows);
  }
  // The feed brings it; its follower needs the locks that are free by now.
  if (reason === 'stale') return () => catchUp(domain, Number(key));
  const counter = changed.find(({ resource }) => resource.counters.includes(key));
  if (reason === 'unique' && counter) return async () => numbers.skip(domain.name, key);
  if (reason === 'unique') throw taken(key === '' ? 'key' : key);
  throw cannotApply('resource', 'is being changed elsewhere');
};
