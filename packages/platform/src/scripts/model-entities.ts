/** Items of classes (`model/<class>`) for scripts, as the model API keeps them, under the script's rights. */
import { createUuid, isUuid, ZERO_UUID } from '@parley/kit/ids.ts';
import { badRequest, cannotApply, notFound, problem } from '../codes.ts';
import type { DomainMemory } from '../domains/memory.ts';
import { showItem } from '../model/items.ts';
import { listRows } from '../model/list.ts';
import { type Model, removeFiles } from '../model/model.ts';
import type { ModelClass } from '../model/model-class.ts';
import { readInput } from '../rest/draft.ts';
import { type Engine, memoryOf } from '../rest/engine.ts';
import { checkShape, isObject } from '../rest/json.ts';
import { parseListQuery } from '../rest/query.ts';
import { type Actor, type ScriptEntities, toRawQuery } from './entities.ts';

const EVERYTHING = [{ methods: ['*'], url: '*' }];

type Found = { readonly domain: DomainMemory; readonly model: ModelClass };
type RequireRoute = (actor: Actor, method: string, path: string) => void;

export const createModelEntities = (engine: Engine, model: Model, requireRoute: RequireRoute): ScriptEntities => {
  const { items, source, stamp } = model;
  const open = (actor: Actor, collection: string, method: string, id?: string): Found => {
    requireRoute(actor, method, id === undefined ? collection : `${collection}/${id}`);
    const domain = memoryOf(engine, actor.domain);
    const found = model.classes.find(domain, collection.split('/').slice(1));
    if (!found || found.model.mode === 'abstract' || found.rest.length > 0) {
      throw badRequest('collection', `there is no class ${collection.slice(0, 100)}`);
    }
    if (method !== 'GET') guardWrite(actor, found.model, method);
    return { domain, model: found.model };
  };
  return {
    find: async (actor, collection, query) => {
      const { domain, model: of } = open(actor, collection, 'GET');
      const { resource } = of;
      const { limits, patterns } = engine;
      const parts = { resolve: resource.resolve, fieldOf: resource.fieldOf, idField: 'id', limits, patterns };
      const parsed = parseListQuery(toRawQuery(query), parts);
      const mask = parsed.mask ?? resource.listMask;
      const rows = await listRows(of, await source.open(domain, of), parsed, stamp());
      return rows.map(({ data }) => mask.apply(showItem(of, data)));
    },
    create: async (actor, collection, fields) => {
      const { domain, model: of } = open(actor, collection, 'POST');
      checkShape(fields);
      const { id, ...rest } = fields;
      const input = readInput(of.resource, rest, true);
      const own = id === undefined || id === null || id === '' ? createUuid() : idIn(String(id));
      return showItem(of, await items.create({ domain, model: of, id: own }, input));
    },
    update: async (actor, collection, id, fields) => {
      const { domain, model: of } = open(actor, collection, 'PATCH', id);
      checkShape(fields);
      const input = readInput(of.resource, fields, true);
      return showItem(of, await items.patch({ domain, model: of, id: idIn(id) }, input));
    },
    remove: async (actor, collection, id) => {
      const { domain, model: of } = open(actor, collection, 'DELETE', id);
      await items.remove({ domain, model: of, id: idIn(id) });
      await removeFiles(model, domain, of, [idIn(id)]);
    },
  };
};

/** What mail goes out by, and who signs people in from outside, is for those who may do everything; logs only grow. */
const guardWrite = ({ caller }: Actor, { entity, mode }: ModelClass, method: string): void => {
  const isSystem = isObject(entity.opts) && entity.opts.system === true;
  if (isSystem && !caller.covers(EVERYTHING)) throw problem('forbidden', { details: { reason: 'not covered' } });
  if (mode === 'transactionlog' && method !== 'POST') throw problem('method_not_allowed');
};

const idIn = (id: string): string => {
  const lower = id.toLowerCase();
  if (!isUuid(lower)) throw notFound();
  if (lower === ZERO_UUID) throw cannotApply('id', 'zero means none');
  return lower;
};
