/** The composition of the platform: every part is made here, in order, and disposed in reverse. */
import { join } from 'node:path';
import { createServer, listen } from '@parley/kit/http/server.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Settings } from '@parley/kit/settings.ts';
import { openStore } from '@parley/kit/store/open.ts';
import { renderError } from './codes.ts';
import { prepareBodies } from './http/body.ts';
import { prepareMethods, rewriteUrl } from './http/method.ts';
import type { PLATFORM_SETTINGS } from './settings.ts';

export type RunningPlatform = AsyncDisposable & { readonly url: string; readonly port: number };

/** Starts the platform; resolves when it listens. */
export const startPlatform = async (
  settings: Settings<typeof PLATFORM_SETTINGS>,
  log: Log,
): Promise<RunningPlatform> => {
  const { values } = settings;
  await using stack = new AsyncDisposableStack();
  stack.use(await openStore(values['storage.url'] || join(values.data_dir, 'platform.sqlite'), log));
  const app = createServer({
    log,
    name: 'platform',
    trustProxies: values.trusted_proxies,
    rewriteUrl,
    render: (problem, { requestId }) => ({
      status: problem.status,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: renderError(problem, requestId),
    }),
  });
  prepareMethods(app);
  prepareBodies(app);
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', () => ({ status: 'ready' }));
  app.get('/', (_request, reply) => reply.redirect('/docs', 302));
  const listening = await listen(app, { host: values.host, port: values.port });
  stack.defer(() => listening.close());
  log.info({ url: listening.url }, 'platform listens');
  const owned = stack.move();
  return { url: listening.url, port: listening.port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};
