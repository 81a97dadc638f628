/**
 * Entities for scripts through the same engine as REST: the same fields, checks, hooks and journal, under the script's
 * rights. Accounts need no right but their mark (`opts.allow_script_crud`), and only marked ones exist for scripts.
 */
import { isUuid } from '@parley/kit/ids.ts';
import { badRequest, notFound, problem } from '../codes.ts';
import type { Entity } from '../domains/types.ts';
import { createEntity } from '../rest/create.ts';
import { readInput } from '../rest/draft.ts';
import { type Engine, memoryOf } from '../rest/engine.ts';
import type { Filter } from '../rest/filter.ts';
import { checkShape, type Json } from '../rest/json.ts';
import { findItems } from '../rest/list.ts';
import { patchEntity } from '../rest/patch.ts';
import { parseListQuery } from '../rest/query.ts';
import { removeEntity } from '../rest/remove.ts';
import type { Resource } from '../rest/resource.ts';
import { show } from '../rest/show.ts';
import type { Actor, FindQuery, ScriptEntities } from './entities.ts';
import { toRawQuery } from './entities.ts';
import { isForScripts } from './principal.ts';

const USER_KIND = 'user';

export type RestEntitiesParts = {
  readonly engine: Engine;
  readonly resources: readonly Resource[];
  /** Collections below `model/`. */
  readonly model: ScriptEntities;
};

/** 403 unless the script has a route for this. */
export const requireRoute = ({ caller }: Actor, method: string, path: string): void => {
  if (!caller.covers([{ methods: [method], url: `/rest/v1/${path}` }])) {
    throw problem('forbidden', { message: `scripts have no right to ${method} ${path}`, details: { method, path } });
  }
};

export const createRestEntities = ({ engine, resources, model }: RestEntitiesParts): ScriptEntities => {
  const byPath = new Map(resources.map((resource) => [resource.path, resource]));
  const isModel = (collection: string): boolean => collection.startsWith('model/');

  const resourceOf = (actor: Actor, collection: string, method: string, id?: string): Resource => {
    const resource = byPath.get(collection);
    if (!resource) throw badRequest('collection', `there is no collection ${collection.slice(0, 100)}`);
    checkDomain(actor, resource);
    if (resource.kind !== USER_KIND) requireRoute(actor, method, id === undefined ? collection : `${collection}/${id}`);
    return resource;
  };
  const shown = (resource: Resource, actor: Actor, entity: Entity): Json =>
    show(resource, entity, memoryOf(engine, actor.domain));

  return {
    find: async (actor, collection, query) => {
      if (isModel(collection)) return model.find(actor, collection, query);
      const resource = resourceOf(actor, collection, 'GET');
      return findItems(engine, resource, memoryOf(engine, actor.domain), queryOf(engine, resource, query));
    },
    create: async (actor, collection, fields) => {
      if (isModel(collection)) return model.create(actor, collection, fields);
      const resource = resourceOf(actor, collection, 'POST');
      requireVerb(resource, 'create');
      const domain = memoryOf(engine, actor.domain);
      checkShape(fields);
      const input = readInput(resource, fields, true);
      const held = await createEntity(engine, resource, { domain, caller: actor.caller, input });
      return shown(resource, actor, held.entity);
    },
    update: async (actor, collection, id, fields) => {
      if (isModel(collection)) return model.update(actor, collection, id, fields);
      const resource = resourceOf(actor, collection, 'PATCH', id);
      requireVerb(resource, 'patch');
      const domain = memoryOf(engine, actor.domain);
      checkShape(fields);
      const input = readInput(resource, fields, true);
      const held = await patchEntity(engine, resource, { domain, caller: actor.caller, id: idIn(resource, id), input });
      return shown(resource, actor, held.entity);
    },
    remove: async (actor, collection, id) => {
      if (isModel(collection)) return model.remove(actor, collection, id);
      const resource = resourceOf(actor, collection, 'DELETE', id);
      requireVerb(resource, 'remove');
      const domain = memoryOf(engine, actor.domain);
      await removeEntity(engine, resource, { domain, caller: actor.caller, id: idIn(resource, id), body: {} });
    },
  };
};

const checkDomain = ({ domain }: Actor, { domain: wanted, path }: Resource): void => {
  if (wanted === 'any' || domain.isMaster === (wanted === 'master')) return;
  throw badRequest('collection', `${path} is of ${wanted} domains only`);
};

const requireVerb = (resource: Resource, verb: 'create' | 'patch' | 'remove'): void => {
  if (!resource.verbs.has(verb)) throw problem('method_not_allowed', { details: { collection: resource.path } });
};

/** An id as the resource keeps it; one that cannot be is not found. */
const idIn = (resource: Resource, id: string): string => {
  if (resource.id !== 'id') return id;
  const lower = id.toLowerCase();
  if (!isUuid(lower)) throw notFound();
  return lower;
};

const queryOf = ({ patterns, limits }: Engine, resource: Resource, query: FindQuery) => {
  const parsed = parseListQuery(toRawQuery(query), {
    resolve: resource.resolve,
    fieldOf: resource.fieldOf,
    idField: resource.id,
    limits,
    patterns,
  });
  return resource.kind === USER_KIND ? { ...parsed, filter: marked(parsed.filter) } : parsed;
};

/** Only accounts that are marked for scripts. */
const marked = ({ test, where }: Filter): Filter => ({
  where,
  isComplete: false,
  test: (user) => isForScripts(user) && test(user),
});
