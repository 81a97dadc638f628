/** What the platform measures besides requests and commits (kit/metrics.ts): sessions, bans, how far memory lags. */
import type { Clock } from '@parley/kit/clock.ts';
import { type Metrics, plain } from '@parley/kit/metrics.ts';
import type { Store } from '@parley/kit/store/store.ts';
import type { BanLedger, LimitedKey } from './auth/ban-ledger.ts';
import { SESSION_KIND } from './auth/session-rows.ts';
import type { LoadedDomains } from './domains/domains.ts';
import { SYSTEM_SPACE } from './domains/types.ts';

/** Counting sessions reads them all; it is done no more often than this. */
const SESSIONS_EVERY_MS = 30_000;
/** Domains whose lag is asked for at a scrape; each costs a query. */
const MAX_LAG_DOMAINS = 200;
/** How long pending entries are counted; there is no end to wait for. */
const PROBE_MS = 100;
const MAX_BANS = 100_000;

export type PlatformState = {
  readonly store: Store;
  readonly domains: LoadedDomains;
  readonly clock: Clock;
};

/** Declares what is asked for at each scrape. */
export const measurePlatform = (metrics: Metrics, { store, domains, clock }: PlatformState): void => {
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void =>
    metrics.gauge({ name: `parley_platform_${name}`, help }, async () => plain(await read()));
  gauge(
    'sessions',
    'Sessions of all nodes that are signed in; those that end for want of use are counted a while longer.',
    atMostEvery(SESSIONS_EVERY_MS, clock, () => countSessions(store, clock)),
  );
  const loaded = () => domains.names().flatMap((name) => domains.loaded(name) ?? []);
  gauge('domains_loaded', 'Domains this node holds in memory.', () => loaded().length);
  // A single process has no feed to follow.
  if (store.driver !== 'postgres') return;
  gauge('feed_lag_entries', 'Changes that the memory furthest behind has not taken in.', async () => {
    const lags = loaded()
      .slice(0, MAX_LAG_DOMAINS)
      .map((memory) => lagOf(store, memory.name, memory.current()));
    return Math.max(0, ...(await Promise.all(lags)));
  });
};

/** Entries of the feed after the one that is taken in. The numbers alone do not say: journal entries take some too. */
const lagOf = async (store: Store, domain: string, current: number): Promise<number> => {
  if ((await store.lastSeq(domain)) <= current) return 0;
  let entries = 0;
  for await (const _entry of store.watch(domain, current, AbortSignal.timeout(PROBE_MS))) entries += 1;
  return entries;
};

const countSessions = async (store: Store, clock: Clock): Promise<number> => {
  const young = { path: 'until_ms', op: '>', value: clock.now() } as const;
  const ended = { path: 'ended_ms', op: '>', value: 0 } as const;
  const [all, over] = await Promise.all([
    store.count(SYSTEM_SPACE, SESSION_KIND, [young]),
    store.count(SYSTEM_SPACE, SESSION_KIND, [young, ended]),
  ]);
  return all - over;
};

/** The last answer while it is young enough. */
const atMostEvery = <T>(ms: number, clock: Clock, read: () => Promise<T>): (() => Promise<T>) => {
  let known: { readonly value: T; readonly atMs: number } | undefined;
  return async () => {
    if (!known || clock.now() - known.atMs >= ms) known = { value: await read(), atMs: clock.now() };
    return known.value;
  };
};

/** The same ledger; what it refuses is counted. */
export const meterBans = (metrics: Metrics, clock: Clock, ledger: BanLedger): BanLedger => {
  if (!metrics.isOn) return ledger;
  /** End of each ban that was met, by key; the keys are digests. */
  const met = new Map<string, number>();
  const refused = metrics.counter({
    name: 'parley_platform_banned_attempts_total',
    help: 'Attempts to sign in that were refused unheard, because too many had failed.',
  });
  metrics.gauge({ name: 'parley_platform_bans', help: 'Bans in force that this node has met.' }, () => {
    for (const [key, untilMs] of met) if (untilMs <= clock.now()) met.delete(key);
    return plain(met.size);
  });
  const note = ({ key }: LimitedKey, untilMs: number): void => {
    refused.add({});
    if (met.size < MAX_BANS) met.set(key, untilMs);
  };
  return {
    ...ledger,
    take: async (key) => {
      const taken = await ledger.take(key);
      if (taken.state === 'banned') note(key, taken.untilMs);
      return taken;
    },
    bannedUntil: async (key) => {
      const untilMs = await ledger.bannedUntil(key);
      if (untilMs !== undefined) note(key, untilMs);
      return untilMs;
    },
    clear: async (key) => {
      met.delete(key.key);
      await ledger.clear(key);
    },
  };
};
