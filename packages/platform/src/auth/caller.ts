/**
 * The gate: who is asking, and may they ask this. A valid token comes first, then the cookie; then the origin of
 * what acts by cookie; then the roles' routes. Everything that is not declared open passes through here before its body
 * is read, paths that do not exist included.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../codes.ts';
import type { Caller, Domain, Domains, User } from '../domains/types.ts';
import { targetOf } from '../http/method.ts';
import type { Ban } from './ban.ts';
import { type CookieSecure, readCookies, setCookie } from './cookie.ts';
import { checkOrigin } from './csrf.ts';
import { isDisabled, isReachable, rolesIn } from './reach.ts';
import { compileRule, covers } from './route-pattern.ts';
import type { RouteBook } from './routes.ts';
import type { Session, SessionKind } from './session-rows.ts';
import type { Sessions } from './sessions.ts';

/** `signed-in`: any account. `route`: an account with a route for this method and path. */
type GuardedAccess = 'signed-in' | 'route';

/** A session that is live, and the account it stands for. */
type Proof = { readonly session: Session; readonly token: string; readonly user: User; readonly caller: Caller };

export type Gate = {
  /** The caller, or 401, 403 or 429 as a Problem. */
  admit(request: FastifyRequest, reply: FastifyReply, access: GuardedAccess): Promise<Caller>;
  /** For open endpoints that change something: 403 when a browser says that another site asks. */
  checkOrigin(request: FastifyRequest, domain?: Domain): void;
  /** The session of the Authorization header when there is one, valid or not, else of the cookie. */
  proveStrictly(request: FastifyRequest): Promise<Proof | undefined>;
  /** The session of the cookie alone. */
  proveCookie(request: FastifyRequest): Promise<Proof | undefined>;
  /** 401 for a request that proved nothing strictly; counts a session id that was never issued. */
  unproven(request: FastifyRequest, reply: FastifyReply): Promise<never>;
  /** The same where only the cookie counts. */
  unprovenCookie(request: FastifyRequest, reply: FastifyReply): Promise<never>;
  /** Counts a session id that was never issued, where having none is no fault; 429 when banned. */
  countGuess(request: FastifyRequest): Promise<void>;
  /** True when the caller's roles have a route for this method and path. */
  mayCall(caller: Caller, method: string, path: string): boolean;
};

export type GateParts = {
  readonly domains: Domains;
  readonly sessions: Sessions;
  readonly ban: Ban;
  readonly routes: RouteBook;
  readonly cookieSecure: CookieSecure;
  /** The addresses under which browsers know this domain, if any are set. */
  publicUrlsOf(domain: Domain): readonly string[];
};

/** `guessed`: at least one id was sent that was never issued. */
type Search = { readonly proof: Proof | undefined; readonly guessed: boolean };

const NOTHING: Search = { proof: undefined, guessed: false };
const OWN_ACCOUNT = '/rest/v1/iam/users/current';
const OWN_ACCOUNT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PATCH']);
const BEARER = /^bearer +([^ ]+) *$/i;

const createProver = (parts: GateParts) => {
  const { domains, sessions, routes } = parts;
  const open = (name: string): Domain | undefined | Promise<Domain | undefined> =>
    domains.loaded(name) ?? domains.open(name);

  const callerOf = async (
    request: FastifyRequest,
    session: Session,
    user: User,
    home: Domain,
    domain: Domain,
  ): Promise<Caller> => {
    const roles = await home.read((rows) => rolesIn(domain, rows, user.id));
    return {
      domain,
      home,
      userId: user.id,
      login: user.login,
      name: user.name,
      roles,
      address: request.ip,
      session: { kind: session.kind, id: session.id },
      covers: (granted) => covers(routes.routesOf(domain, roles).rules, granted.map(compileRule)),
    };
  };

  /** A live session whose account is gone, or may no longer be where it acts, proves nothing. */
  const prove = async (request: FastifyRequest, session: Session, token: string): Promise<Proof | undefined> => {
    const home = await open(session.home);
    const user = await home?.read((rows) => rows.user(session.user_id));
    if (!home || !user || isDisabled(user)) return undefined;
    const domain = session.domain === home.name ? home : await open(session.domain);
    if (!domain || !isReachable(domains, home, user, domain.name)) return undefined;
    return { session, token, user, caller: await callerOf(request, session, user, home, domain) };
  };

  const search = async (request: FastifyRequest, kind: SessionKind, tokens: readonly string[]): Promise<Search> => {
    let guessed = false;
    for (const token of tokens) {
      const found = await sessions.find(token);
      guessed ||= found.state === 'unknown';
      if (found.state !== 'live' || found.session.kind !== kind) continue;
      const proof = await prove(request, found.session, token);
      if (proof) return { proof, guessed: false };
    }
    return { proof: undefined, guessed };
  };

  const byHeader = async (request: FastifyRequest): Promise<Search> => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
    return token === undefined ? NOTHING : search(request, 'token', [token]);
  };
  const byCookie = async (request: FastifyRequest): Promise<Search> => {
    const tokens = readCookies(request);
    return tokens.length === 0 ? NOTHING : search(request, 'cookie', tokens);
  };
  return { byHeader, byCookie };
};

/** 401, after counting a guess (which may make it 429). The challenge goes only to who tried that way. */
const refuse = async (ban: Ban, request: FastifyRequest, reply: FastifyReply, guessed: boolean): Promise<never> => {
  if (guessed) await ban.unknownSession(request.ip);
  if (request.headers.authorization !== undefined) reply.header('www-authenticate', 'Bearer');
  throw problem('unauthorized');
};

export const createGate = (parts: GateParts): Gate => {
  const { byHeader, byCookie } = createProver(parts);
  const { ban, routes, sessions } = parts;

  const mayCall = ({ domain, roles }: Caller, method: string, path: string): boolean =>
    routes.routesOf(domain, roles).allows(method, path);

  const keepAlive = (request: FastifyRequest, reply: FastifyReply, { session, token }: Proof): void => {
    const renewed = sessions.touch(session);
    if (renewed) setCookie(request, reply, token, renewed, parts.cookieSecure);
  };

  const searchStrictly = (request: FastifyRequest): Promise<Search> =>
    request.headers.authorization === undefined ? byCookie(request) : byHeader(request);

  return {
    mayCall,
    checkOrigin: (request, domain = parts.domains.master) =>
      checkOrigin(request, targetOf(request.raw).method, parts.publicUrlsOf(domain)),
    admit: async (request, reply, access) => {
      const { method, path } = targetOf(request.raw);
      const first = await byHeader(request);
      const second = first.proof ? first : await byCookie(request);
      const { proof } = second;
      if (!proof) return refuse(ban, request, reply, first.guessed || second.guessed);
      const { caller, session } = proof;
      if (session.kind === 'cookie') checkOrigin(request, method, parts.publicUrlsOf(caller.domain));
      keepAlive(request, reply, proof);
      const isOwn = access === 'signed-in' || (path === OWN_ACCOUNT && OWN_ACCOUNT_METHODS.has(method));
      if (!isOwn && !mayCall(caller, method, path)) throw problem('forbidden');
      return caller;
    },
    proveStrictly: async (request) => (await searchStrictly(request)).proof,
    proveCookie: async (request) => (await byCookie(request)).proof,
    unproven: async (request, reply) => {
      const { guessed } = await searchStrictly(request);
      return refuse(ban, request, reply, guessed);
    },
    unprovenCookie: async (request, reply) => {
      const { guessed } = await byCookie(request);
      return refuse(ban, request, reply, guessed);
    },
    countGuess: async (request) => {
      const { guessed } = await searchStrictly(request);
      if (guessed) await ban.unknownSession(request.ip);
    },
  };
};
