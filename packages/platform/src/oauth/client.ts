/**
 * A provider's row as a client of it (openid-client): its addresses and keys, how we prove ourselves, what we accept as
 * a signature. Calls go out through kit's outbound fetch, bounded in time and size. Metadata is asked of the provider
 * only where the row names an issuer and leaves addresses out (OpenID Connect Discovery 1.0).
 */
import { fetchOutbound } from '@parley/kit/outbound.ts';
import * as oidc from 'openid-client';
import { OAuthFault } from './fault.ts';
import type { Provider } from './provider.ts';

/** Contract §14: outgoing calls. */
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 262_144;
const CLOCK_TOLERANCE_SEC = 60;
const MAX_KEPT = 100;
/** Metadata that a provider gave is asked for again after this. */
const KEEP_MS = 3_600_000;
/** Signatures made with a key of the provider's; `none` and the client secret are not among them. */
const SIGNATURES = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

export type OAuthClients = {
  /** Throws an OAuthFault when the row does not say enough or the provider does not answer. */
  of(provider: Provider): Promise<oidc.Configuration>;
};

export type OAuthClientOptions = {
  /** `host:port` that may be asked without TLS. */
  readonly httpHosts: readonly string[];
  /** Certificates to trust instead of the system's. */
  readonly ca?: string;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
};

export const createOAuthClients = (options: OAuthClientOptions): OAuthClients => {
  const now = options.now ?? (() => performance.now());
  const kept = new Map<
    string,
    { readonly version: string; readonly atMs: number; readonly made: Promise<oidc.Configuration> }
  >();
  return {
    of: (provider) => {
      const known = kept.get(provider.id);
      if (known?.version === provider.version && now() - known.atMs < KEEP_MS) return known.made;
      const made = configure(provider, options);
      kept.set(provider.id, { version: provider.version, atMs: now(), made });
      if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!);
      // A provider that was away is asked again by the next.
      made.catch(() => {
        if (kept.get(provider.id)?.made === made) kept.delete(provider.id);
      });
      return made;
    },
  };
};

const isHttpAllowed = (url: URL, httpHosts: readonly string[]): boolean => httpHosts.includes(url.host);

const misconfigured = (field: string, reason: string): OAuthFault =>
  new OAuthFault('cannot_apply', 'The provider is not set up', `${field}: ${reason}`);

/** An address of a row: https, or http where the operator allows it. */
export const readProviderUrl = (text: string, field: string, httpHosts: readonly string[]): URL => {
  const url = URL.parse(text);
  if (!url) throw misconfigured(field, text === '' ? 'is missing' : 'must be an absolute URL');
  const isFit = url.protocol === 'https:' || (url.protocol === 'http:' && isHttpAllowed(url, httpHosts));
  if (!isFit) throw misconfigured(field, 'must be an https URL');
  if (url.username !== '' || url.password !== '') throw misconfigured(field, 'must not hold a user name or password');
  return url;
};

const ADDRESSES = {
  uri_authorize: 'uriAuthorize',
  uri_token: 'uriToken',
  uri_info: 'uriInfo',
  uri_jwks: 'uriJwks',
  issuer: 'issuer',
} as const satisfies Record<string, keyof Provider>;

const configure = async (provider: Provider, options: OAuthClientOptions): Promise<oidc.Configuration> => {
  const given = addressesOf(provider, options.httpHosts);
  if (provider.clientId === '') throw misconfigured('client_id', 'is missing');
  if (provider.tokenAuth !== 'none' && provider.clientSecret === '') throw misconfigured('client_secret', 'is missing');
  const fetch = createFetch([...given.values()], options);
  const found = needsDiscovery(provider) ? await discover(provider, fetch) : undefined;
  const metadata = { ...found, ...metadataOf(provider, given) } as oidc.ServerMetadata;
  checkComplete(provider, metadata);
  const client = { [oidc.clockTolerance]: CLOCK_TOLERANCE_SEC };
  const configuration = new oidc.Configuration(metadata, provider.clientId, client, authOf(provider));
  configuration[oidc.customFetch] = fetch;
  configuration.timeout = TIMEOUT_MS / 1000;
  // Which addresses may be without TLS is decided by our own fetch.
  oidc.allowInsecureRequests(configuration);
  if (!provider.signsWithSecret) oidc.enableNonRepudiationChecks(configuration);
  return configuration;
};

const addressesOf = (provider: Provider, httpHosts: readonly string[]): Map<string, URL> => {
  const given = new Map<string, URL>();
  for (const [field, member] of Object.entries(ADDRESSES)) {
    // The issuer of a plain OAuth 2.0 provider is only a name to compare.
    if (provider[member] === '' || (field === 'issuer' && !provider.isOidc)) continue;
    given.set(field, readProviderUrl(provider[member], field, httpHosts));
  }
  return given;
};

const needsDiscovery = ({ isOidc, issuer, uriAuthorize, uriToken, uriJwks, signsWithSecret }: Provider): boolean =>
  isOidc && issuer !== '' && (uriAuthorize === '' || uriToken === '' || (uriJwks === '' && !signsWithSecret));

const discover = async (provider: Provider, fetch: oidc.CustomFetch): Promise<oidc.ServerMetadata> => {
  const options = { [oidc.customFetch]: fetch, timeout: TIMEOUT_MS / 1000, execute: [oidc.allowInsecureRequests] };
  const found = await oidc.discovery(new URL(provider.issuer), provider.clientId, undefined, oidc.None(), options);
  return found.serverMetadata();
};

/** What the row says goes before what the provider says. */
const metadataOf = (provider: Provider, given: ReadonlyMap<string, URL>): Partial<oidc.ServerMetadata> => {
  const entries = {
    authorization_endpoint: given.get('uri_authorize')?.href,
    token_endpoint: given.get('uri_token')?.href,
    userinfo_endpoint: given.get('uri_info')?.href,
    jwks_uri: given.get('uri_jwks')?.href,
  };
  return {
    ...Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)),
    // Compared with `iss` as it is written, so not in the form that URL would give it.
    issuer: issuerOf(provider),
    id_token_signing_alg_values_supported: provider.signsWithSecret ? ['HS256'] : SIGNATURES,
  };
};

/** Without an issuer nothing is compared with it; the library wants one all the same. */
const issuerOf = ({ issuer, uriAuthorize }: Provider): string => issuer || (URL.parse(uriAuthorize)?.origin ?? '');

const checkComplete = (provider: Provider, metadata: oidc.ServerMetadata): void => {
  if (!metadata.authorization_endpoint) throw misconfigured('uri_authorize', 'is missing');
  if (!metadata.token_endpoint) throw misconfigured('uri_token', 'is missing');
  if (provider.isOidc && provider.issuer === '') throw misconfigured('issuer', 'is missing');
  if (provider.isOidc && !provider.signsWithSecret && !metadata.jwks_uri) throw misconfigured('uri_jwks', 'is missing');
  if (!provider.isOidc && provider.uriInfo === '') throw misconfigured('uri_info', 'is missing');
};

const authOf = ({ tokenAuth, clientSecret }: Provider): oidc.ClientAuth => {
  if (tokenAuth === 'none') return oidc.None();
  return tokenAuth === 'basic' ? oidc.ClientSecretBasic(clientSecret) : oidc.ClientSecretPost(clientSecret);
};

/**
 * The hosts an administrator wrote into the row may be private (a provider in one's own network); what a provider's
 * metadata leads to beyond them must be public.
 */
const createFetch = (given: readonly URL[], { httpHosts, ca }: OAuthClientOptions): oidc.CustomFetch => {
  const named = given.map((url) => `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`);
  return async (target, { method, headers, body, signal }) => {
    const url = new URL(target);
    if (url.protocol !== 'https:' && !isHttpAllowed(url, httpHosts)) {
      throw new OAuthFault(
        'upstream_failed',
        'The provider cannot be used now',
        'an address of the provider is not https',
      );
    }
    const answer = await fetchOutbound(url, {
      method,
      headers,
      ...(body === undefined || body === null ? {} : { body: body instanceof Uint8Array ? body : String(body) }),
      ...(signal ? { signal } : {}),
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
      allowedHosts: [...named, ...httpHosts],
      ...(ca === undefined ? {} : { ca }),
    });
    return new Response(mayHaveBody(answer.status) ? new Uint8Array(answer.body) : null, {
      status: answer.status,
      headers: headersOf(answer.headers),
    });
  };
};

/** Statuses for which a Response must be made without a body. */
const mayHaveBody = (status: number): boolean => ![101, 204, 205, 304].includes(status);

const headersOf = (headers: Readonly<Record<string, string | string[] | undefined>>): Headers => {
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) copied.append(name, each);
  }
  return copied;
};
