/**
 * Sign-in through a provider in three steps, each a page of its own: away to the provider, back with a code, in with a
 * token. What a step fails with is kept in the request's row; the person gets a page.
 */

import { createTokenBucket } from '@parley/kit/limit.ts';
import type { Log } from '@parley/kit/log.ts';
import { asProblem, Problem } from '@parley/kit/problem.ts';
import * as oidc from 'openid-client';
import { networkOf } from '../auth/address.ts';
import type { Ban } from '../auth/ban.ts';
import type { Account } from '../auth/grant.ts';
import { notFound, problem } from '../codes.ts';
import type { Domain } from '../domains/types.ts';
import type { RunOutcome, RunRequest } from '../scripts/outcome.ts';
import { type OAuthClients, readProviderUrl } from './client.ts';
import { OAuthFault, toOAuthFault } from './fault.ts';
import { exchangeCode } from './identity.ts';
import { isUsable, type Provider, type Providers } from './provider.ts';
import { type Claim, goneRequest, type OAuthRequest, type Requests, showToScript } from './requests.ts';

export type FlowParts = {
  readonly master: Domain;
  readonly providers: Providers;
  readonly requests: Requests;
  readonly clients: OAuthClients;
  readonly ban: Ban;
  readonly log: Log;
  /** The site this server stands on. */
  site(): string;
  readonly httpHosts: readonly string[];
  /** Address under which browsers know us, without a closing slash. */
  publicUrl(): string;
  run(request: RunRequest): Promise<RunOutcome>;
};

/** Who asks: where from, and the digests of the secrets in the browser's cookie. */
export type Visitor = {
  readonly address: string;
  readonly browserHashes: readonly string[];
  readonly signal: AbortSignal;
};

export type Flow = {
  /** Begins a sign-in of a browser; answers the provider's address. */
  begin(code: string, address: string, markBrowser: () => string): Promise<URL>;
  /** Takes the provider's answer (its query as it came); answers the token of the way in. */
  receive(query: string, visitor: Visitor): Promise<{ readonly token: string }>;
  /** Lets in whom the token script names. `admit` makes the session. */
  enter<T>(token: string, visitor: Visitor, admit: (account: Account) => Promise<T>): Promise<T>;
};

const RECEIVER = '/oauth/receiver';
const SCRIPT_SETTING = 'iam_token_svcscript_code';
/** Sign-ins that one network may begin: each is a row. */
const BEGIN_BURST = 120;
const BEGIN_PER_SEC = 1;
const DEFAULT_SCOPE = 'openid profile email';
/** Parameters of the authorization request that a provider's row cannot set otherwise. */
const OWN_PARAMETERS = new Set([
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'response_mode',
  'request',
  'request_uri',
]);
const GRANTED: ReadonlySet<unknown> = new Set([true, 1, 'true', 'ok']);

export const createFlow = (parts: FlowParts): Flow => {
  const begins = createTokenBucket({ ratePerSec: BEGIN_PER_SEC, burst: BEGIN_BURST });
  return {
    begin: async (code, address, markBrowser) => {
      const waitMs = begins.take(networkOf(address));
      if (waitMs > 0) throw problem('too_many', { retryAfterSec: Math.ceil(waitMs / 1000) });
      const provider = await parts.providers.find(code);
      if (!provider || !isUsable(provider, parts.site())) throw notFound();
      try {
        return await begin(parts, provider, address, markBrowser);
      } catch (thrown) {
        const fault = toOAuthFault(thrown);
        parts.log.warn({ provider: code, reason: fault.reason }, 'an OAuth sign-in could not begin');
        throw fault.problem;
      }
    },
    receive: async (query, visitor) => {
      const state = new URLSearchParams(query).getAll('state');
      if (state.length !== 1) throw goneRequest();
      const request = requestOf(await parts.requests.takeState(state[0]!, visitor.browserHashes), goneRequest);
      const token = await keepFault(parts, request, () => receive(parts, request, state[0]!, query));
      return { token };
    },
    enter: async (token, visitor, admit) => {
      const claim = async (): Promise<{ readonly ok: boolean; readonly taken: Claim }> => {
        const taken = await parts.requests.takeToken(token, visitor.browserHashes);
        return { taken, ok: taken.state === 'taken' };
      };
      const request = requestOf((await parts.ban.anonymous(visitor.address, claim)).taken, notFound);
      return keepFault(parts, request, async () => {
        const admitted = await admit(await decide(parts, request, token, visitor));
        await parts.requests.end(request, { status: 'used' });
        return admitted;
      });
    },
  };
};

const requestOf = (claim: Claim, unknown: () => Error): OAuthRequest => {
  if (claim.state === 'taken') return claim.request;
  if (claim.state === 'unknown') throw unknown();
  throw problem('forbidden', { message: 'This sign-in was begun in another browser' });
};

/** Runs a step; what it fails with is noted in the row. */
const keepFault = async <T>(
  { requests, log }: FlowParts,
  request: OAuthRequest,
  step: () => Promise<T>,
): Promise<T> => {
  try {
    return await step();
  } catch (thrown) {
    const fault = toOAuthFault(thrown);
    const { id, providerKey: provider } = request;
    log.info({ request: id, provider, reason: fault.reason }, 'an OAuth sign-in failed');
    // That the reason could not be noted must not hide it.
    await requests
      .end(request, { status: 'failed', error: fault.reason })
      .catch((error: unknown) => log.warn({ request: id, err: error }, 'a failed OAuth sign-in was not noted'));
    throw withProvider(fault.problem, provider);
  }
};

/** Whoever reads the answer can begin again. */
const withProvider = (fault: Problem, provider: string): Problem => {
  const { code, status, message, retryAfterSec, cause } = fault;
  return new Problem({ code, status, message, retryAfterSec, cause, details: { ...fault.details, provider } });
};

const redirectUriOf = ({ publicUrl, httpHosts }: FlowParts, provider: Provider): URL => {
  const own = new URL(publicUrl());
  if (provider.redirectUri === '') return new URL(RECEIVER, own);
  // Our own address may be plain http where the whole installation is.
  return readProviderUrl(provider.redirectUri, 'redirect_uri', [...httpHosts, own.host]);
};

const begin = async (
  parts: FlowParts,
  provider: Provider,
  address: string,
  markBrowser: () => string,
): Promise<URL> => {
  const configuration = await parts.clients.of(provider);
  const { authorization_endpoint: authorizeAt = '' } = configuration.serverMetadata();
  readProviderUrl(authorizeAt, 'uri_authorize', parts.httpHosts);
  const redirectUri = redirectUriOf(parts, provider);
  const verifier = provider.usesPkce ? oidc.randomPKCECodeVerifier() : undefined;
  const nonce = provider.isOidc ? oidc.randomNonce() : undefined;
  const state = await parts.requests.create({
    providerKey: provider.code,
    domain: provider.domain,
    browserHash: markBrowser(),
    address,
    nonce,
    verifier,
  });
  const scope = provider.scope || (provider.isOidc ? DEFAULT_SCOPE : '');
  return oidc.buildAuthorizationUrl(configuration, {
    ...Object.fromEntries(Object.entries(provider.authorizeParams).filter(([name]) => !OWN_PARAMETERS.has(name))),
    response_type: 'code',
    redirect_uri: redirectUri.href,
    state,
    ...(scope === '' ? {} : { scope }),
    ...(nonce === undefined ? {} : { nonce }),
    ...(verifier === undefined
      ? {}
      : { code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }),
  });
};

const receive = async (parts: FlowParts, request: OAuthRequest, state: string, query: string): Promise<string> => {
  const provider = await parts.providers.find(request.providerKey);
  if (!provider || !isUsable(provider, parts.site())) {
    throw new OAuthFault('forbidden', 'The provider is switched off', 'provider is switched off or gone');
  }
  const answered = redirectUriOf(parts, provider);
  answered.search = query;
  const configuration = await parts.clients.of(provider);
  const { nonce, verifier } = request;
  const identity = await exchangeCode({ provider, configuration, answered, state, nonce, verifier });
  return parts.requests.authorize(request, identity);
};

const refused = (message: string, reason: string): OAuthFault => new OAuthFault('forbidden', message, reason);

/** The account that the token script names. */
const decide = async (
  parts: FlowParts,
  request: OAuthRequest,
  token: string,
  { address, signal }: Visitor,
): Promise<Account> => {
  const code = parts.master.setting(SCRIPT_SETTING)?.value;
  if (typeof code !== 'string' || code === '')
    throw new OAuthFault('not_found', 'Not found', `${SCRIPT_SETTING} is not set`);
  const facts = { token, request: showToScript(request) };
  const outcome = await parts.run({ domain: parts.master, code, entry: 'oauth', input: {}, facts, address, signal });
  if (outcome.kind === 'error') throw scriptFault(outcome);
  if (outcome.kind === 'refuse') throw refused(outcome.message, 'the script refused');
  if (outcome.kind === 'form')
    throw refused('Access denied', 'the script asked for a form, which only external sign-in can show');
  const session = outcome.left.session;
  const { result, domain, login } = session ? { result: true, ...session } : outcome.values;
  if (!GRANTED.has(result)) throw refused('There is no account for you', 'the script returned no result');
  if (typeof login !== 'string' || login === '')
    throw refused('There is no account for you', 'the script returned no login');
  const named = typeof domain === 'string' && domain !== '' ? domain : String(request.row.domain ?? '');
  return { domain: named || parts.master.name, login };
};

const scriptFault = ({ error }: RunOutcome & { kind: 'error' }): OAuthFault => {
  const where = `script ${error.script}, object ${error.oId ?? '-'}, step ${error.step}: ${error.reason}`;
  const isOurs = error.problem !== undefined && [429, 503].includes(error.problem.status);
  if (isOurs)
    return Object.assign(new OAuthFault('forbidden', 'Access denied', where), { problem: asProblem(error.problem) });
  if (error.reason === 'unknown_script') return new OAuthFault('not_found', 'Not found', where);
  return refused('Access denied', `${where}: ${error.message}`);
};
