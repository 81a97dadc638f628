/** `domain/roles`: named sets of routes. A role is referred to by its name; a rename changes whoever holds it too. */
import { ZERO_UUID } from '@parley/kit/ids.ts';
import { cannotApply, problem } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Caller, Entity, Kind, Role, RouteRule } from '../domains/types.ts';
import { anything, key, list, object, text, uuid } from '../rest/field.ts';
import { isSame, type Json } from '../rest/json.ts';
import { defineResource, type SaveContext } from '../rest/resource.ts';
import { ADMIN_ROLE, isSystem, keepSystemFlag } from './built-in.ts';
import { routesOf } from './coverage.ts';

const METHOD = /^(\*|[A-Za-z]{1,20})$/;
const MAX_ROUTES = 1000;

const route = object({
  methods: list(key({ required: true, pattern: METHOD }), { required: true, maxItems: 20 }),
  url: key({ required: true, maxLength: 1024 }),
});

export const roles = defineResource({
  path: 'domain/roles',
  kind: 'role',
  summary: 'roles and their routes',
  unique: ['name'],
  lookup: ['name'],
  list: ['id', 'name', 'description', 'parent_id', 'routes', 'opts.title', 'opts.comment', 'ext.lwt', 'ext.ct'],
  fields: {
    name: key({ required: true }),
    description: text({ fallback: '' }),
    parent_id: uuid({ fallback: ZERO_UUID }),
    routes: list(route, { fallback: [], maxItems: MAX_ROUTES }),
    webapps: list(anything({ maxBytes: 16_384 }), { fallback: [], maxItems: 200 }),
  },
  isExclusive: true,
  beforeSave: (draft, previous, context) => {
    draft.routes = (draft.routes as RouteRule[]).map((each) => ({
      ...each,
      methods: each.methods.map((method) => method.toUpperCase()),
    }));
    keepBuiltIn(draft, previous, context.caller);
    checkParent(draft, context);
    checkCoverage(draft, previous, context);
    if (previous && previous.name !== draft.name) rename(previous, String(draft.name), context);
  },
  beforeRemove: (previous, context) => {
    if (isSystem(previous)) throw cannotApply('name', 'built-in roles stay');
    const holders = holdersOf(previous, context);
    if (holders.length === 0) return;
    if (context.body.force !== true) {
      throw cannotApply('name', 'referenced', { by: holders.slice(0, 20).map(({ kind, id }) => ({ kind, id })) });
    }
    requireAll(context, previous as Role);
    for (const { kind, id, without } of holders) context.also(kind, id, without);
  },
});

const EVERYTHING: RouteRule = { methods: ['*'], url: '*' };

/** Nobody makes or unmakes a built-in role, and the administrators' keeps its reach. */
const keepBuiltIn = (draft: Json, previous: Entity | undefined, caller: Caller): void => {
  keepSystemFlag(draft, previous, caller);
  if (previous?.name !== ADMIN_ROLE || !isSystem(previous)) return;
  if (!(draft.routes as RouteRule[]).some((route_) => isSame(route_, EVERYTHING))) {
    throw cannotApply('routes', 'the role of administrators reaches everything');
  }
};

const checkParent = (draft: Json, { domain }: SaveContext): void => {
  let parent = String(draft.parent_id);
  const seen = new Set([String(draft.id)]);
  while (parent !== ZERO_UUID) {
    if (seen.has(parent)) throw cannotApply('parent_id', 'makes a circle');
    seen.add(parent);
    const role = domain.get('role', parent);
    if (!role) throw cannotApply('parent_id', 'unknown role');
    parent = String(role.parent_id ?? ZERO_UUID);
  }
};

/** Routes and parents are ways to more rights: only who covers what the role would give may write it so. */
const checkCoverage = (draft: Json, previous: Entity | undefined, context: SaveContext): void => {
  const guarded = ['routes', 'parent_id', 'webapps', 'name'].filter((name) => !isSame(previous?.[name], draft[name]));
  if (guarded.length === 0) return;
  requireAll(context, draft as unknown as Role);
  if (previous) requireAll(context, previous as Role);
};

const requireAll = ({ caller, domain }: SaveContext, role: Role): void => {
  if (caller.covers(routesOf(domain, role))) return;
  throw problem('forbidden', { details: { field: 'routes', reason: 'not covered by your own roles' } });
};

type Holder = {
  readonly kind: Kind;
  readonly id: string;
  without(current: Entity): Json | undefined;
  renamed(current: Entity, name: string): Json;
};

const swap = (names: readonly string[], old: string, next: string | undefined): string[] =>
  names.flatMap((name) => (name !== old ? [name] : next === undefined ? [] : [next]));

/** Users and groups that hold the role, subordinations and child roles that name it. */
const holdersOf = (role: Entity, { domain }: SaveContext): Holder[] => {
  const old = String(role.name);
  const inOpts = (current: Entity, next: string | undefined): Json => ({
    ...current,
    opts: { ...(current.opts as Json), roles: swap(stringsAt(current, 'opts', 'roles'), old, next) },
  });
  const holders: Holder[] = [];
  for (const kind of ['user', 'group'] as const) {
    const found = domain.select(kind, `${kind}s with the role`, (each) =>
      stringsAt(each, 'opts', 'roles').includes(old),
    );
    for (const { id } of found) {
      holders.push({ kind, id: String(id), without: (current) => inOpts(current, undefined), renamed: inOpts });
    }
  }
  const all = [...holders, ...subordinationsOf(old, domain), ...childrenOf(role, domain)];
  for (const kind of ['user', 'subordination'] as const) {
    domain.need(
      kind,
      all.filter((holder) => holder.kind === kind).map(({ id }) => id),
    );
  }
  return all;
};

const subordinationsOf = (old: string, domain: SaveContext['domain']): Holder[] => {
  const isTopOf = (each: Entity): boolean => each.top_type === 'role' && each.top_key === old;
  const isSubOf = (each: Entity): boolean => each.sub_type === 'role' && stringsAt(each, 'sub_keys').includes(old);
  const holders: Holder[] = [];
  for (const each of domain.select('subordination', 'naming the role', (one) => isTopOf(one) || isSubOf(one))) {
    const [isTop, isSub] = [isTopOf(each), isSubOf(each)];
    const change = (current: Entity, next: string | undefined): Json => ({
      ...current,
      ...(isTop && next !== undefined ? { top_key: next } : {}),
      ...(isSub ? { sub_keys: swap(stringsAt(current, 'sub_keys'), old, next) } : {}),
    });
    holders.push({
      kind: 'subordination',
      id: String(each.id),
      without: (current) => (isTop ? undefined : change(current, undefined)),
      renamed: change,
    });
  }
  return holders;
};

const childrenOf = (role: Entity, domain: SaveContext['domain']): Holder[] => {
  const holders: Holder[] = [];
  for (const each of domain.all('role')) {
    if (each.parent_id !== role.id) continue;
    holders.push({
      kind: 'role',
      id: String(each.id),
      without: (current) => ({ ...current, parent_id: ZERO_UUID }),
      renamed: (current) => current as Json,
    });
  }
  return holders;
};

const rename = (previous: Entity, name: string, context: SaveContext): void => {
  if (isSystem(previous)) throw cannotApply('name', 'built-in roles keep their name');
  for (const { kind, id, renamed } of holdersOf(previous, context)) {
    context.also(kind, id, (current) => renamed(current, name));
  }
};
