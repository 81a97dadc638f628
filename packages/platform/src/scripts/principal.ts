/**
 * A script as a caller. Its rights are the routes of the setting `svcscript_rights` of its own domain: `value` for every
 * script, `scripts` by code for some more. Accounts are another matter: entities.ts.
 */
import { compileRule, covers } from '../auth/route-pattern.ts';
import type { Caller, Domain, Entity, RouteRule } from '../domains/types.ts';
import { isObject } from '../rest/json.ts';

const SETTING = 'svcscript_rights';

/** Routes that a script of this code has in its domain. */
export const scriptRoutesOf = (domain: Domain, code: string): RouteRule[] => {
  const setting = domain.setting(SETTING);
  const more = isObject(setting?.scripts) && Object.hasOwn(setting.scripts, code) ? setting.scripts[code] : undefined;
  return [...routesIn(setting?.value), ...routesIn(more)];
};

const routesIn = (value: unknown): RouteRule[] =>
  (Array.isArray(value) ? value : [])
    .filter(isObject)
    .filter(({ methods, url }) => Array.isArray(methods) && typeof url === 'string') as unknown as RouteRule[];

/** The script as it acts in `domain`; `home` is the domain whose script it is. */
export const createScriptCaller = (
  home: Domain,
  script: { readonly id: string; readonly code: string },
  domain: Domain,
  { address, runId }: { readonly address: string; readonly runId: string },
): Caller => {
  const rules = scriptRoutesOf(home, script.code).map(compileRule);
  return {
    domain,
    home,
    userId: script.id,
    login: '',
    name: `svcscript ${script.code}`,
    roles: [],
    address,
    session: { kind: 'script', id: runId },
    covers: (routes) => covers(rules, routes.map(compileRule)),
  };
};

/** True when scripts may read and change the account. */
export const isForScripts = (user: Entity | undefined): boolean =>
  isObject(user?.opts) && user.opts.allow_script_crud === true;
