/** Who may have a layer installed or removed: whoever covers every right that is in it. */
import { problem } from '../codes.ts';
import type { Caller, Domain, RouteRule } from '../domains/types.ts';
import { routesOf } from '../resources/coverage.ts';
import { guardScript } from '../resources/script-guard.ts';
import { isObject, type Json } from '../rest/json.ts';
import type { Manifest } from './manifest.ts';
import type { Owned } from './rows.ts';

const EVERYTHING: readonly RouteRule[] = [{ methods: ['*'], url: '*' }];

export const mayDoEverything = (caller: Caller): boolean => caller.covers(EVERYTHING);

/** 403 unless the caller covers what the layer brings, and what of an installed one would change or go. */
export const requireLayerCoverage = (
  caller: Caller,
  domain: Domain,
  manifest: Manifest | undefined,
  owned: Owned,
): void => {
  if (mayDoEverything(caller)) return;
  // Its code runs on the server itself.
  if (manifest?.service) throw refusal('service', 'a process on the server is a way to every right');
  const routes = [...roleRoutes(domain, manifest), ...ownedRoutes(domain, owned)];
  if (routes.length > 0 && !caller.covers(routes)) throw refusal('roles', 'not covered by your own roles');
  for (const script of manifest?.svcscripts ?? []) {
    const [before] = domain.find('svcscript', 'code', String(script.code));
    guardScript(script, before === undefined ? undefined : domain.get('svcscript', before), { domain, caller });
  }
  for (const id of owned.svcscripts) {
    const script = domain.get('svcscript', id);
    if (script) guardScript(undefined, script, { domain, caller });
  }
};

const refusal = (field: string, reason: string) => problem('forbidden', { details: { field, reason } });

const rulesIn = ({ routes }: Json): RouteRule[] =>
  (Array.isArray(routes) ? routes : [])
    .filter(isObject)
    .filter(({ methods, url }) => Array.isArray(methods) && typeof url === 'string')
    .map((rule) => ({
      methods: (rule.methods as unknown[]).map((method) => String(method).toUpperCase()),
      url: String(rule.url),
    }));

const namedRoutes = (domain: Domain, name: string): RouteRule[] => {
  const role = domain.roleByName(name);
  return role ? routesOf(domain, role) : [];
};

/** Routes of roles it brings, of their parents, and of roles that get applications. */
const roleRoutes = (domain: Domain, manifest: Manifest | undefined): RouteRule[] => [
  ...(manifest?.roles ?? []).flatMap((role) => [
    ...rulesIn(role),
    ...namedRoutes(domain, String(role.name)),
    ...(typeof role.parent === 'string' ? namedRoutes(domain, role.parent) : []),
    ...(typeof role.parent_id === 'string' ? parentRoutes(domain, role.parent_id) : []),
  ]),
  ...(manifest?.webapps ?? []).flatMap(({ roles }) => roles.flatMap((name) => namedRoutes(domain, name))),
];

const parentRoutes = (domain: Domain, id: string): RouteRule[] => {
  const role = domain.get('role', id.toLowerCase());
  return role ? routesOf(domain, role as Parameters<typeof routesOf>[1]) : [];
};

const ownedRoutes = (domain: Domain, { roles, apps }: Owned): RouteRule[] => [
  ...roles.flatMap((id) => parentRoutes(domain, id)),
  ...apps.flatMap(({ role }) => namedRoutes(domain, role)),
];
