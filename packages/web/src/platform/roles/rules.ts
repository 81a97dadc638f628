/** Whether rules allow a request, and which of them do: decided by the code the platform decides with. Pure. */
import { compileRoutes } from '../../../../platform/src/auth/route-pattern.ts';

export type RouteRule = { readonly methods: readonly string[]; readonly url: string };
export type NamedRule = RouteRule & { readonly role: string };

export const METHODS = ['*', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'LOOKUP'] as const;

/** A path as the platform sees it: with its base, without query and closing slash. */
const canonicalPath = (entered: string): string => {
  const [path = ''] = entered.trim().split(/[?#]/);
  const full = path.startsWith('/rest/') ? path : `/rest/v1/${path.replace(/^\/+/, '')}`;
  return full.replace(/\/+$/, '');
};

/** The rules that allow this request, in their order. */
export const allowing = <Rule extends RouteRule>(rules: readonly Rule[], method: string, path: string): Rule[] =>
  rules.filter((rule) => compileRoutes([rule]).allows(method, canonicalPath(path)));

export type RoleRow = {
  readonly id: string;
  readonly name: string;
  readonly parent_id: string;
  readonly routes: readonly RouteRule[];
};

/** The rules of roles by their names and of all their parents, each with the role it comes from. */
export const rulesOf = (roles: readonly RoleRow[], names: readonly string[]): NamedRule[] => {
  const seen = new Set<string>();
  const rules: NamedRule[] = [];
  const take = (role: RoleRow | undefined): void => {
    if (!role || seen.has(role.id)) return;
    seen.add(role.id);
    rules.push(...role.routes.map((rule) => ({ ...rule, role: role.name })));
    take(roles.find(({ id }) => id === role.parent_id));
  };
  for (const name of names) take(roles.find((role) => role.name === name));
  return rules;
};
