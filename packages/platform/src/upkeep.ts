/**
 * What the platform does by itself: removes journal entries past their time and files that no row names, makes the
 * domains that the active configuration names, and clears up after a removed domain.
 */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { createSystemCaller } from './auth/system-caller.ts';
import { sweepOrphans } from './model/orphans.ts';
import type { Platform } from './platform.ts';
import { contentInForce } from './resources/configurations.ts';
import { createEntity } from './rest/create.ts';
import { readInput } from './rest/draft.ts';
import { isObject, type Json } from './rest/json.ts';

const PRUNE_MS = 3_600_000;
const ORPHANS_MS = 6 * 3_600_000;
const PRUNE_ROWS = 500;
const DEFAULT_JOURNAL_DAYS = 400;
const DAY_MS = 86_400_000;

/** Starts the upkeep; ends when disposed. */
export const startUpkeep = (platform: Platform, clock: Clock, log: Log): AsyncDisposable => {
  const { domains } = platform.engine;
  const ending = new AbortController();
  const running = new Set<Promise<void>>();
  const run = (what: string, task: Promise<void>): void => {
    const job: Promise<void> = task
      .catch((thrown: unknown) => {
        if (!ending.signal.aborted) log.warn({ err: thrown, what }, 'upkeep failed');
      })
      .finally(() => running.delete(job));
    running.add(job);
  };
  const stop = domains.onChange(({ domain, kind, id, before, after, by }) => {
    if (kind === 'configuration' && after && by) run('domains of the configuration', makeDomains(platform));
    if (kind === 'user' && !after && by) run('picture of a removed user', removePicture(platform, domain, id));
    if (kind === 'domain' && before && !after && by) run('removed domain', platform.clearDomain(String(before.name)));
  });
  run('files that nobody names', sweepForEver(platform, clock, log, ending.signal));
  run('journal', pruneForEver(platform, clock, ending.signal));
  run('domains of the configuration', makeDomains(platform));
  return {
    [Symbol.asyncDispose]: async () => {
      stop();
      ending.abort();
      await Promise.all(running);
    },
  };
};

const sweepForEver = async (
  { engine, model }: Platform,
  clock: Clock,
  log: Log,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    await sweepOrphans({ model, domains: engine.domains, clock, log }, signal);
    await clock.delay(ORPHANS_MS, signal);
  }
};

/** The picture lies beside the account, under its id. */
const removePicture = ({ model }: Platform, domain: string, id: string): Promise<void> =>
  model.files.remove({ domain, classId: 'user', id });

const pruneForEver = async ({ engine: { domains } }: Platform, clock: Clock, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    for (const name of domains.names()) {
      const days = domains.loaded(name)?.setting('journal')?.days;
      const keep = typeof days === 'number' ? days : DEFAULT_JOURNAL_DAYS;
      // Zero keeps everything.
      if (keep === 0) continue;
      const before = new Date(clock.now() - keep * DAY_MS).toISOString().replace('Z', '000Z');
      while (!signal.aborted && (await domains.store.pruneJournal(name, before, PRUNE_ROWS)) === PRUNE_ROWS);
    }
    await clock.delay(PRUNE_MS, signal);
  }
};

/** Makes the domains that the active configuration names and that are missing; never removes one. */
const makeDomains = async ({ engine, resources }: Platform): Promise<void> => {
  const { master } = engine.domains;
  const wanted = contentInForce(master)?.content.domains;
  const caller = createSystemCaller(master);
  for (const each of Array.isArray(wanted) ? parentsFirst(wanted.filter(isObject)) : []) {
    if (engine.domains.names().includes(String(each.name))) continue;
    const { name, parent, solution } = each;
    const body = { name, ...(parent ? { parent } : {}), ...(solution ? { solution } : {}) };
    await createEntity(engine, resources.domains, {
      domain: master,
      caller,
      input: readInput(resources.domains, body, false),
    });
  }
};

/** In an order in which every parent that is among them comes before its children. */
const parentsFirst = (wanted: readonly Json[]): Json[] => {
  const byName = new Map(wanted.map((each) => [String(each.name), each]));
  const ordered = new Set<Json>();
  const place = (each: Json, below: ReadonlySet<Json>): void => {
    const parent = byName.get(String(each.parent));
    if (parent && !below.has(parent)) place(parent, new Set([...below, each]));
    ordered.add(each);
  };
  for (const each of wanted) place(each, new Set([each]));
  return [...ordered];
};
