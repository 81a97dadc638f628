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

/** What the rules speak of: the users who hold each role, through groups too, and which of the users are there. */
type People = { readonly holders: ReadonlyMap<string, readonly string[]>; readonly known: ReadonlySet<string> };

/** Roles and users that the rules name. */
const namesIn = (rules: readonly Entity[]) => {
  const roles = new Set<string>();
  const users = new Set<string>();
  for (const { top_type, top_key, sub_type, sub_keys } of rules) {
    (top_type === 'role' ? roles : users).add(String(top_key));
    if (sub_type === 'group') continue;
    for (const key of stringsAt({ sub_keys }, 'sub_keys')) (sub_type === 'role' ? roles : users).add(key);
  }
  return { roles, users };
};

/** One walk over all users, however many rules there are. */
const readPeople = async (domain: Domain, rules: readonly Entity[]): Promise<People> => {
  const { roles, users } = namesIn(rules);
  const holders = new Map<string, string[]>([...roles].map((role) => [role, []]));
  const known = new Set<string>();
  for await (const page of domain.pages('user')) {
    for (const user of page) {
      const id = String(user.id);
      if (users.has(id)) known.add(id);
      if (roles.size === 0) continue;
      for (const role of domain.rights.rolesOf(user)) holders.get(role)?.push(id);
    }
  }
  return { holders, known };
};

const topsOf = ({ holders, known }: People, { top_type, top_key }: Entity): readonly string[] => {
  const top = String(top_key);
  if (top_type === 'role') return holders.get(top) ?? [];
  return known.has(top) ? [top] : [];
};

const subsOf = ({ holders, known }: People, { rights }: Domain, rule: Entity): string[] => {
  const keys = stringsAt(rule, 'sub_keys');
  if (rule.sub_type === 'group') return keys.flatMap((key) => rights.deepUsersOf(key));
  if (rule.sub_type === 'role') return keys.flatMap((key) => holders.get(key) ?? []);
  return keys.filter((key) => known.has(key));
};

/** Every user who is above others, with them; sorted. */
const cachesOf = async (domain: Domain): Promise<Map<string, string[]>> => {
  const rules: Entity[] = [];
  for await (const page of domain.pages('subordination')) rules.push(...page);
  const people = await readPeople(domain, rules);
  const subs = new Map<string, Set<string>>();
  for (const rule of rules) {
    const below = subsOf(people, domain, rule);
    for (const top of topsOf(people, rule)) {
      const known = subs.get(top) ?? new Set<string>();
      for (const sub of below) known.add(sub);
      subs.set(top, known);
    }
  }
  return new Map([...subs].map(([top, sub]) => [top, [...sub].sort()]));
};

const itemsOf = async function* (domain: Domain): AsyncGenerator<Json[]> {
  yield [...(await cachesOf(domain))].map(([top, sub]): Json => ({ top, sub }));
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
        return listItems(itemsOf(callerOf(call).domain), query, ALL);
      },
    },
    {
      ...common,
      path: `${PATH}/:top`,
      summary: 'Who is below one user',
      parameters: [{ name: 'top', in: 'path', description: 'User id.', schema: { type: 'string' } }],
      answer: SCHEMA,
      handle: async (call) => {
        const query = call.request.query as RawQuery;
        const mask = parseMask(readText(query, 'mask'), (name) => name) ?? ALL;
        const isFlat = readFlag(query, 'flat');
        const top = String((call.request.params as { top?: string }).top).toLowerCase();
        const sub = (await cachesOf(callerOf(call).domain)).get(top);
        if (!sub) throw notFound();
        return applyFlat(mask.apply({ top, sub }), isFlat);
      },
    },
  ];
};
