/** Domain, login and password to an account, through the ban. What is unknown takes as long as what is wrong. */
import type { Log } from '@parley/kit/log.ts';
import { problem } from '../codes.ts';
import type { Domain, Domains, User } from '../domains/types.ts';
import type { Ban } from './ban.ts';
import type { Passwords } from './password.ts';
import { isDisabled } from './reach.ts';

type Credentials = {
  /** Absent: what the host stands for, else the only working domain, else the master. */
  readonly domain: string | undefined;
  readonly login: string;
  readonly pwd: string;
  readonly address: string;
  /** Host of the request without its port. */
  readonly host: string;
};

export type SignedIn = { readonly home: Domain; readonly user: User };

/** 401 for a wrong combination, 429 when banned. */
export type SignIn = (credentials: Credentials) => Promise<SignedIn>;

export type SignInParts = {
  readonly domains: Domains;
  readonly ban: Ban;
  readonly passwords: Passwords;
  readonly log: Log;
  /** The domain that the running configuration names for a host. */
  aliasOf(host: string): string | undefined;
  /** Keeps a new hash of the same password. */
  saveHash(home: Domain, userId: string, hash: string): Promise<void>;
};

/** The domain of a request that names none (contract §6). */
export const defaultDomain = (domains: Domains, aliasOf: SignInParts['aliasOf'], host: string): string => {
  const alias = aliasOf(host.toLowerCase());
  if (alias !== undefined) return alias;
  const working = domains.names().filter((name) => name !== domains.master.name);
  return working.length === 1 ? working[0]! : domains.master.name;
};

export const createSignIn = (parts: SignInParts): SignIn => {
  const { domains, ban, passwords, log } = parts;

  /** A stronger hash while the password is at hand. That it is not kept is no reason to refuse. */
  const strengthen = async ({ home, user }: SignedIn, pwd: string): Promise<void> => {
    try {
      await parts.saveHash(home, user.id, await passwords.hash(pwd));
    } catch (error) {
      log.warn({ err: error, user: user.id }, 'a stronger password hash was not kept');
    }
  };

  return async ({ domain, login, pwd, address, host }) => {
    const name = (domain ?? defaultDomain(domains, parts.aliasOf, host)).toLowerCase();
    const check = async () => {
      const home = await domains.open(name);
      const user = await home?.read((rows) => rows.userByLogin(login));
      const verdict = await passwords.verify(user?.pwd, pwd);
      // The password may have been changed while it was checked.
      const now = user && (await home?.read((rows) => rows.user(user.id)));
      const isStill = home !== undefined && user !== undefined && now?.pwd === user.pwd;
      const found = isStill && verdict.ok && !isDisabled(user) ? { home, user } : undefined;
      return { ok: found !== undefined, found, outdated: verdict.outdated };
    };
    const { found, outdated } = await ban.attempt({ domain: name, login, address }, check);
    if (!found) {
      log.info({ domain: name, address }, 'sign-in failed');
      throw problem('wrong_combination');
    }
    if (outdated) await strengthen(found, pwd);
    return found;
  };
};
