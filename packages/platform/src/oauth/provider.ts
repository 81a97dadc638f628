/** The providers people may sign in with: rows of the class oauth/Providers in the master domain, read into what OAuth needs. */

import type { Query } from '@parley/kit/store/store.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { EXPIRES_AT } from '../model/expiry.ts';
import type { Model } from '../model/model.ts';
import { isObject, type Json } from '../rest/json.ts';

const PROVIDERS_CLASS = 'oauth/Providers';

/** How the client proves itself at the token endpoint (RFC 6749 §2.3.1). */
export type TokenAuth = 'post' | 'basic' | 'none';

/** Which claim each of our words comes from; dots lead into objects. */
export type ClaimMap = Readonly<Partial<Record<'sub' | 'login' | 'name' | 'email', string>>>;

export type Provider = {
  readonly id: string;
  /** Changes with the row, so that what was made from it can be kept until then. */
  readonly version: string;
  readonly code: string;
  readonly name: string;
  readonly isEnabled: boolean;
  /** OpenID Connect: there is an id_token. Else the account is read from `uri_info`. */
  readonly isOidc: boolean;
  /** Addresses; empty when the row has none. */
  readonly uriAuthorize: string;
  readonly uriToken: string;
  readonly uriInfo: string;
  readonly uriJwks: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  readonly scope: string;
  /** Domain of its accounts unless the script says otherwise. */
  readonly domain: string;
  readonly site: string;
  readonly authorizeParams: Readonly<Record<string, string>>;
  readonly tokenAuth: TokenAuth;
  readonly usesPkce: boolean;
  readonly map: ClaimMap;
  /** True when id_tokens are signed with the client secret (HS256) instead of a key of the provider's. */
  readonly signsWithSecret: boolean;
};

type Parts = {
  readonly model: Pick<Model, 'classes' | 'source' | 'stamp'>;
  readonly master: DomainMemory;
  readonly secrets: SecretBox;
};

export type Providers = {
  /** The provider of this code, switched on or not. */
  find(code: string): Promise<Provider | undefined>;
  /** Those people may sign in with at this site, by name; the first of each code. */
  usable(site: string): Promise<readonly Provider[]>;
};

/** Most providers a page of sign-in names. */
const MAX_NAMED = 100;

export const createProviders = ({ model, master, secrets }: Parts): Providers => {
  /** Live rows, oldest first. */
  const read = async (query: Query): Promise<Provider[]> => {
    const found = model.classes.find(master, PROVIDERS_CLASS.split('/'));
    if (!found) return [];
    const hits = await (await model.source.open(master, found.model)).query(query);
    const now = model.stamp();
    return hits
      .filter(({ data }) => String(data[EXPIRES_AT] ?? '~') > now)
      .sort((left, right) => (left.id < right.id ? -1 : 1))
      .map(({ id, data }) => readProvider(id, data, secrets));
  };
  return {
    find: async (code) =>
      (await read({ where: [{ path: 'code', op: '=', value: code }] })).find((one) => one.code === code),
    usable: async (site) => {
      const byCode = new Map<string, Provider>();
      for (const provider of await read({ limit: MAX_NAMED })) {
        if (!byCode.has(provider.code)) byCode.set(provider.code, provider);
      }
      return [...byCode.values()]
        .filter((provider) => isUsable(provider, site))
        .sort((left, right) => left.name.localeCompare(right.name));
    },
  };
};

/** Switched on, and for this site. */
export const isUsable = (provider: Provider, site: string): boolean =>
  provider.isEnabled && (provider.site === '' || provider.site === site);

const textOf = (row: Json, name: string): string => {
  const value = row[name];
  return typeof value === 'string' ? value.trim() : '';
};

const TOKEN_AUTH: Readonly<Record<string, TokenAuth>> = {
  client_secret_post: 'post',
  client_secret_basic: 'basic',
  basic: 'basic',
  none: 'none',
};

/** A row as a provider. Never throws: what is missing shows when it is needed. */
const readProvider = (id: string, row: Json, secrets: SecretBox): Provider => {
  const secret = textOf(row, 'client_secret');
  const opts = isObject(row.opts) ? row.opts : {};
  return {
    id,
    version: String(isObject(row.ext) ? row.ext.lwt : ''),
    code: textOf(row, 'code'),
    name: textOf(row, 'name') || textOf(row, 'code'),
    isEnabled: row.enabled !== false,
    isOidc: row.type !== 'oauth2',
    uriAuthorize: textOf(row, 'uri_authorize'),
    uriToken: textOf(row, 'uri_token'),
    uriInfo: textOf(row, 'uri_info'),
    uriJwks: textOf(row, 'uri_jwks'),
    issuer: textOf(row, 'issuer'),
    clientId: textOf(row, 'client_id'),
    clientSecret: secrets.isSealed(secret) ? secrets.open(secret) : secret,
    redirectUri: textOf(row, 'redirect_uri'),
    scope: textOf(row, 'scope'),
    domain: textOf(row, 'domain'),
    site: textOf(row, 'site'),
    authorizeParams: wordsOf(row.authorize_params),
    tokenAuth: TOKEN_AUTH[textOf(row, 'token_auth')] ?? 'post',
    usesPkce: row.pkce !== false,
    map: wordsOf(row.map) as ClaimMap,
    signsWithSecret: opts.id_token_signed_response_alg === 'HS256',
  };
};

/** The members of an object that can stand in a query. */
const wordsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {})
      .filter(([, each]) => ['string', 'number', 'boolean'].includes(typeof each))
      .map(([name, each]) => [name, String(each)]),
  );
