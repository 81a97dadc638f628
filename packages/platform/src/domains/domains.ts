/**
 * The tree of domains: one master and working domains below it. A domain is loaded when it is first asked for. The
 * rows of kind `domain`, which lie in the master, are the truth about which there are.
 */
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { type DomainFacts, type DomainMemory, type KindSpec, loadDomain } from './memory.ts';
import type { MemoryCap } from './memory-cap.ts';
import type { Changed, Domains, Entity } from './types.ts';
import { SYSTEM_SPACE } from './types.ts';

export type LoadedDomains = Omit<Domains, 'master' | 'open' | 'loaded'> &
  AsyncDisposable & {
    readonly master: DomainMemory;
    open(name: string): Promise<DomainMemory | undefined>;
    loaded(name: string): DomainMemory | undefined;
    /** The domain's memory whether or not a row names it yet; for the one who is making it. */
    prepare(name: string): Promise<DomainMemory>;
    /** Removes every row of a domain that no row names (any more), its journal aside, and forgets its memory. */
    clear(name: string): Promise<void>;
  };

/** The row in the system's space that names the master domain. */
const INSTALLATION = { kind: 'installation', id: 'platform' } as const;

export type DomainsParts = {
  readonly store: Store;
  readonly kinds: readonly KindSpec[];
  readonly log: Log;
  readonly cap: MemoryCap;
  /** Name of the master should there be none yet. */
  readonly masterName: string;
};

/** Deepest tree of domains; a longer chain of parents is a circle. */
const MAX_TREE_DEPTH = 64;

const NO_OPTS: Entity = {};

/** The memories of the domains that were asked for; on PostgreSQL each follows its feed. */
const createMemories = (
  { store, log, kinds, cap }: DomainsParts,
  factsOf: (name: string) => DomainFacts,
  onChange: (changed: Changed) => void,
) => {
  const loading = new Map<string, Promise<DomainMemory>>();
  const ready = new Map<string, DomainMemory>();
  const endings = new Map<string, AbortController>();
  const followers = new Set<Promise<void>>();

  const load = async (name: string): Promise<DomainMemory> => {
    const memory = await loadDomain({ name, store, kinds, log, cap, facts: () => factsOf(name), onChange });
    ready.set(name, memory);
    if (store.driver === 'postgres') {
      const ending = new AbortController();
      endings.set(name, ending);
      const follower = memory.follow(ending.signal).finally(() => followers.delete(follower));
      followers.add(follower);
    }
    return memory;
  };
  return {
    get: (name: string) => ready.get(name),
    prepare: (name: string): Promise<DomainMemory> => {
      const known = loading.get(name);
      if (known !== undefined) return known;
      const job = load(name);
      loading.set(name, job);
      job.catch(() => loading.delete(name));
      return job;
    },
    forget: (name: string): void => {
      endings.get(name)?.abort();
      endings.delete(name);
      ready.get(name)?.forget();
      loading.delete(name);
      ready.delete(name);
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      for (const ending of endings.values()) ending.abort();
      await Promise.all(followers);
    },
  };
};

/** Opens the master domain; names it first where nothing was ever written. */
export const openDomains = async (parts: DomainsParts): Promise<LoadedDomains> => {
  const { store, kinds } = parts;
  const masterName = await nameMaster(store, parts.masterName);
  const listeners = new Set<(changed: Changed) => void>();

  const rowOf = (name: string): Entity | undefined => {
    const master = memories.get(masterName);
    const [id] = master?.find('domain', 'name', name) ?? [];
    return id === undefined ? undefined : master?.get('domain', id);
  };
  const factsOf = (name: string): DomainFacts => {
    const row = rowOf(name);
    return {
      isMaster: name === masterName,
      parent: name === masterName ? undefined : String(row?.parent || masterName),
      solution: typeof row?.solution === 'string' ? row.solution : '',
      opts: (row?.opts as Entity | undefined) ?? NO_OPTS,
    };
  };
  const onChange = (changed: Changed): void => {
    // A domain that is no more must not be found in memory when one of its name is made again.
    if (changed.kind === 'domain' && changed.before && !changed.after) memories.forget(String(changed.before.name));
    for (const listener of listeners) listener(changed);
  };
  const memories = createMemories(parts, factsOf, onChange);
  const exists = (name: string): boolean => name === masterName || rowOf(name) !== undefined;
  const master = await memories.prepare(masterName);
  return {
    store,
    master,
    prepare: memories.prepare,
    clear: async (name) => {
      memories.forget(name);
      for (const kind of [...kinds.map((spec) => spec.kind), 'counter']) await clearKind(store, name, kind);
    },
    open: async (name) => (exists(name) ? memories.prepare(name) : undefined),
    loaded: (name) => (exists(name) ? memories.get(name) : undefined),
    names: () => [masterName, ...namesOf(master).filter((name) => name !== masterName)],
    isBelow: (name, ancestor) => {
      let current = exists(name) ? factsOf(name).parent : undefined;
      for (let depth = 0; current !== undefined && depth < MAX_TREE_DEPTH; depth++) {
        if (current === ancestor) return true;
        current = factsOf(current).parent;
      }
      return false;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    [Symbol.asyncDispose]: () => memories[Symbol.asyncDispose](),
  };
};

const CLEAR_PAGE_ROWS = 1000;

/** Removes every row of a kind, a page a commit. */
const clearKind = async (store: Store, domain: string, kind: string): Promise<void> => {
  while (true) {
    const rows = await store.query(domain, kind, { limit: CLEAR_PAGE_ROWS });
    if (rows.length === 0) return;
    await store.commit(
      domain,
      rows.map(({ id }) => ({ op: 'drop', kind, id, quiet: true })),
    );
  }
};

const namesOf = (master: DomainMemory): string[] => [...master.all('domain')].map(({ name }) => String(name)).sort();

/** The master's name is settled once; a setting that says otherwise later changes nothing. */
const nameMaster = async (store: Store, wanted: string): Promise<string> => {
  const { kind, id } = INSTALLATION;
  const found = await store.get<{ master: string }>(SYSTEM_SPACE, kind, id);
  if (found) return found.data.master;
  try {
    await store.commit(SYSTEM_SPACE, [{ op: 'put', kind, id, data: { master: wanted }, expect: 0, quiet: true }]);
    return wanted;
  } catch (thrown) {
    // Another node was quicker.
    const now = await store.get<{ master: string }>(SYSTEM_SPACE, kind, id);
    if (!now) throw thrown;
    return now.data.master;
  }
};
