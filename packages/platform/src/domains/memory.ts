/**
 * A domain in memory: its collections loaded from the Store, changed only after a commit is durable, and kept current
 * with what other nodes write by following the feed. Kinds that are too large stay in the Store (table.ts, view.ts).
 */
import type { Log } from '@parley/kit/log.ts';
import { FeedGone, type Store } from '@parley/kit/store/store.ts';
import type { Held, IndexedKey } from './collection.ts';
import { createCurrency } from './currency.ts';
import { createLocks, type Locks } from './locks.ts';
import type { MemoryCap } from './memory-cap.ts';
import { createRights, type RightsKeeper } from './rights.ts';
import { createTable, type Table } from './table.ts';
import type { Caller, Changed, Domain, Entity, Kind, Role, User } from './types.ts';
import { type DomainView, pagesOf, runOver, selectIn, storedPages, type ViewParts } from './view.ts';

export type KindSpec = {
  readonly kind: Kind;
  readonly keys: readonly IndexedKey[];
  /** Grows with the people served, and may leave memory when there are too many. */
  readonly isGrowing: boolean;
};

/** What is fixed about a domain, and what its own row says of it. */
export type DomainFacts = Pick<Domain, 'isMaster' | 'parent' | 'solution' | 'opts'>;

export type SeqRange = { readonly first: number; readonly last: number };

/** A durable change: what was there, and what is there now. */
export type Applied = {
  readonly kind: Kind;
  readonly id: string;
  readonly before: Entity | undefined;
  readonly row: { readonly entity: Entity; readonly version: number } | undefined;
};

export type DomainMemory = Domain & {
  readonly locks: Locks;
  collection(kind: Kind): Table;
  /** Runs synchronous code over a view that remembers what it showed. */
  view<T>(run: (view: DomainView) => T): T | Promise<T>;
  /** Makes the durable changes of a commit visible. `seqs`: its own numbers. `by`: who made it. */
  apply(changes: readonly Applied[], seqs: SeqRange, by: Caller): void;
  /** Reads a row again from the Store; for when a commit found it changed by another node. */
  refresh(kind: Kind, id: string): Promise<void>;
  /** The sequence number that memory is current to. */
  current(): number;
  /** Resolves when memory is current to this number; false when that takes too long. Hold no lock while waiting. */
  caughtUp(seq: number): Promise<boolean>;
  /** Follows the feed until the signal aborts. */
  follow(signal: AbortSignal): Promise<void>;
  /** Lets go of what counts against the memory's cap. */
  forget(): void;
};

/** Own commits remembered before those the feed has passed are forgotten. */
const MAX_OWN = 10_000;
/** How long to wait before the feed is taken up again after it broke. */
const RETRY_MS = 500;

export type MemoryParts = {
  readonly name: string;
  readonly store: Store;
  readonly kinds: readonly KindSpec[];
  readonly log: Log;
  readonly cap: MemoryCap;
  facts(): DomainFacts;
  onChange(changed: Changed): void;
};

/** Loads the descriptor rows of the domain, as far as the cap lets it. */
export const loadDomain = async (parts: MemoryParts): Promise<DomainMemory> => {
  const { store, name, kinds } = parts;
  /** Until a kind leaves memory. */
  const whole = { isWhole: true };
  const tables = new Map(
    kinds.map((spec) => {
      const onStored = (): void => {
        whole.isWhole = false;
        prepareStored(parts, spec);
      };
      return [spec.kind as string, createTable({ ...spec, cap: parts.cap, onStored })];
    }),
  );
  const table = (kind: Kind): Table => tables.get(kind)!;
  const rights = createRights({ users: table('user'), groups: table('group') });
  const currency = createCurrency(await store.lastSeq(name));
  for (const { kind } of kinds) await loadKind(store, name, table(kind));

  const locks = createLocks();
  /** Sequence number of our newest commit of a row: feed entries up to it are our own or older. */
  const own = new Map<string, number>();
  const replace = ({ kind, id, before, row }: Applied, by?: Caller): void => {
    if (row) table(kind).put({ id, ...row });
    else table(kind).remove(id);
    rights.note(kind, before, row?.entity);
    if (!before && !row) return;
    parts.onChange({ domain: name, kind, id, before, after: row?.entity, ...(by ? { by } : {}) });
  };
  const refresh = async (kind: Kind, id: string, isSure = false): Promise<void> => {
    const row = await store.get<Entity>(name, kind, id);
    const known = table(kind).peek(id);
    if (!isSure && row?.version === known?.version) return;
    replace({ kind, id, before: known?.entity, row: row && { entity: row.data, version: row.version } });
  };
  const isFollowed = store.driver === 'postgres';
  const forgetOwn = (): void => {
    if (own.size <= MAX_OWN) return;
    for (const [row, at] of own) if (at <= currency.seq()) own.delete(row);
  };
  const followOnce = async (signal: AbortSignal): Promise<void> => {
    for await (const entry of store.watch(name, currency.followed(), signal)) {
      const row = `${entry.kind}/${entry.id}`;
      const isOurs = (own.get(row) ?? 0) >= entry.seq;
      if (!isOurs && tables.has(entry.kind)) {
        // A row that was dropped and made again counts its versions from 1 again.
        await locks.entity(row, () => refresh(entry.kind as Kind, entry.id, entry.op === 'drop'));
      }
      currency.follow(entry.seq);
      forgetOwn();
    }
  };
  const { domain, viewParts } = createDomain(parts, table, rights, whole);
  return Object.assign(domain, {
    locks,
    collection: table,
    view: <T>(run: (view: DomainView) => T) => runOver(viewParts, run),
    refresh,
    current: currency.seq,
    caughtUp: currency.reach,
    apply: (changes: readonly Applied[], { first, last }: SeqRange, by: Caller) => {
      for (const change of changes) {
        if (isFollowed) own.set(`${change.kind}/${change.id}`, last);
        replace(change, by);
      }
      // Nothing of another node lies between what memory knew and what was just written.
      if (first <= currency.seq() + 1) currency.follow(last);
    },
    forget: () => {
      for (const each of tables.values()) each[Symbol.dispose]();
    },
    follow: async (signal: AbortSignal) => {
      while (!signal.aborted) {
        try {
          await followOnce(signal);
        } catch (thrown) {
          parts.log.warn({ domain: name, err: thrown }, 'feed broke; reading on');
          if (thrown instanceof FeedGone) currency.follow(await reload(parts, [...tables.values()], replace));
        }
        if (!signal.aborted) await wait(RETRY_MS, signal);
      }
    },
  } satisfies Omit<DomainMemory, keyof Domain>);
};

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });

/** A unique key is found by itself in the Store; what several may hold needs an index to be found as quickly. */
const prepareStored = ({ store, name, log }: MemoryParts, { kind, keys }: KindSpec): void => {
  log.info({ domain: name, kind }, 'too many rows for memory: this kind stays in the database');
  for (const key of keys.filter(({ isUnique }) => !isUnique)) {
    store.ensureIndex(kind, key.name).catch((error: unknown) => {
      log.warn({ err: error, kind, key: key.name }, 'no index was made; looking up takes longer');
    });
  }
};

const loadKind = async (store: Store, domain: string, into: Table): Promise<void> => {
  if (into.cache) return;
  for await (const rows of storedPages(store, domain, into.kind)) {
    for (const { id, data, version } of rows) {
      into.put({ id, entity: data, version });
      // It has just become too large to be held.
      if (into.cache) return;
    }
  }
};

/** Too far behind to follow: compares everything with the Store. Returns the sequence number it is current to. */
const reload = async (
  { store, name }: MemoryParts,
  tables: readonly Table[],
  replace: (change: Applied) => void,
): Promise<number> => {
  const seq = await store.lastSeq(name);
  for (const table of tables) {
    const { kind } = table;
    if (table.cache) {
      table.clear();
      continue;
    }
    const known = new Map<string, Held>([...table.values()].map((held) => [held.id, held]));
    for await (const rows of storedPages(store, name, kind)) {
      for (const { id, data, version } of rows) {
        const before = table.peek(id);
        known.delete(id);
        if (before?.version !== version) replace({ kind, id, before: before?.entity, row: { entity: data, version } });
      }
    }
    for (const { id, entity } of known.values()) replace({ kind, id, before: entity, row: undefined });
  }
  return seq;
};

/** The domain as everybody but the writer sees it. */
const createDomain = (
  parts: MemoryParts,
  table: (kind: Kind) => Table,
  rights: RightsKeeper,
  whole: { readonly isWhole: boolean },
) => {
  const { name, store } = parts;
  const domain: Domain = {
    ...readersOf(table),
    name,
    get isMaster() {
      return parts.facts().isMaster;
    },
    get parent() {
      return parts.facts().parent;
    },
    get solution() {
      return parts.facts().solution;
    },
    get opts() {
      return parts.facts().opts;
    },
    rights,
    read: (run) => (whole.isWhole ? run(domain) : runOver(viewParts, run)),
    pages: async function* (kind) {
      for await (const page of pagesOf(viewParts, kind)) yield page.map(({ entity }) => entity);
    },
  };
  const viewParts: ViewParts = { name, store, rights, domain, table };
  return { domain, viewParts };
};

/** The reading half of a domain over memory alone. */
const readersOf = (table: (kind: Kind) => Table) => {
  const get = (kind: Kind, id: string): Entity | undefined => table(kind).get(id)?.entity;
  const first = (kind: Kind, key: string, value: string): Entity | undefined => {
    const [id] = table(kind).find(key, value);
    return id === undefined ? undefined : get(kind, id);
  };
  const all = function* (kind: Kind): Generator<Entity> {
    for (const { entity } of table(kind).values()) yield entity;
  };
  return {
    get,
    find: (kind: Kind, key: string, value: string) => table(kind).find(key, value),
    all,
    size: (kind: Kind) => table(kind).size,
    user: (id: string) => get('user', id) as User | undefined,
    userByLogin: (login: string) => first('user', 'login', login.toLowerCase()) as User | undefined,
    roleByName: (role: string) => first('role', 'name', role) as Role | undefined,
    setting: (key: string) => get('setting', key)?.value as Entity | undefined,
    select: (kind: Kind, _name: string, test: (entity: Entity) => boolean, most = Number.POSITIVE_INFINITY) =>
      selectIn(all(kind), test, most),
    need: () => {},
    needBy: () => {},
  };
};
