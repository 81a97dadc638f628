/** `/healthz`: the process answers. `/readyz`: it can serve, and what it cannot do, by name. Neither asks who is asking. */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import type { FastifyInstance } from 'fastify';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { checkExtraMethod } from '../http/extra-method.ts';

type Parts = { readonly store: Store; readonly clock: Clock; readonly log: Log };

const STORE_TIMEOUT_MS = 2000;

/** Why the store cannot be reached now; undefined when it can. */
const checkStore = async ({ store, clock }: Parts): Promise<string | undefined> => {
  const answered = new AbortController();
  const late = clock.delay(STORE_TIMEOUT_MS, answered.signal).then(
    () => 'does not answer',
    () => undefined,
  );
  const read = store.lastSeq(SYSTEM_SPACE).then(
    () => undefined,
    () => 'cannot be reached',
  );
  try {
    return await Promise.race([read, late]);
  } finally {
    answered.abort();
  }
};

/** Checks once how far LOOKUP works on this Node, and puts both addresses on the server. */
export const mountHealth = async (app: FastifyInstance, parts: Parts): Promise<void> => {
  const lookup = await checkExtraMethod();
  if (lookup !== undefined) parts.log.error({ reason: lookup }, 'LOOKUP is served through POST …!lookup only');
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const store = await checkStore(parts);
    reply.code(store === undefined ? 200 : 503);
    return {
      status: store === undefined ? 'ready' : 'not ready',
      checks: { store: store ?? 'ok', lookup: lookup ?? 'ok' },
    };
  });
};
