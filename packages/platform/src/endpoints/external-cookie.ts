/** The cookie RExt: the `ctx` of a scenario that waits, for clients that do not send the form field back. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CookieSecure } from '../auth/cookie.ts';
import type { Json } from '../rest/json.ts';

const NAME = 'RExt';
const PATH = '/rest/v1/iam/external';
const MAX_AGE_SEC = 600;

/** The form field, else the cookie. */
export const readCtx = (request: FastifyRequest, fields: Json): string | undefined => {
  if (typeof fields.ctx === 'string' && fields.ctx !== '') return fields.ctx;
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name = '', value = ''] = pair.trim().split('=', 2);
    if (name === NAME && value !== '') return value;
  }
  return undefined;
};

const write = (request: FastifyRequest, reply: FastifyReply, value: string, ageSec: number, secure: CookieSecure) => {
  const flag = secure === 'always' || request.protocol === 'https' ? '; Secure' : '';
  reply.header('set-cookie', `${NAME}=${value}; Path=${PATH}; Max-Age=${ageSec}; HttpOnly; SameSite=Strict${flag}`);
};

export const setCtx = (request: FastifyRequest, reply: FastifyReply, ctx: string, secure: CookieSecure): void =>
  write(request, reply, ctx, MAX_AGE_SEC, secure);

export const clearCtx = (request: FastifyRequest, reply: FastifyReply, secure: CookieSecure): void =>
  write(request, reply, '', 0, secure);
