/** The applications that the roles of an account offer, as the session shows them. */
import type { Domain, Entity } from '../domains/types.ts';
import { lineageOf } from './routes.ts';

export type WebApp = { readonly name: string; readonly order: number; readonly roles: readonly string[] } & Entity;

const DEFAULTS = { description: '', order: 0, icon: '', 'fa-icon': '', url: '' };

const nameOf = (app: Entity): string => (typeof app.name === 'string' ? app.name : '');
const orderOf = (app: Entity): number => (typeof app.order === 'number' ? app.order : 0);

/** Applications of a role: its own override its parents' of the same name. */
const appsOfRole = (domain: Domain, roleName: string): Map<string, Entity> => {
  const apps = new Map<string, Entity>();
  const role = domain.roleByName(roleName);
  for (const each of role ? lineageOf(domain, role) : []) {
    for (const app of Array.isArray(each.webapps) ? each.webapps : []) {
      const name = nameOf(app);
      if (name !== '' && !apps.has(name)) apps.set(name, app);
    }
  }
  return apps;
};

/** Sorted by `order`, then name; `roles` are those of the account that give the application. */
export const webappsOf = (domain: Domain, roles: readonly string[]): WebApp[] => {
  const found = new Map<string, { app: Entity; roles: string[] }>();
  for (const role of roles) {
    for (const [name, app] of appsOfRole(domain, role)) {
      const known = found.get(name);
      if (known) known.roles.push(role);
      else found.set(name, { app, roles: [role] });
    }
  }
  return [...found]
    .map(([name, { app, roles: givers }]) => ({ ...DEFAULTS, ...app, name, order: orderOf(app), roles: givers }))
    .sort((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1));
};
