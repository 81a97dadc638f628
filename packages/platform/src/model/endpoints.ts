/**
 * The model API: `/rest/v1/model/<class>[/<id>[/<attachment>]]`, a standard collection for every class that is not
 * abstract. Which class a path names is known only when it is asked, so one endpoint a method takes them all.
 */
import { createUuid, isUuid, ZERO_UUID } from '@parley/kit/ids.ts';
import { badRequest, cannotApply, notFound, problem } from '../codes.ts';
import type { Caller } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { targetOf } from '../http/method.ts';
import { type Input, readInput } from '../rest/draft.ts';
import { callerOf, type RestCall, type RestEndpoint, type RestMethod } from '../rest/endpoint.ts';
import { type Engine, memoryOf, nameIgnored, sendJson } from '../rest/engine.ts';
import { compileFilter, type Filter } from '../rest/filter.ts';
import { isObject, type Json } from '../rest/json.ts';
import { addCount } from '../rest/list.ts';
import { readKeyValue } from '../rest/lookup.ts';
import { applyFlat, parseMask } from '../rest/mask.ts';
import { LIST_PARAMETERS } from '../rest/mount.ts';
import { parseListQuery, type RawQuery, readFlag, readText } from '../rest/query.ts';
import type { PatternCache } from '../rest/regex.ts';
import { getAttachment, putAttachment, removeAttachment } from './attachments.ts';
import { exportItem } from './export.ts';
import { etagOfItem, type ItemWrite, showItem } from './items.ts';
import { countRows, listRows } from './list.ts';
import { type Model, removeFiles } from './model.ts';
import type { ModelClass } from './model-class.ts';
import type { Place } from './place.ts';
import { type CheckSystemRow, createSystemCheck } from './system-rows.ts';

const BASE = '/rest/v1/model/';
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'LOOKUP']);
const EVERYTHING = [{ methods: ['*'], url: '*' }];
const METHODS: readonly RestMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'LOOKUP'];

type Handler = (call: RestCall, place: Place) => unknown;
type Level = 'collection' | 'item' | 'property';

/** `site`: the site of this server. */
export const createModelEndpoints = (engine: Engine, model: Model, site: () => string): RestEndpoint[] => {
  const handlers = createHandlers(engine, model, createSystemCheck(model.source, site));
  const handle = (call: RestCall): unknown => {
    const { method, path } = targetOf(call.request.raw);
    const place = readPlace(engine, model, call, path);
    const level: Level = place.id === undefined ? 'collection' : place.property === undefined ? 'item' : 'property';
    const handlerOf = (name: string): Handler | undefined =>
      allowed(place.model, level, name) ? handlers[level][name] : undefined;
    const handler = handlerOf(method === 'HEAD' ? 'GET' : method);
    if (handler && !READING.has(method)) guardSystem(callerOf(call), place.model);
    if (handler) return handler(call, place);
    const names = Object.keys(handlers[level]).filter((name) => handlerOf(name));
    call.reply.header('allow', [...names, 'HEAD'].sort().join(', '));
    throw problem('method_not_allowed');
  };
  return METHODS.map((method) => ({
    method,
    path: `${BASE}*`,
    access: 'route',
    tag: 'model',
    summary: `${method} on the data of a class: a collection, an item, or an attached file`,
    ...(method === 'GET' ? { parameters: LIST_PARAMETERS } : {}),
    answer: {},
    handle,
  }));
};

/** What mail goes out by, and who signs people in from outside, is for those who may do everything. */
const guardSystem = (caller: Caller, { entity }: ModelClass): void => {
  const isSystem = isObject(entity.opts) && entity.opts.system === true;
  if (isSystem && !caller.covers(EVERYTHING)) throw problem('forbidden', { details: { reason: 'not covered' } });
};

/** A log of transactions only grows. */
const allowed = (model: ModelClass, level: Level, method: string): boolean =>
  model.mode !== 'transactionlog' ||
  method === 'GET' ||
  method === 'LOOKUP' ||
  (level === 'collection' && method === 'POST');

const readPlace = (engine: Engine, model: Model, call: RestCall, path: string): Place => {
  const domain = memoryOf(engine, callerOf(call).domain);
  const found = model.classes.find(domain, path.slice(BASE.length).split('/'));
  if (!found || found.model.mode === 'abstract' || found.rest.length > 2) throw notFound();
  const [id, property] = found.rest;
  const lower = id?.toLowerCase();
  if (lower !== undefined && (!isUuid(lower) || lower === ZERO_UUID)) throw notFound();
  if (property !== undefined && !isAttachment(found.model, property)) throw notFound();
  return { domain, model: found.model, id: lower, property };
};

const isAttachment = ({ properties }: ModelClass, name: string): boolean =>
  properties.some((property) => property.name === name && property.data_type === 'attachment');

const createHandlers = (
  engine: Engine,
  model: Model,
  check: CheckSystemRow,
): Record<Level, Record<string, Handler>> => {
  const { items } = model;
  const send = (call: RestCall, { model: of }: Place, item: Json): unknown =>
    sendJson(call.reply.header('etag', etagOfItem(item)), JSON.stringify(showItem(of, item)));
  const writeOf = (call: RestCall, { domain, model: of, id }: Place): ItemWrite => ({
    domain,
    model: of,
    id: id!,
    ifMatch: call.request.headers['if-match'],
  });
  const inputOf = async (
    call: RestCall,
    { model: of, domain, id }: Place,
    verb: 'create' | 'replace' | 'patch',
  ): Promise<Input> => {
    const body = await readDocument(call.request, verb);
    if (body === undefined) throw badRequest('body', 'is missing');
    const input = readInput(of.resource, body, engine.isStrict);
    nameIgnored(call.reply, input.ignored);
    return check({ domain, model: of, id }, input);
  };
  return {
    collection: {
      GET: (call, place) => list(engine, model, call, place),
      POST: async (call, place) => {
        const input = await inputOf(call, place, 'create');
        const id = chooseId(place.model, input.fields);
        return send(call, place, await items.create({ domain: place.domain, model: place.model, id }, input));
      },
      LOOKUP: (call, place) => lookup(model, call, place),
    },
    item: {
      GET: (call, place) => readItem(model, call, place),
      PUT: async (call, place) => {
        const input = await inputOf(call, place, 'replace');
        const given = input.fields.id;
        if (given !== undefined && (typeof given !== 'string' || given.toLowerCase() !== place.id))
          throw cannotApply('id', 'cannot be changed');
        return send(call, place, await items.replace(writeOf(call, place), input));
      },
      PATCH: async (call, place) =>
        send(call, place, await items.patch(writeOf(call, place), await inputOf(call, place, 'patch'))),
      DELETE: async (call, place) => {
        await readDocument(call.request, 'delete');
        await items.remove(writeOf(call, place));
        await removeFiles(model, place.domain, place.model, [place.id!]);
        return call.reply.code(204).send();
      },
    },
    property: {
      GET: (call, place) => getAttachment(model, call, place),
      PUT: (call, place) => putAttachment(model, call, place),
      DELETE: (call, place) => removeAttachment(model, call, place),
    },
  };
};

const chooseId = ({ resource }: ModelClass, fields: Json): string => {
  const given = fields.id;
  if (given === undefined || given === null || given === '') return createUuid();
  const id = resource.fields.id!.check(given, 'id') as string;
  if (id === ZERO_UUID) throw cannotApply('id', 'zero means none');
  return id;
};

const readItem = async ({ items }: Model, call: RestCall, { domain, model, id }: Place): Promise<unknown> => {
  const query = call.request.query as RawQuery;
  const mask = parseMask(readText(query, 'mask'), model.resource.fieldOf);
  const isFlat = readFlag(query, 'flat');
  const isExport = readFlag(query, 'export');
  const item = await items.read(domain, model, id!);
  if (!item) throw notFound();
  const shown = isExport ? exportItem(model, item) : showItem(model, item);
  const text = JSON.stringify(applyFlat(mask ? mask.apply(shown) : shown, isFlat));
  return sendJson(call.reply.header('etag', etagOfItem(item)), text);
};

const list = async (
  engine: Engine,
  { source, stamp }: Model,
  call: RestCall,
  { domain, model }: Place,
): Promise<unknown> => {
  const { resource, options } = model;
  const own =
    typeof options.max_limit === 'number' && options.max_limit > 0 ? options.max_limit : engine.limits.maxLimit;
  const maxLimit = Math.min(own, engine.limits.maxLimit);
  const query = parseListQuery(call.request.query as RawQuery, {
    resolve: resource.resolve,
    fieldOf: resource.fieldOf,
    idField: 'id',
    limits: { defaultLimit: Math.min(engine.limits.defaultLimit, maxLimit), maxLimit },
    patterns: engine.patterns,
  });
  const rows = await source.open(domain, model);
  const count = (): Promise<number> => countRows(model, rows, query.filter, stamp());
  if (query.isCount) return { count: await count() };
  const found = await listRows(model, rows, query, stamp());
  if (query.isClamped) call.reply.header('x-limit-applied', String(query.limit));
  await addCount(call, count);
  const mask = limitMask(model, query.mask) ?? resource.listMask;
  return found.map(({ data }) => {
    const shown = query.isExport ? exportItem(model, data) : showItem(model, data);
    return applyFlat(query.isExport && !query.mask ? shown : mask.apply(shown), query.isFlat);
  });
};

/** Lists show no more than the fields the class lets them. */
const limitMask = (
  { resource, options }: ModelClass,
  mask: ReturnType<typeof parseMask>,
): ReturnType<typeof parseMask> => {
  if (!mask || !Array.isArray(options.max_mask) || options.max_mask.length === 0) return mask;
  return { name: mask.name, apply: (item) => mask.apply(resource.listMask.apply(item)) };
};

const lookup = async ({ source, stamp }: Model, call: RestCall, { domain, model }: Place): Promise<unknown> => {
  const value = readKeyValue(await readDocument(call.request, 'custom'));
  const rows = await source.open(domain, model);
  for (const name of ['id', ...model.lookup]) {
    const filter = exactFilter(model, name, value);
    if (!filter) continue;
    const found = await listRows(model, rows, { ...LOOKUP_QUERY, filter }, stamp());
    if (found.length > 0) return found.map(({ id }) => id).sort();
  }
  throw problem('lookup_failed');
};

const LOOKUP_QUERY = {
  order: { name: '', keys: [], compare: () => 0 },
  mask: undefined,
  offset: 0,
  limit: 10_000,
  isClamped: false,
  isCount: false,
  isFlat: false,
  isExport: false,
} as const;

/** Exactly this value under this field; undefined when the field cannot hold it. */
const exactFilter = ({ resource }: ModelClass, name: string, value: string): Filter | undefined => {
  try {
    return compileFilter({ [name]: [value] }, resource.resolve, NO_PATTERNS);
  } catch {
    return undefined;
  }
};

const NO_PATTERNS: PatternCache = { compile: () => () => false };
