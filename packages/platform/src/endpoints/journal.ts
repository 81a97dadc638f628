/** `journal/changes`: who changed what, by conditions; the whole journal cannot be fetched. */
import type { HistoryQuery, Store } from '@parley/kit/store/store.ts';
import type { JournalConditions } from '../journal/conditions.ts';
import { parseConditions } from '../journal/conditions.ts';
import { callerOf, type JsonSchema, type RestEndpoint } from '../rest/endpoint.ts';
import type { Engine } from '../rest/engine.ts';
import { flatten, isObject, type Json } from '../rest/json.ts';
import { maskOf } from '../rest/mask.ts';
import { LIST_PARAMETERS } from '../rest/mount.ts';
import { type ListQuery, type RawQuery, readText } from '../rest/query.ts';
import type { Resource } from '../rest/resource.ts';
import { createTop } from '../rest/top.ts';
import { type ComputedFields, parseComputedQuery } from './computed.ts';

const FIELDS: ComputedFields = {
  cmdtype: 'text',
  dtutc: 'date',
  modifierid: 'uuid',
  modifiername: 'text',
  objtype: 'text',
  objid: 'text',
  objkey: 'text',
  fields: 'text',
  obj: 'object',
  addr: 'text',
  seq: 'number',
};
const SHOWN = ['cmdtype', 'dtutc', 'modifierid', 'modifiername', 'objtype', 'objid', 'fields', 'obj'];
const PAGE = 1000;

/** What is journalled and is no collection. */
const FURTHER_KINDS: ReadonlyMap<string, string> = new Map([
  ['license', 'license'],
  ['master/license', 'license'],
]);

const SCHEMA: JsonSchema = {
  type: 'object',
  properties: Object.fromEntries(SHOWN.map((name) => [name, name === 'obj' ? { type: 'object' } : { type: 'string' }])),
};

export const createJournalEndpoints = (engine: Engine, resources: readonly Resource[]): RestEndpoint[] => {
  const kinds = new Map(
    resources.flatMap(
      ({ kind, path }) =>
        [
          [kind as string, kind],
          [path, kind],
        ] as const,
    ),
  );
  return [
    {
      method: 'GET',
      path: '/rest/v1/journal/changes',
      access: 'route',
      tag: 'journal/changes',
      summary: 'Search the change journal',
      parameters: [
        {
          name: 'params',
          in: 'query',
          description: 'Conditions as JSON: dtstart, dtstop, cmdtype, objtype with objid or objkey, offset, limit.',
          schema: { type: 'string' },
        },
        ...LIST_PARAMETERS,
      ],
      answer: { type: 'array', items: SCHEMA },
      handle: async (call) => {
        const raw = call.request.query as RawQuery;
        const conditions = parseConditions(
          readText(raw, 'params'),
          (name) => kinds.get(name) ?? FURTHER_KINDS.get(name),
        );
        const query = parseComputedQuery(engine, raw, FIELDS, 'seq');
        const found = await search(engine.domains.store, callerOf(call).domain.name, conditions, query);
        if (typeof found === 'number') return { count: found };
        const mask = query.mask ?? maskOf(SHOWN, (name) => name);
        return found.map((record) => flattenObject(mask.apply(record), query.isFlat));
      },
    },
  ];
};

/** `flat` is about the object: what the record itself says is flat already. */
const flattenObject = (record: Json, isFlat: boolean): Json =>
  isFlat && isObject(record.obj) ? { ...record, obj: flatten(record.obj) } : record;

const search = async (
  store: Store,
  domain: string,
  conditions: JournalConditions,
  query: ListQuery,
): Promise<Json[] | number> => {
  const { filter, order, offset, limit, isCount } = query;
  const hasOrder = order.keys.length > 0;
  const most = offset + limit;
  const top = createTop<Json>(hasOrder ? order.compare : () => 0, most);
  let count = 0;
  for await (const page of pagesOf(store, domain, conditions)) {
    for (const record of page) {
      if (!filter.test(record)) continue;
      count += 1;
      if (!isCount) top.add(record);
    }
    // In the journal's own order no more is read than is shown.
    if (!hasOrder && !isCount && count >= most) break;
  }
  return isCount ? count : top.take().slice(offset);
};

const pagesOf = async function* (store: Store, domain: string, conditions: JournalConditions): AsyncGenerator<Json[]> {
  let left = conditions.limit ?? Number.POSITIVE_INFINITY;
  let from: Pick<HistoryQuery, 'offset' | 'after'> = { offset: conditions.offset };
  while (left > 0) {
    const limit = Math.min(PAGE, left);
    const page = await store.history(domain, { ...conditions.search, ...from, limit });
    yield page.map(toRecord);
    if (page.length < limit) return;
    left -= page.length;
    // By its place and not by number: what is written meanwhile shifts nothing.
    const { dtutc, seq } = page.at(-1)!;
    from = { after: { dtutc, seq } };
  }
};

const toRecord = (entry: Json): Json => {
  const record: Json = { ...entry };
  for (const name of ['fields', 'objid', 'objkey', 'addr']) if (record[name] === null) delete record[name];
  return record;
};
