/**
 * Which databases may be used at all: hosts that the master allows, never the platform's own database, never the
 * excluded one, whatever the storage calls it; and a bounded number of connections for each domain.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@parley/kit/clock.ts';
import { createSemaphore, type Semaphore } from '@parley/kit/semaphore.ts';
import { notFound } from '../codes.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Domain, Domains } from '../domains/types.ts';
import { type Client, rowsOf, withClient } from './connection.ts';
import { createOwnDatabase } from './own-database.ts';
import { checkHost, findTarget, isExcluded, type Target, targetsOf } from './target.ts';

export type Gate = {
  /** Keys of the databases the domain may use. */
  offered(domain: Domain): Promise<string[]>;
  /** Connects and does the job. 404 for what is not offered, 422 `host_not_allowed`, 502 when it cannot be used. */
  use<T>(domain: Domain, instance: string, job: (client: Client, target: Target) => Promise<T>): Promise<T>;
};

export type GateParts = {
  readonly secrets: SecretBox;
  readonly clock: Clock;
  /** Where the platform keeps its own rows (`storage.url`). */
  readonly ownPlace: string;
  domains(): Domains;
};

/** Connections to foreign databases at once, in each domain: slow servers of one must not stop another. */
const MAX_AT_ONCE = 4;
/** How long a list waits for databases to say whether they are our own, and how long that is remembered. */
const PROBE_MS = 5000;
const REMEMBER_MS = 600_000;
const MAX_REMEMBERED = 10_000;

export const createGate = ({ secrets, clock, ownPlace, domains }: GateParts): Gate => {
  const semaphores = new Map<string, Semaphore>();
  const own = createOwnDatabase(ownPlace);
  const verdicts = createVerdicts(clock);
  const placesOf = ({ name }: Domain): Semaphore => {
    const places = semaphores.get(name) ?? createSemaphore(MAX_AT_ONCE);
    semaphores.set(name, places);
    return places;
  };
  /** Connects when the database may be used at all. */
  const use = <T>(
    domain: Domain,
    instance: string,
    job: (client: Client, target: Target) => Promise<T>,
  ): Promise<T> => {
    const target = findTarget(domain, instance);
    if (!target || verdicts.of(target) === 'own') throw notFound();
    checkHost(domains().master, target);
    return placesOf(domain).run(() =>
      withClient(target, secrets, async (client) => {
        if (await isForbidden(client)) {
          verdicts.keep(target, 'own');
          throw notFound();
        }
        return await job(client, target);
      }),
    );
  };
  const isForbidden = async (client: Client): Promise<boolean> => {
    const [row] = await rowsOf<{ database: string }>(client, 'SELECT current_database() AS database');
    return isExcluded(row!.database) || (await own.isReachedBy(client));
  };
  const probe = async (domain: Domain, target: Target, signal: AbortSignal): Promise<void> => {
    if (verdicts.of(target) !== undefined) return;
    checkHost(domains().master, target);
    const isOwn = await placesOf(domain).run(() => withClient(target, secrets, isForbidden), signal);
    verdicts.keep(target, isOwn ? 'own' : 'foreign');
  };
  return {
    use,
    offered: async (domain) => {
      const targets = targetsOf(domain);
      // What cannot be asked cannot be used either: whoever uses it is asked again.
      await withinTime(PROBE_MS, (signal) => targets.map((target) => probe(domain, target, signal)));
      return targets.filter((target) => verdicts.of(target) !== 'own').map(({ instance }) => instance);
    },
  };
};

/** Waits for what is settled in time; what has not begun by then is given up. */
const withinTime = async (ms: number, begin: (signal: AbortSignal) => Promise<unknown>[]): Promise<void> => {
  const ending = new AbortController();
  const time = sleep(ms, undefined, { signal: ending.signal }).catch(() => undefined);
  await Promise.race([Promise.allSettled(begin(ending.signal)), time]);
  ending.abort();
};

/** What is known of targets: whether they are the platform's own database. A changed storage is another target. */
const createVerdicts = (clock: Clock) => {
  const known = new Map<string, { readonly is: 'own' | 'foreign'; readonly untilMs: number }>();
  const nameOf = ({ host, port, login, database }: Target): string => JSON.stringify([host, port, login, database]);
  return {
    of: (target: Target) => {
      const verdict = known.get(nameOf(target));
      return verdict && verdict.untilMs > clock.now() ? verdict.is : undefined;
    },
    keep: (target: Target, is: 'own' | 'foreign'): void => {
      if (known.size > MAX_REMEMBERED) known.clear();
      known.set(nameOf(target), { is, untilMs: clock.now() + REMEMBER_MS });
    },
  };
};
