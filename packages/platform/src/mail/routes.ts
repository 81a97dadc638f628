/**
 * Which server and account a mail of a domain goes out by: rows of the classes `system/MailServers` and
 * `system/MailAccounts` of the domain, else of the master domain.
 */
import type { LoadedDomains } from '../domains/domains.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Domain } from '../domains/types.ts';
import type { Model } from '../model/model.ts';
import type { Json } from '../rest/json.ts';
import type { MailRoute } from './send.ts';

export type MailRoutes = {
  /** The route of the account with this code, without one of the account flagged `isSystem`; undefined when none is. */
  find(domain: string, account?: string): Promise<MailRoute | undefined>;
};

export type MailRoutesParts = {
  readonly domains: LoadedDomains;
  readonly model: Pick<Model, 'classes' | 'source'>;
  readonly secrets: SecretBox;
};

/** Accounts looked at when several are flagged. */
const MAX_ACCOUNTS = 100;
const PORTS = { none: 25, starttls: 587, implicit: 465 } as const;

export const createMailRoutes = ({ domains, model, secrets }: MailRoutesParts): MailRoutes => {
  const rowsOf = async (domain: Domain, name: string, path: string, value: string | boolean): Promise<Json[]> => {
    const found = model.classes.find(domain, ['system', name]);
    if (!found || found.rest.length > 0) return [];
    const rows = await model.source.open(domain, found.model);
    const matching = await rows.query({ where: [{ path, op: '=', value }], limit: MAX_ACCOUNTS });
    return matching.map(({ data }) => data);
  };
  const routeIn = async (domain: Domain, account: string | undefined): Promise<MailRoute | undefined> => {
    const accounts =
      account === undefined
        ? await rowsOf(domain, 'MailAccounts', 'isSystem', true)
        : await rowsOf(domain, 'MailAccounts', 'code', account);
    for (const each of accounts) {
      const [server] = await rowsOf(domain, 'MailServers', 'code', String(each.server));
      if (server && server.enabled !== false) return toRoute(secrets, server, each);
    }
    return undefined;
  };
  return {
    find: async (name, account) => {
      const { master } = domains;
      const domain = await domains.open(name);
      const own = domain && (await routeIn(domain, account));
      return own ?? (domain === master ? undefined : routeIn(master, account));
    },
  };
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const toRoute = (secrets: SecretBox, server: Json, account: Json): MailRoute => {
  const tls = server.tls === 'none' || server.tls === 'implicit' ? server.tls : 'starttls';
  const sealed = textOf(account.pwd);
  const login = textOf(account.login);
  return {
    host: textOf(server.host),
    port: typeof server.port === 'number' ? server.port : PORTS[tls],
    tls,
    ...(login === '' ? {} : { login, password: secrets.isSealed(sealed) ? secrets.open(sealed) : sealed }),
    fromAddress: textOf(account.from_address),
    fromName: textOf(account.from_name),
  };
};
