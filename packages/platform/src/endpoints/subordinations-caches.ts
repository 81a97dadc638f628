/** `domain/subordinations_caches`: for every user who is above others, who they are. Roles and groups are spelled out. */
import { notFound } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { callerOf, type JsonSchema, type RestEndpoint } from '../rest/endpoint.ts';
import type { Engine } from '../rest/engine.ts';
import type { Json } from '../rest/json.ts';
import { listItems } from '../rest/list.ts';
import { applyFlat, maskOf, parseMask } from '../rest/mask.ts';
import { LIST_PARAMETERS } from '../rest/mount.ts';
import { type RawQuery, readFlag, readText } from '../rest/query.ts';
import { type ComputedFields, parseComputedQuery } from './computed.ts';

const PATH = '/rest/v1/domain/subordinations_caches';
const FIELDS: ComputedFields = { top: 'uuid', sub: 'list' };
const ALL = maskOf(['top', 'sub'], (name) => name);
const SCHEMA: JsonSchema = {
  type: 'object',
  properties: { top: { type: 'string', format: 'uuid' }, sub: { type: 'array', items: { type: 'string' } } },
};

/** Ids of the users who hold a role, through groups too. */
const holdersOf = (domain: Domain, role: string): string[] => {
  const holders: string[] = [];
  for (const { id } of domain.all('user'))
    if (domain.rights.deepRolesOf(String(id)).includes(role)) holders.push(String(id));
  return holders;
};

const topsOf = (domain: Domain, { top_type, top_key }: Entity): string[] => {
  if (top_type === 'role') return holdersOf(domain, String(top_key));
  return domain.get('user', String(top_key)) ? [String(top_key)] : [];
};

const subsOf = (domain: Domain, rule: Entity): string[] => {
  const keys = stringsAt(rule, 'sub_keys');
  if (rule.sub_type === 'group') return keys.flatMap((key) => domain.rights.deepUsersOf(key));
  if (rule.sub_type === 'role') return keys.flatMap((key) => holdersOf(domain, key));
  return keys.filter((key) => domain.get('user', key) !== undefined);
};

/** Every user who is above others, with them; sorted. */
const cachesOf = (domain: Domain): Map<string, string[]> => {
  const subs = new Map<string, Set<string>>();
  for (const rule of domain.all('subordination')) {
    const below = subsOf(domain, rule);
    for (const top of topsOf(domain, rule)) {
      const known = subs.get(top) ?? new Set<string>();
      for (const sub of below) known.add(sub);
      subs.set(top, known);
    }
  }
  return new Map([...subs].map(([top, sub]) => [top, [...sub].sort()]));
};

export const createSubordinationsCachesEndpoints = (engine: Engine): RestEndpoint[] => {
  const common = { method: 'GET', access: 'route', tag: 'domain/subordinations_caches' } as const;
  return [
    {
      ...common,
      path: PATH,
      summary: 'List who is above whom',
      parameters: LIST_PARAMETERS,
      answer: { type: 'array', items: SCHEMA },
      handle: (call) => {
        const query = parseComputedQuery(engine, call.request.query as RawQuery, FIELDS, 'top');
        const items = [...cachesOf(callerOf(call).domain)].map(([top, sub]): Json => ({ top, sub }));
        return listItems(items, query, ALL);
      },
    },
    {
      ...common,
      path: `${PATH}/:top`,
      summary: 'Who is below one user',
      parameters: [{ name: 'top', in: 'path', description: 'User id.', schema: { type: 'string' } }],
      answer: SCHEMA,
      handle: (call) => {
        const query = call.request.query as RawQuery;
        const mask = parseMask(readText(query, 'mask'), (name) => name) ?? ALL;
        const isFlat = readFlag(query, 'flat');
        const top = String((call.request.params as { top?: string }).top).toLowerCase();
        const sub = cachesOf(callerOf(call).domain).get(top);
        if (!sub) throw notFound();
        return applyFlat(mask.apply({ top, sub }), isFlat);
      },
    },
  ];
};
