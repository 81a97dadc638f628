/** Everything about who is asking, put together once for a process: the order in which its parts are made and ended. */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Domain, Domains } from '../domains/types.ts';
import { watchAccounts } from './account-watch.ts';
import { type Ban, type BanLimits, type BanScope, createBan } from './ban.ts';
import { type BanLedger, openBanLedger } from './ban-ledger.ts';
import { createGate, type Gate } from './caller.ts';
import type { CookieSecure } from './cookie.ts';
import type { Passwords } from './password.ts';
import { createRouteBook } from './routes.ts';
import type { SessionKind } from './session-rows.ts';
import { type Lifetime, openSessions, type Sessions } from './sessions.ts';
import { openSharedBanLedger } from './shared-ban-ledger.ts';
import { createSignIn, defaultDomain, type SignIn } from './sign-in.ts';

export type Auth = AsyncDisposable & {
  readonly gate: Gate;
  readonly sessions: Sessions;
  readonly ban: Ban;
  readonly signIn: SignIn;
  readonly cookieSecure: CookieSecure;
  /** The domain that a sign-in means: the one it names, else what the host stands for. */
  domainFor(named: string | undefined, host: string): Promise<Domain | undefined>;
};

export type AuthParts = {
  readonly domains: Domains;
  readonly clock: Clock;
  readonly log: Log;
  readonly passwords: Passwords;
  readonly cookieSecure: CookieSecure;
  readonly banScope: BanScope;
  readonly maxSessionsPerUser: number;
  readonly lifetimes: Readonly<Record<SessionKind, Lifetime>>;
  /** Address of the whole installation, if one is set. */
  readonly publicUrl: string | undefined;
  /** Counts what the ban refuses. */
  meterBans?(ledger: BanLedger): BanLedger;
  /** The domain that the running configuration names for a host. */
  aliasOf(host: string): string | undefined;
  /** Writes a new hash of the same password to an account. */
  saveHash(home: Domain, userId: string, hash: string): Promise<void>;
};

const SWEEP_MS = 3_600_000;

/** Text of a scalar setting, which is kept as `{ "value": … }`. */
const textSetting = (domain: Domain, key: string): string | undefined => {
  const value = domain.setting(key)?.value;
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** The setting `iam_session` of a domain over the service's own: seconds, `cookie_idle_sec` and so on. */
const lifetimeIn = (home: Domain | undefined, kind: SessionKind, fallback: Lifetime): Lifetime => {
  const setting = home?.setting('iam_session');
  const msOf = (name: string, otherwise: number): number => {
    const seconds = setting?.[`${kind}_${name}_sec`];
    return typeof seconds === 'number' && seconds >= 1 ? seconds * 1000 : otherwise;
  };
  return { idleMs: msOf('idle', fallback.idleMs), maxMs: msOf('max', fallback.maxMs) };
};

/** The setting `iam_ban` of a domain. */
const banLimitsIn = (home: Domain | undefined): Partial<BanLimits> => {
  const { limit, window_sec } = home?.setting('iam_ban') ?? {};
  return {
    ...(typeof limit === 'number' && limit >= 1 ? { limit } : {}),
    ...(typeof window_sec === 'number' && window_sec >= 1 ? { windowMs: window_sec * 1000 } : {}),
  };
};

export const openAuth = async (parts: AuthParts): Promise<Auth> => {
  const { domains, clock, log } = parts;
  const { store } = domains;
  await using stack = new AsyncDisposableStack();
  const ledger = stack.use(
    store.driver === 'postgres' ? openSharedBanLedger(store, clock) : await openBanLedger(store, clock),
  );
  const ban = createBan({
    ledger: parts.meterBans?.(ledger) ?? ledger,
    store,
    clock,
    scope: parts.banScope,
    limitsOf: (domain) => banLimitsIn(domains.loaded(domain)),
  });
  const sessions = stack.use(
    openSessions({
      store,
      clock,
      log,
      maxPerUser: parts.maxSessionsPerUser,
      lifetimeOf: (kind, home) => lifetimeIn(domains.loaded(home), kind, parts.lifetimes[kind]),
    }),
  );
  const sweeper = setInterval(() => {
    ban.sweep().catch((error) => log.warn({ err: error }, 'old sign-in addresses were not swept'));
  }, SWEEP_MS);
  stack.defer(() => clearInterval(sweeper));
  const watch = stack.use(watchAccounts(domains, sessions, log));
  const gate = createGate({
    domains,
    sessions,
    ban,
    routes: createRouteBook(),
    cookieSecure: parts.cookieSecure,
    // People reach a working domain under its own address, or from the master's console.
    publicUrlsOf: (domain) =>
      [textSetting(domain, 'public_url'), textSetting(domains.master, 'public_url') ?? parts.publicUrl].filter(
        (url) => url !== undefined,
      ),
  });
  const signIn = createSignIn({
    domains,
    ban,
    log,
    passwords: parts.passwords,
    aliasOf: parts.aliasOf,
    saveHash: async (home, userId, hash) => {
      watch.expectHash(hash);
      await parts.saveHash(home, userId, hash);
    },
  });
  const owned = stack.move();
  return {
    gate,
    sessions,
    ban,
    signIn,
    cookieSecure: parts.cookieSecure,
    domainFor: (named, host) => domains.open(named?.toLowerCase() ?? defaultDomain(domains, parts.aliasOf, host)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
};
