/** The cookie RSession: read, set, clear. Its name is the specification's, which rules out the `__Host-` prefix. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { endOf, type SessionData } from './session-rows.ts';

const NAME = 'RSession';
/** What a cleared cookie holds; a client that keeps it has no session and is no guesser. */
const CLEARED = 'deleted';
const LONG_AGO = 'Thu, 01 Jan 1970 00:00:00 GMT';
/** More cookies of one name than a browser would ever send. */
const MAX_VALUES = 4;

/** `always` where TLS ends before a proxy that is not trusted; `auto` goes by the request. */
export type CookieSecure = 'auto' | 'always';

/** The session tokens of a request; more than one when a neighbouring site set a cookie of the same name. */
export const readCookies = (request: FastifyRequest): string[] => {
  const header = request.headers.cookie;
  if (header === undefined || !header.includes(NAME)) return [];
  const values: string[] = [];
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at < 0 || pair.slice(0, at).trim() !== NAME) continue;
    const value = pair
      .slice(at + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1');
    if (value !== '' && value !== CLEARED) values.push(value);
    if (values.length === MAX_VALUES) break;
  }
  return values;
};

/** True when the request brought the cookie, whatever is in it. */
export const hasCookie = (request: FastifyRequest): boolean =>
  (request.headers.cookie ?? '').split(';').some((pair) => pair.trimStart().startsWith(`${NAME}=`));

const write = (
  request: FastifyRequest,
  reply: FastifyReply,
  value: string,
  expires: string,
  secure: CookieSecure,
): void => {
  const flag = secure === 'always' || request.protocol === 'https' ? '; Secure' : '';
  reply.header('set-cookie', `${NAME}=${value}; Path=/; Expires=${expires}; HttpOnly; SameSite=Strict${flag}`);
};

/** Gives the browser the token until the session would end unused. */
export const setCookie = (
  request: FastifyRequest,
  reply: FastifyReply,
  token: string,
  session: SessionData,
  secure: CookieSecure,
): void => write(request, reply, token, new Date(endOf(session)).toUTCString(), secure);

export const clearCookie = (request: FastifyRequest, reply: FastifyReply, secure: CookieSecure): void =>
  write(request, reply, CLEARED, LONG_AGO, secure);
