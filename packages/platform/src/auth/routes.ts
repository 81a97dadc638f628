/** What the roles of an account allow: their own routes and those of their parents, compiled once for each set of roles. */

import { ZERO_UUID } from '@parley/kit/ids.ts';
import type { Domain, Role, RouteRule } from '../domains/types.ts';
import { compileRoutes, type Routes } from './route-pattern.ts';

export type RouteBook = {
  /** Compiled routes of these roles of the domain. */
  routesOf(domain: Domain, roles: readonly string[]): Routes;
};

const MAX_SETS = 1000;
/** Longest chain of parents; save refuses circles, a damaged row must not make an endless loop. */
const MAX_DEPTH = 64;

/** The role and its parents, nearest first. */
export const lineageOf = (domain: Domain, role: Role): Role[] => {
  const line = [role];
  for (let { parent_id } = role; parent_id && parent_id !== ZERO_UUID && line.length < MAX_DEPTH; ) {
    const parent = domain.get('role', parent_id) as Role | undefined;
    if (!parent || line.includes(parent)) break;
    line.push(parent);
    parent_id = parent.parent_id;
  }
  return line;
};

/** Every route that these roles give, their parents' included. Names without a role give nothing. */
export const rulesOf = (domain: Domain, roles: readonly string[]): RouteRule[] =>
  roles.flatMap((name) => {
    const role = domain.roleByName(name);
    return role ? lineageOf(domain, role).flatMap(({ routes }) => routes) : [];
  });

export const createRouteBook = (): RouteBook => {
  const books = new WeakMap<Domain, { version: number; sets: Map<string, Routes> }>();
  return {
    routesOf: (domain, roles) => {
      const version = domain.rights.version();
      let book = books.get(domain);
      if (book?.version !== version) {
        book = { version, sets: new Map() };
        books.set(domain, book);
      }
      const key = roles.join('\n');
      const known = book.sets.get(key);
      if (known) return known;
      const routes = compileRoutes(rulesOf(domain, roles));
      if (book.sets.size >= MAX_SETS) book.sets.clear();
      book.sets.set(key, routes);
      return routes;
    },
  };
};
