/** The part of the composition for ways in beside passwords at `iam/sessions`: OAuth and scenarios. */
import { systemClock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Auth } from './auth/auth.ts';
import { createGrant } from './auth/grant.ts';
import { createExternalEndpoints } from './endpoints/external.ts';
import { createOAuthEndpoints } from './endpoints/oauth.ts';
import { createWaysInEndpoint } from './endpoints/ways-in.ts';
import { ownSiteOf } from './nodes/own-site.ts';
import type { Nodes } from './nodes/registry.ts';
import { createOAuthClients } from './oauth/client.ts';
import { createFlow } from './oauth/flow.ts';
import { createProviders } from './oauth/provider.ts';
import { createRequests } from './oauth/requests.ts';
import type { Platform } from './platform.ts';
import type { RestEndpoint } from './rest/endpoint.ts';
import { createScriptCodes } from './scripts/codes.ts';
import { createScriptCounters } from './scripts/counters.ts';
import { createKeySets } from './scripts/key-sets.ts';
import type { ScriptServices } from './scripts/services.ts';
import { createWaitingRuns } from './scripts/waiting-runs.ts';
import type { PlatformSettings } from './settings.ts';
import { publicUrlOf } from './start-mail.ts';
import type { RunningScripts } from './start-scripts.ts';

type Parts = {
  readonly values: PlatformSettings;
  readonly platform: Platform;
  readonly auth: Auth;
  readonly log: Log;
};

export type SignInServices = Required<Pick<ScriptServices, 'signIn' | 'counters' | 'codes' | 'keySets'>>;

/** What the elements of sign-in need. */
export const createSignInServices = ({ values, platform, auth }: Omit<Parts, 'log'>): SignInServices => ({
  signIn: auth.signIn,
  counters: createScriptCounters(auth.ban),
  codes: createScriptCodes({
    store: platform.engine.domains.store,
    secrets: platform.secrets,
    clock: systemClock,
    ban: auth.ban,
  }),
  keySets: createKeySets({ allowedHosts: values['oauth.allow_http_hosts'] }),
});

type More = {
  readonly services: SignInServices;
  readonly scripts: RunningScripts;
  readonly nodes: Nodes;
  /** The address the platform listens on. */
  ownUrl(): string;
};

export type StartedSignIn = AsyncDisposable & { readonly endpoints: readonly RestEndpoint[] };

const SWEEP_MS = 600_000;

export const startSignIn = ({
  values,
  platform,
  auth,
  log,
  services,
  scripts,
  nodes,
  ownUrl,
}: Parts & More): StartedSignIn => {
  const { engine, model, secrets } = platform;
  const { domains } = engine;
  const { master } = domains;
  const clock = systemClock;
  const httpHosts = values['oauth.allow_http_hosts'];
  const grant = createGrant({ domains, ban: auth.ban, sessions: auth.sessions });
  const waiting = createWaitingRuns({ store: domains.store, secrets, clock });
  const providers = createProviders({ model, master, secrets });
  const site = (): string => ownSiteOf(nodes);
  const flow = createFlow({
    master,
    providers,
    requests: createRequests({ model, master, secrets, clock }),
    clients: createOAuthClients({ httpHosts }),
    ban: auth.ban,
    log,
    site,
    httpHosts,
    publicUrl: () => publicUrlOf(master, master, values.public_url || ownUrl()),
    run: scripts.run,
  });
  const sweeper = setInterval(() => {
    Promise.all([waiting.sweep(), services.codes.sweep()]).catch((error: unknown) =>
      log.warn({ err: error }, 'what sign-ins left over was not swept'),
    );
  }, SWEEP_MS);
  return {
    endpoints: [
      ...createOAuthEndpoints({ flow, grant, cookieSecure: auth.cookieSecure }),
      ...createExternalEndpoints({ auth, domains, grant, waiting, run: scripts.run, resume: scripts.resume }),
      createWaysInEndpoint({ auth, domains, providers, site }),
    ],
    [Symbol.asyncDispose]: async () => clearInterval(sweeper),
  };
};
