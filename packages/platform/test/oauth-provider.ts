/**
 * Providers to sign in with: a real OpenID provider (oidc-provider), and a plain OAuth 2.0 one as some services are. Both
 * on `localhost`, which is another site than 127.0.0.1, where the platform stands.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { Provider } from 'oidc-provider';
import type { CookieBrowser } from './cookie-browser.ts';

export const CLIENT_ID = 'parley';
export const CLIENT_SECRET = 'a-secret-of-at-least-32-characters!';

/** A server that answers what it is given later. */
const startServer = async (): Promise<{
  url: string;
  host: string;
  server: Server;
  handle(by: RequestListener): void;
}> => {
  let handler: RequestListener = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => handler(request, response));
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}`,
    host,
    server,
    handle: (by) => {
      handler = by;
    },
  };
};

const close = async (server: Server): Promise<void> => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
};

type Json = Record<string, unknown>;

export type OpenIdProvider = AsyncDisposable & {
  readonly url: string;
  readonly host: string;
  /** Its private signing key. */
  readonly key: JWK;
  /** Begins to work, once the platform's address is known. */
  open(redirectUri: string): void;
  /** Changes the token answers that follow, on their way out. */
  tamper: ((answer: Json) => Promise<Json> | Json) | undefined;
  /** Codes made from now on are over before they are used. */
  expiresCodes: boolean;
  /** Paths it was asked for. */
  readonly asked: string[];
};

/** Whoever signs in as X is X, X@example.org. */
const accountOf = (sub: string) => ({
  accountId: sub,
  claims: async () => ({
    sub,
    name: `${sub} of Elsewhere`,
    preferred_username: sub,
    email: `${sub}@example.org`,
    email_verified: true,
  }),
});

export const startOpenIdProvider = async (): Promise<OpenIdProvider> => {
  const { url, host, server, handle } = await startServer();
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key: JWK = { ...(await exportJWK(privateKey)), kid: 'k1', use: 'sig', alg: 'RS256' };
  const started: OpenIdProvider = {
    url,
    host,
    key,
    tamper: undefined,
    expiresCodes: false,
    asked: [],
    open: (redirectUri) => {
      const provider = createOpenIdProvider(url, key, redirectUri);
      // What its store does when a code's time is over.
      provider.on('authorization_code.saved', (code) => started.expiresCodes && void code.destroy());
      const answer = provider.callback();
      handle((request, response) => {
        const path = (request.url ?? '').split('?', 1)[0]!;
        started.asked.push(path);
        if (path === '/token' && started.tamper) changeAnswer(response, started.tamper);
        void answer(request, response);
      });
    },
    [Symbol.asyncDispose]: () => close(server),
  };
  return started;
};

const createOpenIdProvider = (url: string, key: JWK, redirectUri: string): Provider =>
  new Provider(url, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['a key for the cookies of the test'] },
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'] },
    findAccount: async (_context, sub) => accountOf(sub),
    ttl: {
      AuthorizationCode: 60,
      AccessToken: 600,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
    // Nobody is asked for consent.
    loadExistingGrant: async (context) => {
      const { client, session, provider, params } = context.oidc;
      const grant = new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! });
      grant.addOIDCScope(String(params!.scope));
      await grant.save();
      return grant;
    },
  });

/** Holds the answer back until it is whole, and sends what becomes of it. */
const changeAnswer = (response: ServerResponse, change: (answer: Json) => Promise<Json> | Json): void => {
  const end = response.end.bind(response);
  response.end = ((body: unknown) => {
    void Promise.resolve(change(JSON.parse(String(body)) as Json)).then((changed) => {
      const bytes = Buffer.from(JSON.stringify(changed));
      response.setHeader('content-length', bytes.length);
      end(bytes);
    });
    return response;
  }) as ServerResponse['end'];
};

export const isReceiver = (url: string): boolean => url.includes('/oauth/receiver');

/** Signs in at the OpenID provider, from an address that leads there; answers the one it sends the browser back to. */
export const signInAtOpenId = async (browser: CookieBrowser, from: string, login = 'olga'): Promise<string> => {
  const form = await browser.follow(from, isReceiver);
  if (isReceiver(form.url)) return form.url;
  const action = /action="([^"]+)"/.exec(form.text)?.[1];
  if (action === undefined) throw new Error(`no form but ${form.status} ${form.text}`);
  const back = await browser.follow(new URL(action, form.url).href, isReceiver, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ prompt: 'login', login, password: 'any' }),
  });
  if (!isReceiver(back.url)) throw new Error(`not sent back but ${back.status} ${back.text}`);
  return back.url;
};

export type PlainProvider = AsyncDisposable & {
  readonly url: string;
  readonly host: string;
  /** What `/me` answers with, and how. */
  info: { status: number; type: string; body: string };
};

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
const isClient = (authorization: string): boolean => {
  const [id, secret] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':');
  return decodeURIComponent(id ?? '') === CLIENT_ID && decodeURIComponent(secret ?? '') === CLIENT_SECRET;
};

/** RFC 6749 with PKCE and nothing else: codes, tokens, and who the token belongs to. */
export const startPlainProvider = async (): Promise<PlainProvider> => {
  const { url, host, server, handle } = await startServer();
  const codes = new Map<string, { challenge: string; redirectUri: string }>();
  const tokens = new Set<string>();
  const me = { id: 4711, login: 'paula', name: 'Paula Plain', contact: { mail: 'paula@example.org' } };
  const started: PlainProvider = {
    url,
    host,
    info: { status: 200, type: 'application/json', body: JSON.stringify(me) },
    [Symbol.asyncDispose]: () => close(server),
  };
  const send = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const authorize = (query: URLSearchParams, response: ServerResponse): void => {
    const code = randomBytes(16).toString('hex');
    const redirectUri = query.get('redirect_uri') ?? '';
    codes.set(code, { challenge: query.get('code_challenge') ?? '', redirectUri });
    const back = new URL(redirectUri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    response.writeHead(302, { location: back.href }).end();
  };
  const token = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await text(request));
    const known = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!isClient(request.headers.authorization ?? '')) return send(response, 401, { error: 'invalid_client' });
    if (known?.challenge !== challenge || known.redirectUri !== form.get('redirect_uri')) {
      return send(response, 400, { error: 'invalid_grant' });
    }
    const access_token = randomBytes(16).toString('hex');
    tokens.add(access_token);
    send(response, 200, { access_token, token_type: 'Bearer', expires_in: 60 });
  };
  handle((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    if (pathname === '/authorize') authorize(searchParams, response);
    else if (pathname === '/token') void token(request, response);
    else if (pathname === '/me' && tokens.has((request.headers.authorization ?? '').replace('Bearer ', ''))) {
      response.writeHead(started.info.status, { 'content-type': started.info.type }).end(started.info.body);
    } else {
      void buffer(request).then(() => response.writeHead(401).end());
    }
  });
  return started;
};
