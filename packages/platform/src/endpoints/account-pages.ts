/** The console under `/app-root`, which is also what the link of an invitation, `/invite/<uuid>`, opens. */
import { openPages } from '@parley/kit/http/pages.ts';
import { builtFolder } from '@parley/web/built.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../codes.ts';

/** Every place within the console, its files, and the invitation. */
const PATHS = ['/app-root', '/app-root/*', '/invite/:id'] as const;

/** Mounts the pages; 404 where they were never built. */
export const mountAccountPages = (app: FastifyInstance): void => {
  const pages = openPages(builtFolder('platform'));
  const handle = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { '*': path = '' } = request.params as { '*'?: string };
    // The address of an invitation opens an account: nobody else is told of it.
    reply.header('referrer-policy', 'no-referrer');
    if (!pages.send(path, request, reply)) {
      throw problem('not_found', { message: 'There is no such file; `npm ci` builds the pages' });
    }
    return reply;
  };
  for (const path of PATHS) app.get(path, handle);
};
