/**
 * The cookie ROAuth: which browser a sign-in was begun in. A browser may be at several at once (two tabs), so the cookie
 * holds the secrets of the last few; the rows keep digests.
 */
import { createToken, sha256Hex } from '@parley/kit/ids.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CookieSecure } from '../auth/cookie.ts';

const NAME = 'ROAuth';
const MAX_AGE_SEC = 600;
const MAX_SECRETS = 4;
const SECRET = /^[A-Za-z0-9_-]{43}$/;

const readSecrets = (request: FastifyRequest): string[] => {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name = '', value = ''] = pair.trim().split('=', 2);
    if (name === NAME)
      return value
        .split('.')
        .filter((each) => SECRET.test(each))
        .slice(-MAX_SECRETS);
  }
  return [];
};

/** Digests of the secrets this browser holds. */
export const browserHashesOf = (request: FastifyRequest): string[] =>
  readSecrets(request).map((each) => sha256Hex(each));

/** Gives the browser a new secret beside those it has; answers its digest. */
export const markBrowser = (request: FastifyRequest, reply: FastifyReply, secure: CookieSecure): string => {
  const secret = createToken();
  const value = [...readSecrets(request).slice(1 - MAX_SECRETS), secret].join('.');
  const flag = secure === 'always' || request.protocol === 'https' ? '; Secure' : '';
  // Lax: the provider's site sends the browser back to us with a link.
  reply.header('set-cookie', `${NAME}=${value}; Path=/oauth; Max-Age=${MAX_AGE_SEC}; HttpOnly; SameSite=Lax${flag}`);
  return sha256Hex(secret);
};
