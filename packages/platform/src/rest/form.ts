/** Forms a write from the newest versions: what it changes, which keys it wants, what must still be as it was seen. */
import type { Clock } from '@parley/kit/clock.ts';
import type { Change, DomainChanges } from '@parley/kit/store/store.ts';
import { notFound, problem } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Caller, Domain, Domains, Entity, Kind } from '../domains/types.ts';
import type { DomainView, Seen } from '../domains/view.ts';
import type { Json } from './json.ts';
import type { Numbers } from './numbers.ts';
import { overlay } from './overlay.ts';
import { isChanged, type Plan, type Planned, planOther, sealSecrets, wantedKeys } from './plan.ts';
import type { Quota } from './quota.ts';
import type { Wanted } from './reservations.ts';
import type { Mode, Resource, SaveContext } from './resource.ts';
import { etagOf } from './show.ts';

/** One entity of a write. */
export type WritePart = {
  readonly resource: Resource;
  readonly id: string;
  readonly mode: Mode | 'remove';
  readonly body: Json;
  /** The draft out of the newest version; undefined removes it. Runs again when the write is formed anew. */
  form(previous: Entity | undefined, domain: Domain): Json | undefined;
};

export type WriteRequest = WritePart & {
  readonly domain: DomainMemory;
  readonly caller: Caller;
  /** Further entities of the domain, each formed over those before it, all or none; such a write is alone. */
  readonly more?: readonly WritePart[];
  readonly ifMatch?: string | undefined;
  /** Quiet changes of further rows in the same commit; a Conflict about one of them is thrown as it is. */
  readonly along?: readonly Change[];
  /** Changes of other domains in the same commit. */
  readonly further?: readonly DomainChanges[];
};

export type WriterParts = {
  readonly domains: Domains;
  readonly resources: readonly Resource[];
  readonly secrets: SecretBox;
  readonly clock: Clock;
  /** Limits of the licence. */
  readonly quota: Quota;
  stamp(after?: string): string;
};

/** A write as it would be now. */
export type Formed = {
  readonly held: Held | undefined;
  readonly changed: readonly Planned[];
  readonly counters: ReadonlyMap<string, number>;
  readonly wanted: readonly Wanted[];
  readonly guards: readonly Change[];
};

type Form = (request: WriteRequest, view: DomainView, since: number, counters: Map<string, number>) => Formed;

/** What forms writes. */
export const createForm = (
  { domains, secrets }: WriterParts,
  resources: ReadonlyMap<Kind, Resource>,
  numbers: Numbers,
): Form => {
  const isShared = domains.store.driver === 'postgres';
  /** Plans one entity. `domain`: as it will be with what is planned already. */
  const formPart = (
    { caller }: WriteRequest,
    { resource, id, mode, body, form: formDraft }: WritePart,
    view: DomainView,
    domain: DomainView,
    plan: Plan,
    counters: Map<string, number>,
  ): void => {
    const key = `${resource.kind}/${id}`;
    const held = view.held(resource.kind, id);
    const planned = plan.get(key);
    const context: SaveContext = {
      domain,
      domains,
      caller,
      mode,
      body,
      also: (kind, other, change) => planOther(plan, view, resources.get(kind)!, other, change),
      nextNumber: (counter) => {
        const next = counters.get(counter) ?? numbers.next(view.name, counter);
        counters.set(counter, next);
        return next;
      },
    };
    const draft = formDraft(planned ? planned.next : held?.entity, domain);
    const own: Planned = { resource, id, before: held, next: draft };
    plan.set(key, own);
    if (draft) resource.beforeSave?.(draft, held?.entity, context);
    else if (held) resource.beforeRemove?.(held.entity, context);
    own.next = draft && sealSecrets(secrets, own, draft);
  };

  return (request, view, since, counters) => {
    const plan: Plan = new Map();
    const held = view.held(request.resource.kind, request.id);
    if (request.ifMatch !== undefined) checkMatch(request.ifMatch, held);
    formPart(request, request, view, view, plan, counters);
    for (const part of request.more ?? []) formPart(request, part, view, overlay(view, plan), plan, counters);
    const changed = [...plan.values()].filter(isChanged);
    // One node alone has its locks for this.
    const guards = isShared ? guardsOf(view.seen, plan, since) : [];
    return { held, changed, counters, wanted: wantedKeys(view, changed), guards };
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
