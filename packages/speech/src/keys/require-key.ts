/** The guards in front of every endpoint: who is asking, and may they. They run before a byte of the body is read. */
import type { Guards } from '@parley/kit/http/endpoint.ts';
import type { FastifyRequest } from 'fastify';
import { problem } from '../core/codes.ts';
import type { Caller } from '../core/types.ts';
import type { KeyRecord } from './key-file.ts';
import type { Keys } from './keys.ts';
import type { RateLimiter } from './rate.ts';

export type SpeechAccess = 'open' | 'key' | 'admin';

/** `open` lets everybody in as an administrator; the composition allows it on loopback addresses only. */
export type GuardParts =
  | { readonly mode: 'apikey'; readonly keys: Keys; readonly rates: RateLimiter }
  | { readonly mode: 'open' };

/** Who calls an endpoint that asks for no credential. */
const NOBODY: Caller = { keyId: '', name: '', admin: false, priority: 'batch', models: [] };
const EVERYBODY: Caller = { keyId: 'open', name: 'open', admin: true, priority: 'interactive', models: ['*'] };

/**
 * One guard for each access. Problems: unauthorized without a usable key, forbidden without the administrative flag,
 * rate_limited above the key's rate; in open mode forbidden for a foreign Host or Origin. On `basicRoutes` (paths as
 * endpoints declare them) the key may also come as basic auth.
 */
export const createGuards = (
  parts: GuardParts,
  basicRoutes: ReadonlySet<string> = new Set(),
): Guards<SpeechAccess, Caller> => {
  if (parts.mode === 'open') {
    const local = (request: FastifyRequest): Caller => {
      requireLocal(request);
      return EVERYBODY;
    };
    return { open: local, key: local, admin: local };
  }
  const { keys, rates } = parts;
  const guard =
    (check: (caller: Caller) => Caller) =>
    (request: FastifyRequest): Caller | Promise<Caller> => {
      const record = keys.find(bearerOf(request) ?? basicOf(request, basicRoutes) ?? protocolKeyOf(request) ?? '');
      if (!record) throw problem('unauthorized', explainMissing(request));
      const admit = (waitSec: number): Caller => check(admitted(record, waitSec));
      const waitSec = rates.take(record.id, record.rps);
      return typeof waitSec === 'number' ? admit(waitSec) : waitSec.then(admit);
    };
  const key = guard((caller) => caller);
  const admin = guard((caller) => {
    if (!caller.admin) throw problem('forbidden', 'This needs an administrative key.');
    return caller;
  });
  return { open: () => NOBODY, key, admin };
};

const admitted = (record: KeyRecord, waitSec: number): Caller => {
  if (waitSec <= 0) return toCaller(record);
  throw problem('rate_limited', `This key may make ${record.rps} requests a second.`, {
    retryAfterSec: Math.ceil(waitSec),
  });
};

const toCaller = (record: KeyRecord): Caller => ({
  keyId: record.id,
  name: record.name,
  admin: record.admin,
  priority: record.priority,
  models: record.models,
});

const BEARER = /^bearer +([^\s]{1,512}) *$/i;

const bearerOf = (request: FastifyRequest): string | undefined => BEARER.exec(request.headers.authorization ?? '')?.[1];

const BASIC = /^basic +([A-Za-z0-9+/_-]{1,1024}={0,2}) *$/i;

/** The password, or the user name where the password is empty (RFC 7617): `http://x:KEY@host` and `http://KEY@host`. */
const basicOf = (request: FastifyRequest, routes: ReadonlySet<string>): string | undefined => {
  const encoded = BASIC.exec(request.headers.authorization ?? '')?.[1];
  if (encoded === undefined || !routes.has(request.routeOptions.url ?? '')) return undefined;
  const [user = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return rest.join(':') || user;
};

const PROTOCOL_KEY = /(?:^|,)\s*openai-insecure-api-key\.([A-Za-z0-9_.~-]{1,512})\s*(?:,|$)/;

/** Browsers can give a WebSocket nothing but names of protocols, so OpenAI's clients put the key into one. */
const protocolKeyOf = ({ headers }: FastifyRequest): string | undefined =>
  headers.upgrade === undefined ? undefined : PROTOCOL_KEY.exec(headers['sec-websocket-protocol'] ?? '')?.[1];

const explainMissing = (request: FastifyRequest): string =>
  request.headers.authorization === undefined
    ? 'An API key is needed: send it as Authorization: Bearer <key>.'
    : 'The API key is unknown, disabled or expired.';

const LOCAL_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Without keys a page of another site, or a name that was pointed at this machine, must not get in. */
const requireLocal = (request: FastifyRequest): void => {
  const { host = '', origin } = request.headers;
  if (!LOCAL_HOSTS.has(host.toLowerCase().replace(/:\d+$/, ''))) {
    throw problem('forbidden', 'Without keys this service answers to localhost only.');
  }
  if (origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host.toLowerCase())) {
    throw problem('forbidden', 'Without keys this service answers no other origin.');
  }
};
