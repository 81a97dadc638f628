/**
 * A domain in memory: its collections loaded from the Store, changed only after a commit is durable, and kept current
 * with what other nodes write by following the feed.
 */
import type { Log } from '@parley/kit/log.ts';
import { FeedGone, type Row, type Store } from '@parley/kit/store/store.ts';
import { type Collection, createCollection, type IndexedKey } from './collection.ts';
import { createLocks, type Locks } from './locks.ts';
import { createRights, type RightsKeeper } from './rights.ts';
import type { Caller, Changed, Domain, Entity, Kind, Role, User } from './types.ts';

export type KindSpec = { readonly kind: Kind; readonly keys: readonly IndexedKey[] };

/** What is fixed about a domain, and what its own row says of it. */
export type DomainFacts = Pick<Domain, 'isMaster' | 'parent' | 'solution' | 'opts'>;

export type DomainMemory = Domain & {
  readonly locks: Locks;
  collection(kind: Kind): Collection;
  /** Makes a durable change visible. `seq`: of the commit. `by`: who made it. */
  apply(kind: Kind, id: string, row: { entity: Entity; version: number } | undefined, seq: number, by: Caller): void;
  /** Reads a row again from the Store; for when a commit found it changed by another node. */
  refresh(kind: Kind, id: string): Promise<void>;
  /** Follows the feed until the signal aborts. */
  follow(signal: AbortSignal): Promise<void>;
};

/** Larger pages leave more behind in the heaps of two threads and load no faster. */
const LOAD_PAGE_ROWS = 1000;
/** Own commits remembered before those the feed has passed are forgotten. */
const MAX_OWN = 10_000;
/** How long to wait before the feed is taken up again after it broke. */
const RETRY_MS = 500;

export type MemoryParts = {
  readonly name: string;
  readonly store: Store;
  readonly kinds: readonly KindSpec[];
  readonly log: Log;
  facts(): DomainFacts;
  onChange(changed: Changed): void;
};

/** Loads every descriptor row of the domain. */
export const loadDomain = async (parts: MemoryParts): Promise<DomainMemory> => {
  const { store, name, kinds } = parts;
  const collections = new Map(kinds.map((spec) => [spec.kind as string, createCollection(spec.keys)]));
  const collection = (kind: Kind): Collection => collections.get(kind)!;
  const rights = createRights({ users: collection('user'), groups: collection('group') });
  let seq = await store.lastSeq(name);
  for (const { kind } of kinds) await loadKind(store, name, kind, collection(kind));

  const locks = createLocks();
  /** Sequence number of our newest commit of a row: feed entries up to it are our own or older. */
  const own = new Map<string, number>();
  const replace = (kind: Kind, id: string, row: { entity: Entity; version: number } | undefined, by?: Caller): void => {
    const before = collection(kind).get(id)?.entity;
    if (row) collection(kind).put({ id, ...row });
    else collection(kind).remove(id);
    rights.note(kind, before, row?.entity);
    if (!before && !row) return;
    parts.onChange({ domain: name, kind, id, before, after: row?.entity, ...(by ? { by } : {}) });
  };
  const refresh = async (kind: Kind, id: string, isSure = false): Promise<void> => {
    const row = await store.get<Entity>(name, kind, id);
    if (isSure || row?.version !== collection(kind).get(id)?.version) {
      replace(kind, id, row && { entity: row.data, version: row.version });
    }
  };
  const isFollowed = store.driver === 'postgres';
  const forgetOwn = (): void => {
    if (own.size <= MAX_OWN) return;
    for (const [row, at] of own) if (at <= seq) own.delete(row);
  };
  const followOnce = async (signal: AbortSignal): Promise<void> => {
    for await (const entry of store.watch(name, seq, signal)) {
      const row = `${entry.kind}/${entry.id}`;
      const isOurs = (own.get(row) ?? 0) >= entry.seq;
      if (!isOurs && collections.has(entry.kind)) {
        // A row that was dropped and made again counts its versions from 1 again.
        await locks.entity(row, () => refresh(entry.kind as Kind, entry.id, entry.op === 'drop'));
      }
      seq = entry.seq;
      forgetOwn();
    }
  };
  return {
    ...readersOf(parts, collection, rights),
    locks,
    collection,
    refresh,
    apply: (kind, id, row, at, by) => {
      if (isFollowed) own.set(`${kind}/${id}`, at);
      replace(kind, id, row, by);
    },
    follow: async (signal) => {
      while (!signal.aborted) {
        try {
          await followOnce(signal);
        } catch (thrown) {
          parts.log.warn({ domain: name, err: thrown }, 'feed broke; reading on');
          if (thrown instanceof FeedGone) seq = await reload(parts, collections, replace);
        }
        if (!signal.aborted) await wait(RETRY_MS, signal);
      }
    },
  };
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

const pages = async function* (store: Store, domain: string, kind: string): AsyncGenerator<Row<Entity>[]> {
  let afterId: string | undefined;
  while (true) {
    const rows = await store.query<Entity>(domain, kind, {
      limit: LOAD_PAGE_ROWS,
      ...(afterId === undefined ? {} : { afterId }),
    });
    yield rows;
    if (rows.length < LOAD_PAGE_ROWS) return;
    afterId = rows.at(-1)!.id;
  }
};

const loadKind = async (store: Store, domain: string, kind: string, into: Collection): Promise<void> => {
  for await (const rows of pages(store, domain, kind)) {
    for (const { id, data, version } of rows) into.put({ id, entity: data, version });
  }
};

/** Too far behind to follow: compares everything with the Store. Returns the sequence number it is current to. */
const reload = async (
  { store, name }: MemoryParts,
  collections: ReadonlyMap<string, Collection>,
  replace: (kind: Kind, id: string, row: { entity: Entity; version: number } | undefined) => void,
): Promise<number> => {
  const seq = await store.lastSeq(name);
  for (const [kind, held] of collections) {
    const gone = new Set([...held.values()].map(({ id }) => id));
    for await (const rows of pages(store, name, kind)) {
      for (const { id, data, version } of rows) {
        gone.delete(id);
        if (held.get(id)?.version !== version) replace(kind as Kind, id, { entity: data, version });
      }
    }
    for (const id of gone) replace(kind as Kind, id, undefined);
  }
  return seq;
};

/** The reading half of a domain: what everybody but the writer sees. */
const readersOf = (
  { name, facts }: MemoryParts,
  collection: (kind: Kind) => Collection,
  rights: RightsKeeper,
): Domain => {
  const get = (kind: Kind, id: string): Entity | undefined => collection(kind).get(id)?.entity;
  const first = (kind: Kind, key: string, value: string): Entity | undefined => {
    const [id] = collection(kind).find(key, value);
    return id === undefined ? undefined : get(kind, id);
  };
  return {
    name,
    get isMaster() {
      return facts().isMaster;
    },
    get parent() {
      return facts().parent;
    },
    get solution() {
      return facts().solution;
    },
    get opts() {
      return facts().opts;
    },
    rights,
    get,
    find: (kind, key, value) => collection(kind).find(key, value),
    all: function* (kind) {
      for (const { entity } of collection(kind).values()) yield entity;
    },
    size: (kind) => collection(kind).size,
    user: (id) => get('user', id) as User | undefined,
    userByLogin: (login) => first('user', 'login', login.toLowerCase()) as User | undefined,
    roleByName: (role) => first('role', 'name', role) as Role | undefined,
    setting: (key) => get('setting', key)?.value as Entity | undefined,
  };
};
