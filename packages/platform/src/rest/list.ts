/** GET on a collection: filtered, ordered, cut, masked; or only counted. */
import type { Row, Store } from '@parley/kit/store/store.ts';
import type { FastifyReply } from 'fastify';
import type { Collection, Held } from '../domains/collection.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller } from '../domains/types.ts';
import { callerOf, type RestCall } from './endpoint.ts';
import { type Engine, memoryOf, sendJson } from './engine.ts';
import { toExport } from './export.ts';
import type { Comparison } from './field.ts';
import type { Json } from './json.ts';
import { countRows, type ListSource, listRows } from './list-rows.ts';
import { applyFlat, type Mask } from './mask.ts';
import { type ListQuery, parseListQuery, type RawQuery } from './query.ts';
import type { Resource } from './resource.ts';
import { show } from './show.ts';
import { createTop } from './top.ts';

/** Compiled queries kept per collection; the same list is asked for again and again. */
const MAX_KEPT_QUERIES = 256;
/** RFC 7240's `Prefer`, as PostgREST uses it. */
const EXACT_COUNT = /\bcount=exact\b/;
const MAX_KEPT_QUERY_LENGTH = 2048;

export const list = (engine: Engine, resource: Resource) => {
  const parse = keepQueries((query) =>
    parseListQuery(query, {
      resolve: resource.resolve,
      fieldOf: resource.fieldOf,
      idField: resource.id,
      limits: engine.limits,
      patterns: engine.patterns,
    }),
  );
  return (call: RestCall) => {
    const caller = callerOf(call);
    const domain = memoryOf(engine, caller.domain);
    const query = parse(call.request.url, call.request.query as RawQuery);
    const collection = domain.collection(resource.kind);
    if (collection.cache) return listStored(engine, resource, call, query, domain);
    const { test } = query.filter;
    const countAll = (): number => countMatches(collection, test);
    if (query.isCount) return sendJson(call.reply, `{"count":${countAll()}}`);
    const rows = select(collection, query);
    addListHeaders(call, query, countAll);
    return sendJson(call.reply, `[${renderRows(engine, resource, rows, query, domain, caller).join()}]`);
  };
};

/** The same where the rows are in the database. */
const listStored = async (
  engine: Engine,
  resource: Resource,
  call: RestCall,
  query: ListQuery,
  domain: DomainMemory,
): Promise<FastifyReply> => {
  const rows = storedRows(engine.domains.store, domain.name, resource);
  const count = (): Promise<number> => countRows(rows, query.filter);
  if (query.isCount) return sendJson(call.reply, `{"count":${await count()}}`);
  const found = await findStored(rows, query);
  if (query.isClamped) call.reply.header('x-limit-applied', String(query.limit));
  await addCount(call, count);
  return sendJson(call.reply, `[${renderRows(engine, resource, found, query, domain, callerOf(call)).join()}]`);
};

const findStored = async (rows: ListSource<Row<Json>>, query: ListQuery): Promise<Held[]> =>
  (await listRows(rows, query)).map(({ id, data, version }) => ({ id, entity: data, version }));

/** Items of a collection as its list shows them, for who asks without a request. */
export const findItems = async (
  engine: Pick<Engine, 'domains'>,
  resource: Resource,
  domain: DomainMemory,
  query: ListQuery,
): Promise<Json[]> => {
  const collection = domain.collection(resource.kind);
  const found = collection.cache
    ? await findStored(storedRows(engine.domains.store, domain.name, resource), query)
    : select(collection, query);
  const mask = query.mask ?? resource.listMask;
  return found.map(({ entity }) => mask.apply(show(resource, entity, domain)));
};

const PUSHABLE: ReadonlySet<Comparison> = new Set(['text', 'uuid', 'number', 'boolean', 'date']);

const storedRows = (store: Store, domain: string, { kind, fields, id }: Resource): ListSource<Row<Json>> => ({
  isDatabase: true,
  pushable: new Set([
    id,
    'ext.ct',
    'ext.lwt',
    ...Object.entries(fields).flatMap(([name, { compares }]) => (PUSHABLE.has(compares) ? [name] : [])),
  ]),
  always: [],
  isLive: () => true,
  query: (query) => store.query<Json>(domain, kind, query),
  count: (where) => store.count(domain, kind, where),
});

/** Headers that tell of a lowered limit, and of the count where it was asked for. */
const addListHeaders = (
  { request, reply }: { request: RestCall['request']; reply: FastifyReply },
  query: ListQuery,
  count: () => number,
): void => {
  if (query.isClamped) reply.header('x-limit-applied', String(query.limit));
  if (EXACT_COUNT.test(String(request.headers.prefer ?? ''))) reply.header('x-total-count', String(count()));
};

/** The count of a list whose rows have to be asked for. */
export const addCount = async (
  { request, reply }: Pick<RestCall, 'request' | 'reply'>,
  count: () => Promise<number>,
): Promise<void> => {
  if (EXACT_COUNT.test(String(request.headers.prefer ?? ''))) reply.header('x-total-count', String(await count()));
};

/** Keeps compiled queries by the text of the query; only for collections whose fields never change. */
const keepQueries = (parse: (query: RawQuery) => ListQuery): ((url: string, query: RawQuery) => ListQuery) => {
  const kept = new Map<string, ListQuery>();
  return (url, query) => {
    const at = url.indexOf('?');
    const text = at < 0 ? '' : url.slice(at);
    const known = kept.get(text);
    if (known) return known;
    const parsed = parse(query);
    if (text.length > MAX_KEPT_QUERY_LENGTH) return parsed;
    if (kept.size >= MAX_KEPT_QUERIES) kept.delete(kept.keys().next().value!);
    kept.set(text, parsed);
    return parsed;
  };
};

const countMatches = (collection: Collection, test: ListQuery['filter']['test']): number => {
  let count = 0;
  for (const { entity } of collection.values()) if (test(entity)) count += 1;
  return count;
};

const select = (collection: Collection, { filter, order, offset, limit }: ListQuery): readonly Held[] => {
  const sorted = collection.sorted(order);
  const rows: Held[] = [];
  let toSkip = offset;
  for (const held of sorted) {
    if (!filter.test(held.entity as Json)) continue;
    if (toSkip > 0) toSkip -= 1;
    else if (rows.push(held) >= limit) break;
  }
  return rows;
};

const renderRows = (
  engine: Engine,
  resource: Resource,
  rows: readonly Held[],
  query: ListQuery,
  domain: DomainMemory,
  caller: Caller,
): string[] => {
  const { mask, isFlat, isExport } = query;
  if (isExport) {
    return rows.map(({ entity }) => {
      const exported = toExport(engine, resource, entity, caller);
      return JSON.stringify(applyFlat(mask ? mask.apply(exported) : exported, isFlat));
    });
  }
  const rowMask = mask ?? resource.listMask;
  return rows.map((held) => renderRow(resource, held, rowMask, isFlat, domain));
};

const renderRow = (resource: Resource, held: Held, mask: Mask, isFlat: boolean, domain: DomainMemory): string => {
  const name = isFlat ? `${mask.name}|flat` : mask.name;
  if (held.listed?.mask === name) return held.listed.json;
  const json = JSON.stringify(applyFlat(mask.apply(show(resource, held.entity, domain)), isFlat));
  if (!resource.show) held.listed = { mask: name, json };
  return json;
};

/** The same for items that are computed, page by page, instead of kept. */
export const listItems = async (
  pages: AsyncIterable<readonly Json[]>,
  { filter, order, offset, limit, ...query }: ListQuery,
  listMask: Mask,
): Promise<Json[] | { count: number }> => {
  const top = createTop(order.compare, offset + limit);
  let count = 0;
  for await (const page of pages) {
    for (const item of page) {
      if (!filter.test(item)) continue;
      count += 1;
      if (!query.isCount) top.add(item);
    }
  }
  if (query.isCount) return { count };
  const mask = query.mask ?? listMask;
  return top
    .take()
    .slice(offset)
    .map((item) => applyFlat(mask.apply(item), query.isFlat));
};
