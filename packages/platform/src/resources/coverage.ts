/**
 * The coverage rule: whoever gives a role, or changes who may sign in as its holder, must hold the routes of that role
 * himself. Here is what the resources ask of it; `Caller.covers` decides.
 */
import { cannotApply, problem } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Caller, Domain, Role, RouteRule } from '../domains/types.ts';

/** Deepest chain of parents; longer is a circle. */
const MAX_PARENTS = 64;

/** All routes a role gives: its own and those of its parents upwards. */
export const routesOf = (domain: Domain, role: Role): RouteRule[] => {
  const routes: RouteRule[] = [];
  let current: Role | undefined = role;
  for (let depth = 0; current && depth < MAX_PARENTS; depth++) {
    routes.push(...(Array.isArray(current.routes) ? current.routes : []));
    current = domain.get('role', String(current.parent_id)) as Role | undefined;
  }
  return routes;
};

/** 403 unless the caller covers each of these roles of the domain. Unknown names are the business of another check. */
export const requireCoverage = (caller: Caller, domain: Domain, roleNames: readonly string[], field: string): void => {
  const routes = roleNames.flatMap((name) => {
    const role = domain.roleByName(name);
    return role ? routesOf(domain, role) : [];
  });
  if (routes.length > 0 && !caller.covers(routes)) {
    throw problem('forbidden', { details: { field, reason: 'not covered by your own roles' } });
  }
};

/** 403 unless the caller covers everything this user may do, when it is not the caller himself. */
export const requireCoverageOfUser = (caller: Caller, domain: Domain, userId: string, field: string): void => {
  if (caller.userId === userId && caller.home.name === domain.name) return;
  requireCoverage(caller, domain, domain.rights.deepRolesOf(userId), field);
};

/** 422 when a name is no role of the domain. */
export const requireRoles = (domain: Domain, roleNames: readonly string[], field: string): void => {
  for (const name of roleNames) if (!domain.roleByName(name)) throw cannotApply(field, 'unknown role', { value: name });
};

/** Roles of the groups that include this one, at any depth: whoever enters it gains them too. */
export const rolesAbove = (domain: Domain, groupId: string): string[] => {
  const reached = new Set([groupId]);
  for (const current of reached) {
    for (const group of domain.all('group')) {
      if (stringsAt(group, 'opts', 'groups').includes(current)) reached.add(String(group.id));
    }
  }
  reached.delete(groupId);
  return [...reached].flatMap((group) => stringsAt(domain.get('group', group), 'opts', 'roles'));
};
