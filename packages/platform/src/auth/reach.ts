/** Which domains an account may enter without signing in anew, and which of its roles hold there. */
import type { Domain, Domains, User } from '../domains/types.ts';

/** The home domain first, then those below it that the account lists; `*` in the master is all of them. */
export const reachableOf = (domains: Domains, home: Domain, user: User): string[] => {
  const listed = user.opts.domains ?? [];
  const wanted = home.isMaster && listed.includes('*') ? domains.names() : [...new Set(listed)];
  const below = wanted.filter((name) => name !== home.name && domains.isBelow(name, home.name));
  return [home.name, ...below.sort()];
};

export const isReachable = (domains: Domains, home: Domain, user: User, name: string): boolean =>
  name === home.name || reachableOf(domains, home, user).includes(name);

/** The account's role names that exist where it acts; deep ones, through groups too. */
export const rolesIn = (domain: Domain, home: Domain, userId: string): readonly string[] => {
  const roles = home.rights.deepRolesOf(userId);
  return domain.name === home.name ? roles : roles.filter((name) => domain.roleByName(name) !== undefined);
};

/** An account that is switched off signs in no more and its sessions are dead. */
export const isDisabled = (user: User): boolean => user.opts.disabled === true;
