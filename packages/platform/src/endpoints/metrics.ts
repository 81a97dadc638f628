/** `/metrics` for whoever knows the token of the setting; it is no part of the REST API and knows no sessions. */
import { equalConstantTime, sha256Hex } from '@parley/kit/ids.ts';
import type { Metrics } from '@parley/kit/metrics.ts';
import type { FastifyInstance } from 'fastify';
import { problem } from '../codes.ts';

const BEARER = /^bearer +(\S{1,512}) *$/i;

/** Serves the measures; without a token they are not served at all. */
export const mountMetrics = (app: FastifyInstance, metrics: Metrics, token: string): void => {
  if (token === '') return;
  app.get('/metrics', async (request, reply) => {
    const given = BEARER.exec(request.headers.authorization ?? '')?.[1] ?? '';
    // Digests are of one length, so that the time says nothing of it.
    if (!equalConstantTime(sha256Hex(given), sha256Hex(token))) throw problem('unauthorized');
    const { contentType, body } = await metrics.render();
    return reply.type(contentType).send(body);
  });
};
