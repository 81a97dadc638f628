/** The part of the composition that sends mail and makes invitations. */
import { systemClock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Auth } from './auth/auth.ts';
import { alphabetOf, createPasswordPolicy, policyLimitsIn } from './auth/password-policy.ts';
import type { Domain } from './domains/types.ts';
import { createInviteEndpoints } from './endpoints/invites.ts';
import { createAcceptance } from './invites/accept.ts';
import { openInvites } from './invites/invites.ts';
import { isMailAddress } from './mail/message.ts';
import { type Outbox, openOutbox } from './mail/outbox.ts';
import { createMailRoutes, type MailRoutes } from './mail/routes.ts';
import { createSendMail } from './mail/send.ts';
import type { Platform } from './platform.ts';
import type { RestEndpoint } from './rest/endpoint.ts';
import { createScriptHttp } from './scripts/http.ts';
import type { ScriptServices } from './scripts/services.ts';
import type { PlatformSettings } from './settings.ts';

export type RunningMail = AsyncDisposable & {
  readonly outbox: Outbox;
  readonly routes: MailRoutes;
};

/** Starts sending what waits; ends when disposed. */
export const startMail = (values: PlatformSettings, { engine, model, secrets }: Platform, log: Log): RunningMail => {
  const { domains } = engine;
  const timeoutMs = values['mail.timeout'];
  const routes = createMailRoutes({ domains, model, secrets });
  const outbox = openOutbox({
    store: domains.store,
    clock: systemClock,
    log,
    secrets,
    routes,
    send: createSendMail({ timeoutMs, caFile: values['mail.ca_file'] }),
    retryAfterMs: values['mail.retry_after'],
    timeoutMs,
  });
  return { outbox, routes, [Symbol.asyncDispose]: () => outbox[Symbol.asyncDispose]() };
};

/** What elements 120 to 122 of scripts ask for. */
export const createMessageServices = (
  values: PlatformSettings,
  { engine }: Platform,
  { outbox, routes }: RunningMail,
): Required<Pick<ScriptServices, 'http' | 'mail' | 'masterSetting'>> => ({
  http: createScriptHttp({ allowedHosts: values['scripts.http_hosts'] }),
  mail: {
    isAddress: isMailAddress,
    send: async (domain, messages, account) => {
      if (!(await routes.find(domain, account))) return false;
      const by = account === undefined ? {} : { account };
      await outbox.post(messages.map((message) => ({ ...message, ...by, domain })));
      return true;
    },
  },
  masterSetting: (key) => engine.domains.master.setting(key),
});

type Parts = {
  readonly values: PlatformSettings;
  readonly platform: Platform;
  readonly auth: Auth;
  readonly mail: RunningMail;
  readonly log: Log;
  /** The address the platform listens on. */
  ownUrl(): string;
};

export type StartedInvites = AsyncDisposable & { readonly endpoints: readonly RestEndpoint[] };

export const startInvites = ({ values, platform, auth, mail, log, ownUrl }: Parts): StartedInvites => {
  const { engine, model, resources, passwords } = platform;
  const { domains, writer } = engine;
  const { store } = domains;
  const { outbox, routes } = mail;
  const alphabet = alphabetOf(values['password.alphabet']);
  const shared = { store, clock: systemClock, log, classes: model.classes, outbox, routes };
  const invites = openInvites({
    ...shared,
    lifetimeMs: values['invite.lifetime'],
    intervalMs: values['invite.interval'],
    domainOf: (name) => domains.open(name),
    publicUrlOf: (domain) => publicUrlOf(domain, domains.master, values.public_url || ownUrl()),
    stamp: model.stamp,
  });
  const acceptance = createAcceptance({
    ...shared,
    domains,
    writer,
    users: resources.users,
    passwords,
    policy: createPasswordPolicy(passwords),
    limitsOf: (domain) => policyLimitsIn(domain, alphabet),
    endSessions: (owner) => auth.sessions.endAllOf(owner),
  });
  return {
    endpoints: createInviteEndpoints({ auth, domains, invites, acceptance }),
    [Symbol.asyncDispose]: () => invites[Symbol.asyncDispose](),
  };
};

/** Where people reach a domain: its own setting, the master's, the service's. Never what a request calls us. */
export const publicUrlOf = (domain: Domain, master: Domain, fallback: string): string => {
  const [url = fallback] = [domain, master]
    .map((each) => each.setting('public_url')?.value)
    .filter((value) => typeof value === 'string' && URL.canParse(value));
  return String(url).replace(/\/+$/, '');
};
