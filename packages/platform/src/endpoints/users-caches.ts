/**
 * `domain/users_caches`: groups and roles of users as they work out. A PATCH of what a user has directly is written
 * through to the user and the groups, in one commit; what is deep can only be sent back as it is.
 */
import { badRequest, cannotApply, notFound } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { requireCoverage, rolesAbove } from '../resources/coverage.ts';
import { callerOf, type JsonSchema, type RestCall, type RestEndpoint } from '../rest/endpoint.ts';
import { type Engine, memoryOf } from '../rest/engine.ts';
import { isObject, isSame, type Json } from '../rest/json.ts';
import { listItems } from '../rest/list.ts';
import { applyFlat, maskOf, parseMask } from '../rest/mask.ts';
import { LIST_PARAMETERS } from '../rest/mount.ts';
import { type RawQuery, readFlag, readText } from '../rest/query.ts';
import type { Resource, SaveContext } from '../rest/resource.ts';
import { type ComputedFields, parseComputedQuery } from './computed.ts';

type Parts = { readonly engine: Engine; readonly users: Resource };

const PATH = '/rest/v1/domain/users_caches';
const TAG = 'domain/users_caches';
const FIELDS: ComputedFields = {
  id: 'uuid',
  direct_groups: 'list',
  deep_groups: 'list',
  direct_roles: 'list',
  deep_roles: 'list',
};
const NAMES = Object.keys(FIELDS);
const ALL = maskOf(NAMES, (name) => name);
const STRINGS: JsonSchema = { type: 'array', items: { type: 'string' } };
const SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    direct_groups: STRINGS,
    deep_groups: STRINGS,
    direct_roles: STRINGS,
    deep_roles: STRINGS,
  },
};

const cacheOf = ({ rights }: Domain, user: Entity): Json => {
  const id = String(user.id);
  return {
    id,
    direct_groups: [...rights.directGroupsOf(id)],
    deep_groups: [...rights.deepGroupsOf(id)],
    direct_roles: [...stringsAt(user, 'opts', 'roles')],
    deep_roles: [...rights.rolesOf(user)],
  };
};

const cachesOf = async function* (domain: Domain): AsyncGenerator<Json[]> {
  for await (const page of domain.pages('user')) yield page.map((user) => cacheOf(domain, user));
};

export const createUsersCachesEndpoints = (parts: Parts): RestEndpoint[] => {
  const common = { access: 'route', tag: TAG } as const;
  const item = {
    ...common,
    path: `${PATH}/:id`,
    parameters: [{ name: 'id', in: 'path', description: 'User id.', schema: { type: 'string' } }],
    answer: SCHEMA,
  } as const;
  return [
    {
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List groups and roles of users',
      parameters: LIST_PARAMETERS,
      answer: { type: 'array', items: SCHEMA },
      handle: (call) => {
        const { domain } = callerOf(call);
        const query = parseComputedQuery(parts.engine, call.request.query as RawQuery, FIELDS, 'id');
        return listItems(cachesOf(domain), query, ALL);
      },
    },
    { ...item, method: 'GET', summary: 'Groups and roles of one user', handle: readOne },
    {
      ...item,
      method: 'PATCH',
      summary: 'Set the direct groups and roles of a user',
      body: SCHEMA,
      handle: patchOne(parts),
    },
  ];
};

const readUser = async (call: RestCall): Promise<Entity> => {
  const id = String((call.request.params as { id?: string }).id).toLowerCase();
  const user = await callerOf(call).domain.read((rows) => rows.get('user', id));
  if (!user) throw notFound();
  return user;
};

const readOne = async (call: RestCall): Promise<unknown> => {
  const query = call.request.query as RawQuery;
  const mask = parseMask(readText(query, 'mask'), (name) => name);
  const isFlat = readFlag(query, 'flat');
  const cache = cacheOf(callerOf(call).domain, await readUser(call));
  return applyFlat(mask ? mask.apply(cache) : cache, isFlat);
};

const patchOne =
  ({ engine, users }: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const caller = callerOf(call);
    const domain = memoryOf(engine, caller.domain);
    const id = String((await readUser(call)).id);
    const body = await readDocument(call.request, 'patch');
    if (!isObject(body)) throw badRequest('body', 'must be an object');
    const groups = readNames(body, 'direct_groups');
    const roles = readNames(body, 'direct_roles');
    const held = await engine.writer.write({
      resource: withGroups(users, id, groups),
      domain,
      caller,
      id,
      mode: 'patch',
      body,
      form: (previous) => {
        if (!previous) throw notFound();
        keepComputed(body, cacheOf(domain, previous));
        return roles === undefined
          ? ({ ...previous } as Json)
          : { ...previous, opts: { ...(previous.opts as Json), roles } };
      },
    });
    return cacheOf(domain, held!.entity);
  };

const readNames = (body: Json, name: string): string[] | undefined => {
  const given = body[name];
  if (given === undefined) return undefined;
  if (!Array.isArray(given) || given.some((item) => typeof item !== 'string'))
    throw badRequest(name, 'must be a list of texts');
  return [...new Set(given as string[])];
};

const keepComputed = (body: Json, cache: Json): void => {
  for (const name of ['id', 'deep_groups', 'deep_roles']) {
    if (body[name] !== undefined && !isSame(body[name], cache[name])) throw cannotApply(name, 'cannot be changed');
  }
};

/** Users as ever, and the groups that shall list this one. */
const withGroups = (users: Resource, id: string, wanted: readonly string[] | undefined): Resource => ({
  ...users,
  isExclusive: () => true,
  beforeSave: (draft, previous, context) => {
    users.beforeSave?.(draft, previous, context);
    if (wanted) moveBetweenGroups(id, wanted, context);
  },
});

const moveBetweenGroups = (id: string, wanted: readonly string[], { domain, caller, also }: SaveContext): void => {
  const before = domain.rights.directGroupsOf(id);
  for (const group of wanted.filter((each) => !before.includes(each))) {
    const entity = domain.get('group', group);
    if (!entity) throw cannotApply('direct_groups', 'unknown group', { value: group });
    requireCoverage(
      caller,
      domain,
      stringsAt(entity, 'opts', 'roles').concat(rolesAbove(domain, group)),
      'direct_groups',
    );
    also('group', group, (current) => withUsers(current as Json, (users) => [...users, id]));
  }
  for (const group of before.filter((each) => !wanted.includes(each))) {
    also('group', group, (current) => withUsers(current as Json, (users) => users.filter((user) => user !== id)));
  }
};

const withUsers = (group: Json, change: (users: string[]) => string[]): Json => ({
  ...group,
  opts: { ...(group.opts as Json), users: change([...stringsAt(group, 'opts', 'users')]) },
});
