/**
 * The only way to write descriptor entities: the draft is formed from the newest version while its entity is locked,
 * stamped, its unique keys reserved, and committed with its journal entry; memory changes when the commit is durable.
 * What another node changed meanwhile, of the entity or of anything the draft was judged by, is read again and the
 * draft formed anew: so no node leaves behind a reference to what another has just removed.
 */
import type { Clock } from '@parley/kit/clock.ts';
import { type Change, Conflict, type DomainChanges, StoreUnavailable } from '@parley/kit/store/store.ts';
import { cannotApply, notFound, problem, taken } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Caller, Domain, Domains, Entity, Kind } from '../domains/types.ts';
import type { DomainView, Seen } from '../domains/view.ts';
import { createEntry } from '../journal/entry.ts';
import { counted, type Outcome } from './counted.ts';
import { isObject, type Json } from './json.ts';
import { createNumbers, type Numbers } from './numbers.ts';
import { isChanged, type Plan, type Planned, planOther, sealSecrets, uniqueOf, wantedKeys } from './plan.ts';
import type { Quota, Usage } from './quota.ts';
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
  /** Quiet changes of further rows in the same commit; a Conflict about one of them is thrown as it is. */
  readonly along?: readonly Change[];
  /** Changes of other domains in the same commit. */
  readonly further?: readonly DomainChanges[];
  /** The draft out of the newest version; undefined removes it. Runs again when the write is formed anew. */
  form(previous: Entity | undefined, domain: Domain): Json | undefined;
};

export type Writer = {
  /** Resolves with what is held now; undefined after a removal. Throws the Problem of a write that cannot be. */
  write(request: WriteRequest): Promise<Held | undefined>;
  /** Throws when the licence has no place for a new entity; for before something slow begins. */
  admit(resource: Resource, entity: Entity): Promise<void>;
};

type WriterParts = {
  readonly domains: Domains;
  readonly resources: readonly Resource[];
  readonly secrets: SecretBox;
  readonly clock: Clock;
  /** Limits of the licence. */
  readonly quota: Quota;
  stamp(after?: string): string;
};

/** A write as it would be now. */
type Formed = {
  readonly held: Held | undefined;
  readonly changed: readonly Planned[];
  readonly counters: ReadonlyMap<string, number>;
  readonly wanted: readonly Wanted[];
  readonly guards: readonly Change[];
};

/** How often a write is formed anew before the caller is told to come again. */
const MAX_ATTEMPTS = 20;

/** Makes the writer of an installation. */
export const createWriter = (parts: WriterParts): Writer => {
  const resources = new Map(parts.resources.map((resource) => [resource.kind, resource]));
  const reservations = createReservations();
  const numbers = createNumbers(parts.domains.store);
  const isShared = parts.domains.store.driver === 'postgres';

  const form = (request: WriteRequest, view: DomainView, since: number, counters: Map<string, number>): Formed => {
    const { resource, id } = request;
    const held = view.held(resource.kind, id);
    if (request.ifMatch !== undefined) checkMatch(request.ifMatch, held);
    const plan: Plan = new Map();
    const context: SaveContext = {
      domain: view,
      domains: parts.domains,
      caller: request.caller,
      mode: request.mode,
      body: request.body,
      also: (kind, other, change) => planOther(plan, view, resources.get(kind)!, other, change),
      nextNumber: (counter) => {
        const next = counters.get(counter) ?? numbers.next(view.name, counter);
        counters.set(counter, next);
        return next;
      },
    };
    const draft = request.form(held?.entity, view);
    const own: Planned = { resource, id, before: held, next: draft };
    plan.set(`${resource.kind}/${id}`, own);
    if (draft) resource.beforeSave?.(draft, held?.entity, context);
    else if (held) resource.beforeRemove?.(held.entity, context);
    own.next = draft && sealSecrets(parts.secrets, own, draft);
    const changed = [...plan.values()].filter(isChanged);
    // One node alone has its locks for this.
    const guards = isShared ? guardsOf(view.seen, plan, since) : [];
    return { held, changed, counters, wanted: wantedKeys(view, changed), guards };
  };

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
      const { resource, domain, id } = request;
      for (const counter of resource.counters) await numbers.load(domain, counter);
      const held = await domain.read((rows) => rows.get(resource.kind, id));
      const isAlone = resource.isExclusive(request.mode, request.body, held);
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

const checkMatch = (ifMatch: string, held: Held | undefined): void => {
  if (!held) throw notFound();
  const etag = etagOf(held);
  const isMatch = ifMatch.split(',').some((part) => {
    const given = part.trim();
    return given === '*' || given === etag || `W/${given}` === etag;
  });
  if (!isMatch) throw problem('precondition_failed');
};

/** What must still be as it was seen: rows that were looked at and are not written, kinds that were looked through. */
const guardsOf = ({ rows, kinds }: Seen, plan: Plan, since: number): Change[] => {
  const guards: Change[] = [];
  if (kinds.size > 0) guards.push({ op: 'still', kinds: [...kinds], since });
  for (const [key, { kind, id, version }] of rows) {
    // A kind looked through has not changed at all.
    if (!plan.has(key) && !kinds.has(kind)) guards.push({ op: 'check', kind, id, expect: version });
  }
  return guards;
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
    return () => domain.locks.entity(`${kind}/${id}`, () => domain.refresh(kind as Kind, id));
  }
  // The feed brings it; its follower needs the locks that are free by now.
  if (reason === 'stale') return () => catchUp(domain, Number(key));
  const counter = changed.find(({ resource }) => resource.counters.includes(key));
  if (reason === 'unique' && counter) return async () => numbers.skip(domain.name, key);
  if (reason === 'unique') throw taken(key === '' ? 'key' : key);
  throw cannotApply('resource', 'is being changed elsewhere');
};
