/**
 * From the provider's answer to who it is: the code becomes tokens, the id_token is checked (signature, issuer,
 * audience, authorized party, times, nonce: OpenID Connect Core §3.1.3.7), and `uri_info` adds what it knows.
 */
import { jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { isObject, type Json } from '../rest/json.ts';
import { OAuthFault } from './fault.ts';
import type { ClaimMap, Provider } from './provider.ts';
import type { Identity } from './requests.ts';

export type Exchange = {
  readonly provider: Provider;
  readonly configuration: oidc.Configuration;
  /** The redirect address with the parameters the provider sent to it. */
  readonly answered: URL;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
};

const CLOCK_TOLERANCE_SEC = 60;
/** Largest text of claims that is kept (bytes). */
const MAX_CLAIMS_BYTES = 60_000;
const MAX_WORD = 1024;

/** Throws OAuthFault, or what openid-client and jose throw. */
export const exchangeCode = async (exchange: Exchange): Promise<Identity> => {
  const { provider } = exchange;
  const claims = provider.isOidc ? await claimsByIdToken(exchange) : await claimsByInfo(exchange);
  return readIdentity(claims, provider.map);
};

const checksOf = ({ state, verifier, nonce, provider }: Exchange): oidc.AuthorizationCodeGrantChecks => ({
  expectedState: state,
  ...(verifier === '' ? {} : { pkceCodeVerifier: verifier }),
  ...(provider.isOidc ? { expectedNonce: nonce, idTokenExpected: true } : {}),
});

const claimsByIdToken = async (exchange: Exchange): Promise<Json> => {
  const { configuration, provider, answered } = exchange;
  const tokens = await oidc.authorizationCodeGrant(configuration, answered, checksOf(exchange));
  const claims = tokens.claims() as Json | undefined;
  if (!claims || tokens.id_token === undefined) throw unproven('id_token is missing');
  if (provider.signsWithSecret) await checkSecretSignature(tokens.id_token, provider);
  if (claims.azp !== undefined && claims.azp !== provider.clientId)
    throw unproven('id_token was made out to another client (azp)');
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  const info = await oidc.fetchUserInfo(configuration, tokens.access_token, String(claims.sub));
  // What is signed goes first.
  return { ...(info as Json), ...claims };
};

/** HS256: openid-client leaves signatures with the client secret to others (RFC 7518 §3.2). */
const checkSecretSignature = async (idToken: string, { clientSecret, clientId, issuer }: Provider): Promise<void> => {
  try {
    await jwtVerify(idToken, new TextEncoder().encode(clientSecret), {
      algorithms: ['HS256'],
      issuer,
      audience: clientId,
      clockTolerance: CLOCK_TOLERANCE_SEC,
    });
  } catch (thrown) {
    throw unproven(`id_token: ${(thrown as Error).message}`, thrown);
  }
};

const claimsByInfo = async (exchange: Exchange): Promise<Json> => {
  const { configuration, provider } = exchange;
  const answered = new URL(exchange.answered);
  // Without a known issuer there is nothing to compare it with (RFC 9207 §2.4).
  if (provider.issuer === '') answered.searchParams.delete('iss');
  const tokens = await oidc.authorizationCodeGrant(configuration, answered, checksOf(exchange));
  const headers = new Headers({ accept: 'application/json' });
  const url = new URL(provider.uriInfo);
  const answer = await oidc.fetchProtectedResource(configuration, tokens.access_token, url, 'GET', null, headers);
  if (answer.status !== 200) throw broken(`uri_info answered ${answer.status}`);
  const claims: unknown = await answer.json().catch(() => undefined);
  if (!isObject(claims)) throw broken('uri_info did not answer with a JSON object');
  return claims;
};

const unproven = (reason: string, cause?: unknown): OAuthFault =>
  new OAuthFault('forbidden', 'The answer of the provider does not hold', reason, cause);
const broken = (reason: string): OAuthFault =>
  new OAuthFault('upstream_failed', 'The provider cannot be used now', reason);

/** Where each word is looked for when the provider's row does not say. */
const USUAL_CLAIMS = {
  sub: ['sub', 'id'],
  login: ['preferred_username', 'login', 'username', 'email'],
  name: ['name', 'displayName', 'display_name'],
  email: ['email', 'mail', 'default_email'],
} as const;

/** Who the claims are about. Throws an OAuthFault when they do not say. */
const readIdentity = (claims: Json, map: ClaimMap): Identity => {
  if (Buffer.byteLength(JSON.stringify(claims)) > MAX_CLAIMS_BYTES) throw broken('the claims are too large');
  const word = (of: keyof typeof USUAL_CLAIMS): string => {
    const named = map[of];
    const places = named === undefined || named === '' ? USUAL_CLAIMS[of] : [named];
    for (const place of places) {
      const value = claimAt(claims, place);
      if (typeof value === 'string' && value.trim() !== '') return value.trim().slice(0, MAX_WORD);
      if (typeof value === 'number') return String(value);
    }
    return '';
  };
  const sub = word('sub');
  if (sub === '') throw broken('the claims do not say who it is (sub)');
  return { sub, login: word('login'), name: word('name'), email: word('email'), claims };
};

const claimAt = (claims: Json, path: string): unknown => {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
};
