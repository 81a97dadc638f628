/** The composition of the platform: every part is made here, in order, and disposed in reverse. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@parley/kit/clock.ts';
import { createServer, listen } from '@parley/kit/http/server.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Problem } from '@parley/kit/problem.ts';
import type { Settings } from '@parley/kit/settings.ts';
import { openStore } from '@parley/kit/store/open.ts';
import { openAuth } from './auth/auth.ts';
import { renderError } from './codes.ts';
import { createIntegrationTokenEndpoints, openTokenBook } from './endpoints/integration-tokens.ts';
import { createOwnUserEndpoints } from './endpoints/own-user.ts';
import { createSessionEndpoints } from './endpoints/sessions.ts';
import { createSipEndpoints } from './endpoints/sip.ts';
import { mountEndpoints } from './endpoints.ts';
import { firstRun } from './first-run.ts';
import { prepareBodies } from './http/body.ts';
import { prepareMethods, rewriteUrl } from './http/method.ts';
import { prepareReplies } from './http/reply.ts';
import { createModelEndpoints } from './model/endpoints.ts';
import { openPlatform } from './platform.ts';
import { resourceEndpoints } from './rest/mount.ts';
import type { PLATFORM_SETTINGS } from './settings.ts';

export type RunningPlatform = AsyncDisposable & { readonly url: string; readonly port: number };

type Values = Settings<typeof PLATFORM_SETTINGS>['values'];

/** Starts the platform; resolves when it listens. */
export const startPlatform = async (
  settings: Settings<typeof PLATFORM_SETTINGS>,
  log: Log,
): Promise<RunningPlatform> => {
  const { values } = settings;
  await using stack = new AsyncDisposableStack();
  mkdirSync(values.data_dir, { recursive: true, mode: 0o700 });
  const store = stack.use(await openStore(values['storage.url'] || join(values.data_dir, 'platform.sqlite'), log));
  const platform = stack.use(await openPlatform(values, store, log));
  await firstRun(platform, {
    login: values.admin_login,
    password: values.admin_password,
    dataDir: values.data_dir,
    ...(process.stderr.isTTY ? { tell: (line: string) => process.stderr.write(`${line}\n`) } : {}),
  });
  const auth = stack.use(await openAuth(authParts(values, platform, log)));
  const tokens = stack.use(openTokenBook({ domains: platform.engine.domains, clock: systemClock, log }));
  const { engine, resources, sipAccounts } = platform;
  const endpoints = [
    ...resources.all.flatMap((resource) => resourceEndpoints(engine, resource)),
    ...createModelEndpoints(engine, platform.model),
    ...createSessionEndpoints({ auth, domains: engine.domains }),
    ...createOwnUserEndpoints({ engine, users: resources.users, sipAccounts }),
    ...createIntegrationTokenEndpoints(tokens),
    ...createSipEndpoints(sipAccounts),
  ];
  const app = createApp(values, log);
  mountEndpoints(app, endpoints, auth.gate);
  const listening = await listen(app, { host: values.host, port: values.port });
  stack.defer(() => listening.close());
  const owned = stack.move();
  return { url: listening.url, port: listening.port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};

const createApp = (values: Values, log: Log) => {
  const app = createServer({
    log,
    name: 'platform',
    trustProxies: values.trusted_proxies,
    rewriteUrl,
    render: (problem: Problem, { requestId }) => ({
      status: problem.status,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: renderError(problem, requestId),
    }),
  });
  prepareMethods(app);
  prepareBodies(app);
  prepareReplies(app);
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', () => ({ status: 'ready' }));
  app.get('/', (_request, reply) => reply.redirect('/docs', 302));
  return app;
};

const authParts = (
  values: Values,
  platform: Awaited<ReturnType<typeof openPlatform>>,
  log: Log,
): Parameters<typeof openAuth>[0] => ({
  domains: platform.engine.domains,
  clock: systemClock,
  log,
  passwords: platform.passwords,
  cookieSecure: values['cookie.secure'],
  banScope: values['ban.key'],
  maxSessionsPerUser: values['session.max_per_user'],
  lifetimes: {
    cookie: { idleMs: values['session.cookie_idle'], maxMs: values['session.cookie_max'] },
    token: { idleMs: values['session.token_idle'], maxMs: values['session.token_max'] },
  },
  publicUrl: values.public_url === '' ? undefined : values.public_url,
  aliasOf: platform.aliasOf,
  saveHash: platform.saveHash,
});
