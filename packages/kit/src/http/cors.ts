/** Cross-origin requests, for the origins a service names; without this none are answered for. */
import type { FastifyInstance } from 'fastify';

export type CorsOptions = {
  /** Origins as browsers send them (`https://example.org`), or `*` for any. Credentials are never allowed. */
  readonly origins: readonly string[];
  readonly exposedHeaders: readonly string[];
};

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** How long a browser may remember the answer to a preflight, s. */
const PREFLIGHT_MAX_AGE_SEC = '600';

/** Runs before the guards, since a browser sends no key with its preflight. */
export const addCors = (app: FastifyInstance, { origins, exposedHeaders }: CorsOptions): void => {
  const allowed = new Set(origins);
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    reply.raw.setHeader('vary', 'Origin');
    if (origin === undefined || !(allowed.has('*') || allowed.has(origin))) return done();
    reply.raw.setHeader('access-control-allow-origin', allowed.has('*') ? '*' : origin);
    reply.raw.setHeader('access-control-expose-headers', exposedHeaders.join(', '));
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return done();
    const wanted = request.headers['access-control-request-headers'];
    if (wanted !== undefined) reply.header('access-control-allow-headers', wanted);
    reply.headers({ 'access-control-allow-methods': METHODS, 'access-control-max-age': PREFLIGHT_MAX_AGE_SEC });
    reply.code(204).send();
  });
};
