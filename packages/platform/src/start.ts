/** The composition of the platform: every part is made here, in order, and disposed in reverse. */
import { dirname, join } from 'node:path';
import { systemClock } from '@parley/kit/clock.ts';
import { makeNamedFolder, makeWritableFolder } from '@parley/kit/folder.ts';
import type { RequestWatcher } from '@parley/kit/http/request-log.ts';
import { createServer, listen } from '@parley/kit/http/server.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Surroundings } from '@parley/kit/service.ts';
import type { Settings } from '@parley/kit/settings.ts';
import { isPostgres, openStore } from '@parley/kit/store/open.ts';
import manifest from '../package.json' with { type: 'json' };
import { type Auth, openAuth } from './auth/auth.ts';
import { type DbAccounts, openDbAccounts } from './db-accounts/db-accounts.ts';
import { mountAccountPages } from './endpoints/account-pages.ts';
import { createCombinedContactsEndpoints } from './endpoints/combined-contacts.ts';
import { createDbUsersEndpoints } from './endpoints/db-users.ts';
import { mountHealth } from './endpoints/health.ts';
import { createIntegrationTokenEndpoints, openTokenBook, type TokenBook } from './endpoints/integration-tokens.ts';
import { createJournalEndpoints } from './endpoints/journal.ts';
import { createLicenseEndpoints } from './endpoints/license.ts';
import { mountMetrics } from './endpoints/metrics.ts';
import { createNodesEndpoints } from './endpoints/nodes.ts';
import { createAvatarEndpoints } from './endpoints/own-avatar.ts';
import { ownRoutesEndpoint } from './endpoints/own-routes.ts';
import { createOwnUserEndpoints } from './endpoints/own-user.ts';
import { createOpenApiEndpoint, mountReference } from './endpoints/reference.ts';
import { createSessionListEndpoints } from './endpoints/session-list.ts';
import { createSessionEndpoints } from './endpoints/sessions.ts';
import { createSipEndpoints } from './endpoints/sip.ts';
import { createSubordinationsCachesEndpoints } from './endpoints/subordinations-caches.ts';
import { createUsersCachesEndpoints } from './endpoints/users-caches.ts';
import { mountEndpoints } from './endpoints.ts';
import { firstRun } from './first-run.ts';
import { prepareBodies } from './http/body.ts';
import { prepareMethods, rewriteUrl } from './http/method.ts';
import { prepareReplies, renderProblem } from './http/reply.ts';
import { measurePlatform, meterBans } from './metrics.ts';
import { createModelEndpoints } from './model/endpoints.ts';
import { ownSiteOf } from './nodes/own-site.ts';
import type { Nodes } from './nodes/registry.ts';
import { openPlatform, type Platform } from './platform.ts';
import { prepareCompression } from './rest/compress.ts';
import type { RestEndpoint } from './rest/endpoint.ts';
import { resourceEndpoints } from './rest/mount.ts';
import type { PLATFORM_SETTINGS } from './settings.ts';
import { startLayers } from './start-layers.ts';
import { createMessageServices, startInvites, startMail } from './start-mail.ts';
import { openObserved } from './start-metrics.ts';
import { openNodes, tellPlans } from './start-nodes.ts';
import { startScripts } from './start-scripts.ts';
import { createSignInServices, startSignIn } from './start-sign-in.ts';
import { startUpkeep } from './upkeep.ts';

export type RunningPlatform = AsyncDisposable & { readonly url: string; readonly port: number };

const VERSION: string = manifest.version;

type Values = Settings<typeof PLATFORM_SETTINGS>['values'];

/** What a parent gives, and the variables that say where traces go. */
export type Around = Partial<Pick<Surroundings, 'line' | 'socket'>> & {
  readonly env?: Readonly<Record<string, string | undefined>>;
};

/** Starts the platform; resolves when it listens. `around`: what a parent gives; alone, nothing. */
export const startPlatform = async (
  settings: Settings<typeof PLATFORM_SETTINGS>,
  log: Log,
  around: Around = {},
): Promise<RunningPlatform> => {
  const { values } = settings;
  await using stack = new AsyncDisposableStack();
  await makeWritableFolder('data_dir', values.data_dir);
  const nodes = stack.use(openNodes(around.line, log));
  const observed = await openObserved({ values, version: VERSION, env: around.env ?? {}, log }, stack);
  const place = values['storage.url'] || join(values.data_dir, 'platform.sqlite');
  if (!isPostgres(place)) await makeNamedFolder('storage.url', dirname(place));
  const store = observed.observe(stack.use(await openStore(place, log)));
  const platform = stack.use(await openPlatform(values, store, log));
  await firstRun(platform, {
    login: values.admin_login,
    password: values.admin_password,
    dataDir: values.data_dir,
    ...(process.stderr.isTTY ? { tell: (line: string) => process.stderr.write(`${line}\n`) } : {}),
  });
  const auth = stack.use(
    await openAuth({
      ...authParts(values, platform, log),
      meterBans: (ledger) => meterBans(observed.metrics, systemClock, ledger),
    }),
  );
  platform.useBan(auth.ban);
  const tokens = stack.use(openTokenBook({ domains: platform.engine.domains, clock: systemClock, log }));
  const { engine, secrets } = platform;
  const dbAccounts = stack.use(
    openDbAccounts({
      store,
      secrets,
      clock: systemClock,
      log,
      ownPlace: values['storage.url'],
      domains: () => engine.domains,
    }),
  );
  const mail = stack.use(startMail(values, platform, log));
  let ownUrl = '';
  const invites = stack.use(startInvites({ values, platform, auth, mail, log, ownUrl: () => ownUrl }));
  const services = {
    ...createSignInServices({ values, platform, auth }),
    ...createMessageServices(values, platform, mail),
  };
  const scripts = startScripts({ values, platform, services, log });
  const signIn = stack.use(
    startSignIn({ values, platform, auth, log, services, scripts, nodes, ownUrl: () => ownUrl }),
  );
  const layers = stack.use(startLayers({ values, platform, store, nodes, log, ownUrl: () => ownUrl }));
  const more = [...layers.endpoints, ...scripts.endpoints, ...invites.endpoints, ...signIn.endpoints];
  const endpoints = createEndpoints(platform, nodes, auth, tokens, dbAccounts, more);
  const app = createApp(values, observed.watchers, log);
  mountEndpoints(app, endpoints, auth.gate);
  mountReference(app);
  mountAccountPages(app);
  stack.use(startUpkeep(platform, systemClock, log));
  stack.use(tellPlans(platform.engine.domains, nodes));
  measurePlatform(observed.metrics, { store, domains: platform.engine.domains, clock: systemClock });
  mountMetrics(app, observed.metrics, values['metrics.token']);
  await mountHealth(app, { store, clock: systemClock, log });
  const listening = await listen(app, { host: values.host, port: values.port, socket: around.socket });
  stack.defer(() => listening.close());
  ownUrl = listening.url;
  layers.begin();
  const owned = stack.move();
  return { url: listening.url, port: listening.port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};

/** The whole surface on one screen. */
const createEndpoints = (
  platform: Platform,
  nodes: Nodes,
  auth: Auth,
  tokens: TokenBook,
  dbAccounts: DbAccounts,
  more: readonly RestEndpoint[],
): RestEndpoint[] => {
  const { engine, resources, model, sipAccounts } = platform;
  const endpoints: RestEndpoint[] = [
    ...createSessionEndpoints({ auth, domains: engine.domains }),
    ...createSessionListEndpoints({ auth }),
    ownRoutesEndpoint,
    ...createOwnUserEndpoints({ engine, users: resources.users, sipAccounts }),
    ...createAvatarEndpoints({ engine, users: resources.users, model }),
    ...resources.all.flatMap((resource) => resourceEndpoints(engine, resource)),
    ...createUsersCachesEndpoints({ engine, users: resources.users }),
    ...createSubordinationsCachesEndpoints(engine),
    ...createCombinedContactsEndpoints(engine),
    ...createModelEndpoints(engine, model, () => ownSiteOf(nodes)),
    ...createJournalEndpoints(engine, resources.all),
    ...createNodesEndpoints({ engine, nodes, clock: systemClock }),
    ...createIntegrationTokenEndpoints(tokens),
    ...createSipEndpoints(sipAccounts),
    ...createDbUsersEndpoints({ accounts: dbAccounts, isStrict: engine.isStrict }),
    ...createLicenseEndpoints(platform.licences),
    ...more,
    createOpenApiEndpoint(() => endpoints, VERSION),
  ];
  return endpoints;
};

const createApp = (values: Values, watchers: readonly RequestWatcher[], log: Log) => {
  const app = createServer({
    log,
    name: 'platform',
    trustProxies: values.trusted_proxies,
    rewriteUrl,
    render: renderProblem,
    watchers,
  });
  prepareMethods(app);
  prepareBodies(app);
  prepareReplies(app);
  prepareCompression(app);
  app.get('/', (_request, reply) => reply.redirect('/docs', 302));
  return app;
};

const authParts = (values: Values, platform: Platform, log: Log): Parameters<typeof openAuth>[0] => ({
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
