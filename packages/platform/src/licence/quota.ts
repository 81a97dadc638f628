/**
 * Counters of licensed items, in the setting `license_ownership` of the master domain, and the limits on them. A write
 * that adds or removes such an item changes the counters in its own commit and expects them to be as it saw them: so
 * no two writes, on whatever nodes and in whatever domains, take the last place.
 */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { createSemaphore } from '@parley/kit/semaphore.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { cannotApply } from '../codes.ts';
import type { LoadedDomains } from '../domains/domains.ts';
import type { Entity } from '../domains/types.ts';
import { isObject } from '../rest/json.ts';
import type { Delta, Quota, Usage } from '../rest/quota.ts';
import { countItems, ENFORCED } from './count.ts';
import { type Counts, type Licence, termsAt } from './document.ts';
import { LICENCE_ID, LICENCE_KIND, type LicenceRow, OWNERSHIP } from './rows.ts';

export type QuotaParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  domains(): LoadedDomains;
  /** The licence in a kept document; undefined when it is none of ours any more. */
  open(token: string): Promise<Licence | undefined>;
};

/** What is known of counters and licence, read together. */
export type QuotaState = {
  readonly counts: Counts;
  /** Of the row of counters. */
  readonly version: number;
  readonly licence: Licence | undefined;
  readonly token: string | undefined;
  readonly licenceVersion: number;
};

export type OpenQuota = Quota & {
  /** As it is now in the Store; makes the counters where there are none. */
  read(): Promise<QuotaState>;
  /** Counts everything anew, because rows went without being counted. */
  recount(): Promise<void>;
};

const MAX_TRIES = 20;

const isCounts = (value: unknown): value is Counts =>
  isObject(value) && ENFORCED.every((item) => Number.isSafeInteger(value[item]));

export const usageOf = (master: string, { version }: Pick<QuotaState, 'version'>, counts: Counts): Usage => ({
  domain: master,
  change: {
    op: 'put',
    kind: 'setting',
    id: OWNERSHIP,
    data: { key: OWNERSHIP, value: counts },
    unique: { key: OWNERSHIP },
    expect: version,
  },
});

/** Now as UTC with six digits of the second. */
export const nowOf = (clock: Clock): string => new Date(clock.now()).toISOString().replace('Z', '000Z');

export const createQuota = (parts: QuotaParts): OpenQuota => {
  const { store, clock } = parts;
  const turn = createSemaphore(1);
  const isShared = store.driver === 'postgres';
  const opened = createOpener(parts);
  let state: QuotaState | undefined;

  const masterName = (): string => parts.domains().master.name;
  const readNow = async (): Promise<QuotaState | undefined> => {
    // Counters first: whoever installs a licence changes both at once, and counters that are older refuse the commit.
    const row = await store.get<{ value?: unknown }>(masterName(), 'setting', OWNERSHIP);
    const licence = await store.get<LicenceRow>(masterName(), LICENCE_KIND, LICENCE_ID);
    if (!row || !isCounts(row.data.value)) return undefined;
    const token = licence?.data.token;
    return {
      counts: row.data.value,
      version: row.version,
      licence: token === undefined ? undefined : await opened(token),
      token,
      licenceVersion: licence?.version ?? 0,
    };
  };
  const read = async (): Promise<QuotaState> => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      state = await readNow();
      if (state) return state;
      await count();
    }
    throw new Error('licensed items cannot be counted');
  };
  /** Counts and writes, unless somebody counted meanwhile. */
  const count = async (): Promise<boolean> => {
    const version = (await store.get(masterName(), 'setting', OWNERSHIP))?.version ?? 0;
    const { change } = usageOf(masterName(), { version }, await countItems(store, masterName()));
    try {
      const { versions } = await store.commit(masterName(), [change]);
      show(change.data, versions.get(`setting/${OWNERSHIP}`)!);
      return true;
    } catch (thrown) {
      if (!(thrown instanceof Conflict)) throw thrown;
      return false;
    }
  };
  /** What was written is seen at once; what other nodes write comes with the feed. */
  const show = (entity: object, version: number): void => {
    const settings = parts.domains().master.collection('setting');
    const held = settings.peek(OWNERSHIP);
    if (!held || held.version < version) settings.put({ id: OWNERSHIP, entity: entity as Entity, version });
  };
  return {
    read,
    refresh: async () => {
      await read();
    },
    recount: () =>
      turn.run(async () => {
        for (let tries = 0; tries < MAX_TRIES && !(await count()); tries++);
        await read();
      }),
    alone: (job) =>
      turn.run(async () => {
        if (isShared || !state) await read();
        return await job();
      }),
    claim: (delta) => usageOf(masterName(), state!, claimed(state!, delta, nowOf(clock))),
    settle: ({ change }) => {
      const { value } = change.data as { value: Counts };
      const version = change.expect! + 1;
      if (state && state.version < version) state = { ...state, counts: value, version };
      show(change.data, version);
    },
  };
};

/** Opens a document once. */
const createOpener = ({ open, log }: QuotaParts): ((token: string) => Promise<Licence | undefined>) => {
  let last: { readonly token: string; readonly licence: Licence | undefined } | undefined;
  return async (token) => {
    if (last?.token === token) return last.licence;
    const licence = await open(token);
    if (!licence) log.warn({}, 'the licence kept here cannot be opened with these keys; no limits are in force');
    last = { token, licence };
    return licence;
  };
};

const claimed = ({ counts, licence }: QuotaState, delta: Delta, now: string): Counts => {
  const limits = licence ? termsAt(licence, now, counts).dql : {};
  const next: Record<string, number> = { ...counts };
  for (const [item, more] of delta) {
    const count = Math.max(0, (counts[item] ?? 0) + more);
    const limit = Object.hasOwn(limits, item) ? limits[item] : undefined;
    if (more > 0 && limit !== undefined && count > limit) {
      throw cannotApply('license', 'license', { item, limit });
    }
    next[item] = count;
  }
  return next;
};
