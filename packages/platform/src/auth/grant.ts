/**
 * The last leg of every way in that is not a password at `iam/sessions`: an account that a script named gets a session,
 * through the same ban as everybody. Nobody gets past a ban by coming from another side.
 */
import { problem } from '../codes.ts';
import type { Domain, Domains, User } from '../domains/types.ts';
import type { Ban } from './ban.ts';
import { isDisabled } from './reach.ts';
import type { SessionKind } from './session-rows.ts';
import type { Issued, Sessions } from './sessions.ts';

export type Account = { readonly domain: string; readonly login: string };

type Granted = Issued & { readonly home: Domain; readonly user: User };

export type Grant = (
  account: Account,
  client: { readonly kind: SessionKind; readonly address: string; readonly agent: string },
) => Promise<Granted>;

/** 403 when there is no such account or it is switched off, 429 when banned. */
export const createGrant =
  (parts: { readonly domains: Domains; readonly ban: Ban; readonly sessions: Sessions }): Grant =>
  async ({ domain, login }, { kind, address, agent }) => {
    const name = domain.toLowerCase();
    const { found } = await parts.ban.attempt({ domain: name, login, address }, async () => {
      const home = await parts.domains.open(name);
      const user = await home?.read((rows) => rows.userByLogin(login));
      const account = home && user && !isDisabled(user) ? { home, user } : undefined;
      return { ok: account !== undefined, found: account };
    });
    if (!found) throw problem('forbidden', { message: 'There is no account for you' });
    const { home, user } = found;
    const where = { kind, home: home.name, domain: home.name, userId: user.id };
    return { ...found, ...(await parts.sessions.create({ ...where, address, agent })) };
  };
