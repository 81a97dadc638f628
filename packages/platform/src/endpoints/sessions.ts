/** Signing in and out: POST of `iam/sessions`, and `iam/sessions/current`, for cookies and for tokens. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Auth } from '../auth/auth.ts';
import { clearCookie, hasCookie, setCookie } from '../auth/cookie.ts';
import { isReachable, reachableOf } from '../auth/reach.ts';
import type { Session } from '../auth/session-rows.ts';
import { type WebApp, webappsOf } from '../auth/webapps.ts';
import { badRequest, problem } from '../codes.ts';
import type { Caller, Domains } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { callerOf, type JsonSchema, type RestCall, type RestEndpoint } from '../rest/endpoint.ts';
import { isObject, type Json } from '../rest/json.ts';
import { readOwnAccount } from './own-account.ts';

type Parts = { readonly auth: Auth; readonly domains: Domains };

const TAG = 'iam/sessions';
const COLLECTION = '/rest/v1/iam/sessions';
const CURRENT = `${COLLECTION}/current`;
const MAX_DOMAIN = 253;
const MAX_LOGIN = 128;

const string: JsonSchema = { type: 'string' };
const bool: JsonSchema = { type: 'boolean' };
const strings: JsonSchema = { type: 'array', items: string };
const object = (properties: Json): JsonSchema => ({ type: 'object', properties });

const SESSION_SCHEMA = object({
  domain: string,
  domain_is_master: bool,
  domains: { type: 'array', items: object({ domain: string, is_master: bool }) },
  login: string,
  name: string,
  name_login: string,
  roles: strings,
  solution: string,
  tags: strings,
  user_id: { type: 'string', format: 'uuid' },
  webapps: { type: 'array', items: { type: 'object' } },
});

const readText = (body: Json, field: string, maxLength: number): string => {
  const value = body[field];
  if (typeof value !== 'string') throw badRequest(field, 'must be text');
  if (value === '' || value.length > maxLength) throw badRequest(field, `must have 1 to ${maxLength} characters`);
  return value;
};

const readBody = async (request: FastifyRequest, verb: 'create' | 'patch'): Promise<Json> => {
  const body = (await readDocument(request, verb)) ?? {};
  if (!isObject(body)) throw badRequest('body', 'must be an object');
  return body;
};

const agentOf = (request: FastifyRequest): string => request.headers['user-agent'] ?? '';

/** The name a client gave us, without its port. */
const hostOf = (request: FastifyRequest): string => request.hostname ?? '';

/** Domain, login and password to a new session of an account. */
const signIn = async ({ auth }: Parts, request: FastifyRequest, body: Json, kind: Session['kind']) => {
  const absent = body.domain === undefined || body.domain === null || body.domain === '';
  const domain = absent ? undefined : readText(body, 'domain', MAX_DOMAIN);
  auth.gate.checkOrigin(request, await auth.domainFor(domain, hostOf(request)));
  const { home, user } = await auth.signIn({
    domain,
    login: readText(body, 'login', MAX_LOGIN),
    pwd: typeof body.pwd === 'string' ? body.pwd : readText(body, 'pwd', Number.POSITIVE_INFINITY),
    address: request.ip,
    host: hostOf(request),
  });
  const where = { kind, home: home.name, domain: home.name, userId: user.id };
  return auth.sessions.create({ ...where, address: request.ip, agent: agentOf(request) });
};

/** A token session with the credentials of the session in the cookie. */
const cloneCookie = async ({ auth }: Parts, request: FastifyRequest, reply: FastifyReply) => {
  const proof = await auth.gate.proveCookie(request);
  if (!proof) return auth.gate.unprovenCookie(request, reply);
  auth.gate.checkOrigin(request, proof.caller.domain);
  const { home, domain, user_id: userId, id: parent } = proof.session;
  const where = { kind: 'token', home, domain, userId, parent } as const;
  return auth.sessions.create({ ...where, address: request.ip, agent: agentOf(request) });
};

const create =
  (parts: Parts) =>
  async ({ request, reply }: RestCall): Promise<unknown> => {
    const body = await readBody(request, 'create');
    const type = body.session_type ?? undefined;
    if (type === 'token_clone_cookie') return { session_token: (await cloneCookie(parts, request, reply)).token };
    if (type === 'token') return { session_token: (await signIn(parts, request, body, 'token')).token };
    if (type !== undefined) throw badRequest('session_type', 'must be token or token_clone_cookie');
    const { token, session } = await signIn(parts, request, body, 'cookie');
    setCookie(request, reply, token, session, parts.auth.cookieSecure);
    return reply.code(204).send();
  };

type SessionView = {
  readonly domains: readonly { readonly domain: string; readonly is_master: boolean }[];
  readonly webapps: readonly WebApp[];
  readonly [field: string]: unknown;
};

const show = async (domains: Domains, caller: Caller): Promise<SessionView> => {
  const { domain, home, roles, userId } = caller;
  const user = await readOwnAccount(caller);
  return {
    domain: domain.name,
    domain_is_master: domain.isMaster,
    domains: reachableOf(domains, home, user).map((name) => ({
      domain: name,
      is_master: name === domains.master.name,
    })),
    login: user.login,
    name: user.name,
    name_login: `${user.name} (${user.login})`,
    roles,
    solution: domain.solution,
    tags: user.opts.tags ?? [],
    user_id: userId,
    webapps: webappsOf(domain, roles),
  };
};

const rebind =
  ({ auth, domains }: Parts) =>
  async ({ request, reply }: RestCall): Promise<unknown> => {
    const proof = await auth.gate.proveStrictly(request);
    if (!proof) return auth.gate.unproven(request, reply);
    const { session, caller, user } = proof;
    if (session.kind === 'cookie') auth.gate.checkOrigin(request, caller.domain);
    const name = readText(await readBody(request, 'patch'), 'domain', MAX_DOMAIN).toLowerCase();
    const isKnown = isReachable(domains, caller.home, user, name) && (await domains.open(name)) !== undefined;
    if (!isKnown) throw problem('forbidden', { details: { field: 'domain' } });
    const moved = await auth.sessions.rebind(session, name);
    if ('token' in moved) setCookie(request, reply, moved.token, moved.session, auth.cookieSecure);
    return reply.code(204).send();
  };

const endCurrent =
  ({ auth }: Parts) =>
  async ({ request, reply }: RestCall): Promise<unknown> => {
    const byHeader = request.headers.authorization !== undefined;
    const proof = await auth.gate.proveStrictly(request);
    if (!byHeader) auth.gate.checkOrigin(request, proof?.caller.domain);
    if (proof) await auth.sessions.end(proof.session);
    else await auth.gate.countGuess(request);
    // A cookie session that another credential did not end stays in the browser.
    if (!byHeader || !hasCookie(request)) clearCookie(request, reply, auth.cookieSecure);
    return reply.code(204).send();
  };

export const createSessionEndpoints = (parts: Parts): RestEndpoint[] => [
  {
    method: 'POST',
    path: COLLECTION,
    access: 'open',
    tag: TAG,
    summary: 'Sign in',
    description:
      'Without `session_type` sets the cookie RSession (204); with `token` answers a `session_token`; with `token_clone_cookie` answers one for the session in the cookie.',
    body: object({
      domain: string,
      login: string,
      pwd: string,
      session_type: { enum: ['token', 'token_clone_cookie'] },
    }),
    answer: object({ session_token: string }),
    handle: create(parts),
  },
  {
    method: 'GET',
    path: CURRENT,
    access: 'signed-in',
    tag: TAG,
    summary: 'The session of this request',
    answer: SESSION_SCHEMA,
    handle: (call) => show(parts.domains, callerOf(call)),
  },
  {
    method: 'PATCH',
    path: CURRENT,
    access: 'open',
    tag: TAG,
    summary: 'Move the session to another reachable domain',
    body: object({ domain: string }),
    status: 204,
    handle: rebind(parts),
  },
  {
    method: 'DELETE',
    path: CURRENT,
    access: 'open',
    tag: TAG,
    summary: 'Sign out',
    status: 204,
    handle: endCurrent(parts),
  },
];
