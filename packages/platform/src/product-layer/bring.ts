/**
 * What a layer brings to a domain, and takes away again, as parts of one write: classes, roles with their applications,
 * service scripts. What is there and not its own is never touched.
 */
import { createUuid } from '@parley/kit/ids.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller, Domain, Entity, Kind } from '../domains/types.ts';
import { draftNew, draftReplaced, readInput } from '../rest/draft.ts';
import type { Engine } from '../rest/engine.ts';
import type { WritePart } from '../rest/form.ts';
import type { Json } from '../rest/json.ts';
import type { Resource } from '../rest/resource.ts';
import { refuse } from './fault.ts';
import type { Manifest } from './manifest.ts';
import type { Owned } from './rows.ts';

export type LayerResources = Readonly<Record<'roles' | 'classes' | 'svcscripts', Resource>>;

export type Target = {
  readonly engine: Pick<Engine, 'domains' | 'writer'>;
  readonly resources: LayerResources;
  readonly domain: DomainMemory;
  readonly caller: Caller;
};

export type Brought = { readonly parts: readonly WritePart[]; readonly owned: Owned };

export type Claims = {
  /** What this layer brought before, here or at another site, or left behind: it may be written again. */
  readonly known: Owned;
  /** What it brought here before and brings no more, unless another site has it too. */
  readonly former: Owned;
};

type App = Json & { readonly name: string };
type Named = { readonly resource: Resource; readonly key: string; readonly known: readonly string[] };

const foundBy = (domain: Domain, kind: Kind, key: string, value: string): string | undefined =>
  domain.find(kind, key, value)[0];

/** The parts that bring a layer, and what of the domain is its own then. `metadata`: by the name of the application. */
export const planInstall = async (
  target: Target,
  manifest: Manifest,
  metadata: ReadonlyMap<string, Json>,
  { known, former }: Claims,
): Promise<Brought> => {
  const { roles, classes, svcscripts } = target.resources;
  const apps = appsByRole(manifest, metadata);
  const own = new Set(manifest.roles.map(({ name }) => String(name)));
  const rolesWithApps = manifest.roles.map((role) => withApps(role, apps.get(String(role.name)) ?? []));
  const foreign = new Map([...apps].filter(([role]) => !own.has(role)));
  const parts: WritePart[] = [];
  const bring = async (items: readonly Json[], named: Named): Promise<string[]> => {
    const ids: string[] = [];
    for (const item of items) {
      const part = await partOf(target, item, named);
      parts.push(part);
      ids.push(part.id);
    }
    return ids;
  };
  const classIds = await bring(manifest.classes, { resource: classes, key: 'classname', known: known.classes });
  const roleIds = await bring(rolesWithApps, { resource: roles, key: 'name', known: known.roles });
  const scriptIds = await bring(manifest.svcscripts, { resource: svcscripts, key: 'code', known: known.svcscripts });
  const owned: Owned = {
    classes: classIds,
    roles: roleIds,
    svcscripts: scriptIds,
    apps: [...foreign].flatMap(([role, given]) => given.map(({ name }) => ({ role, name }))),
  };
  const gone = without(former, owned);
  parts.push(...planApps(target, foreign, gone.apps, known.apps), ...planRemoval(target, { ...gone, apps: [] }));
  return { parts, owned };
};

/** The parts that take away what a layer brought. */
export const planRemoval = (target: Target, owned: Owned): WritePart[] => {
  const { roles, classes, svcscripts } = target.resources;
  const removalOf = (resource: Resource) => (id: string) => ({
    resource,
    id,
    mode: 'remove' as const,
    body: { force: true },
    form: () => undefined,
  });
  return [
    ...planApps(target, new Map(), owned.apps, owned.apps),
    // What came last may stand on what came first.
    ...owned.svcscripts.toReversed().map(removalOf(svcscripts)),
    ...owned.roles.toReversed().map(removalOf(roles)),
    ...owned.classes.toReversed().map(removalOf(classes)),
  ];
};

/** What is in the first and not in the second. */
export const without = (left: Owned, right: Owned): Owned => ({
  roles: left.roles.filter((id) => !right.roles.includes(id)),
  svcscripts: left.svcscripts.filter((id) => !right.svcscripts.includes(id)),
  classes: left.classes.filter((id) => !right.classes.includes(id)),
  apps: left.apps.filter(({ role, name }) => !right.apps.some((app) => app.role === role && app.name === name)),
});

/** All of it together. */
export const unite = (all: readonly Owned[]): Owned => ({
  roles: [...new Set(all.flatMap(({ roles }) => roles))],
  svcscripts: [...new Set(all.flatMap(({ svcscripts }) => svcscripts))],
  classes: [...new Set(all.flatMap(({ classes }) => classes))],
  apps: all.flatMap(({ apps }) => apps),
});

const partOf = async (
  { engine, domain, caller }: Target,
  { parent, ...item }: Json,
  { resource, key, known }: Named,
): Promise<WritePart> => {
  const name = String(item[key]);
  const holder = foundBy(domain, resource.kind, key, name);
  if (holder !== undefined && !known.includes(holder))
    refuse(`${resource.path} ${name} is there and not of this layer`);
  const id = holder ?? createUuid();
  const mode = holder === undefined ? 'create' : 'replace';
  const { fields } = readInput(resource, item, true);
  const body = resource.prepare
    ? await resource.prepare(fields, { domain, domains: engine.domains, caller, mode }, id)
    : fields;
  return {
    resource,
    id,
    mode,
    body,
    form: (previous, now) => {
      const input = { fields: { ...body, ...parentOf(now, resource, key, parent) }, ignored: [] };
      return previous ? draftReplaced(resource, input, previous) : draftNew(resource, input, id);
    },
  };
};

const parentOf = (domain: Domain, { kind, path }: Resource, key: string, parent: unknown): Json => {
  if (parent === undefined) return {};
  const id = foundBy(domain, kind, key, String(parent));
  return { parent_id: id ?? refuse(`${path}: parent ${String(parent).slice(0, 80)} is not there`) };
};

const appsByRole = ({ webapps }: Manifest, metadata: ReadonlyMap<string, Json>): Map<string, App[]> => {
  const byRole = new Map<string, App[]>();
  for (const { name, roles } of webapps) {
    const app = { ...metadata.get(name), name };
    for (const role of roles) byRole.set(role, [...(byRole.get(role) ?? []), app]);
  }
  return byRole;
};

const appsOf = (role: Json | Entity): App[] => (Array.isArray(role.webapps) ? (role.webapps as App[]) : []);

const withApps = (role: Json, apps: readonly App[]): Json => {
  const names = new Set(apps.map(({ name }) => name));
  return { ...role, webapps: [...appsOf(role).filter(({ name }) => !names.has(name)), ...apps] };
};

/** Applications in roles that others made: theirs stay as they are. */
const planApps = (
  { resources: { roles }, domain }: Target,
  wanted: ReadonlyMap<string, readonly App[]>,
  gone: Owned['apps'],
  known: Owned['apps'],
): WritePart[] => {
  const names = new Set([...wanted.keys(), ...gone.map(({ role }) => role)]);
  return [...names].flatMap((name) => {
    const id = foundBy(domain, 'role', 'name', name);
    const apps = wanted.get(name) ?? [];
    if (id === undefined) return apps.length === 0 ? [] : refuse(`webapps: role ${name.slice(0, 80)} is not there`);
    const isOurs = (app: string): boolean => known.some((each) => each.role === name && each.name === app);
    const form = (previous: Entity | undefined): Json | undefined => {
      if (!previous) return undefined;
      const clash = appsOf(previous).find((app) => !isOurs(app.name) && apps.some((each) => each.name === app.name));
      if (clash) refuse(`webapps: role ${name} has ${clash.name}, which is not of this layer`);
      const left = appsOf(previous).filter((app) => !gone.some((each) => each.role === name && each.name === app.name));
      return withApps({ ...previous, webapps: left }, apps);
    };
    return [{ resource: roles, id, mode: 'patch' as const, body: {}, form }];
  });
};
