/**
 * The tree of domains: one master and working domains below it. A domain is loaded when it is first asked for. The
 * rows of kind `domain`, which lie in the master, are the truth about which there are.
 */
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { type DomainFacts, type DomainMemory, type KindSpec, loadDomain } from './memory.ts';
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
  /** Name of the master should there be none yet. */
  readonly masterName: string;
};

/** Deepest tree of domains; a longer chain of parents is a circle. */
const MAX_TREE_DEPTH = 64;

const NO_OPTS: Entity = {};

/** Opens the master domain; names it first where nothing was ever written. */
export const openDomains = async (parts: DomainsParts): Promise<LoadedDomains> => {
  const { store, log, kinds } = parts;
  const masterName = await nameMaster(store, parts.masterName);
  const following = new AbortController();
  const listeners = new Set<(changed: Changed) => void>();
  const domains = new Map<string, Promise<DomainMemory>>();
  const ready = new Map<string, DomainMemory>();
  const followers = new Set<Promise<void>>();

  const rowOf = (name: string): Entity | undefined => {
    const master = ready.get(masterName);
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
    for (const listener of listeners) listener(changed);
  };
  const load = async (name: string): Promise<DomainMemory> => {
    const facts = (): DomainFacts => factsOf(name);
    const memory = await loadDomain({ name, store, kinds, log, facts, onChange });
    ready.set(name, memory);
    if (store.driver === 'postgres') {
      const follower = memory.follow(following.signal).finally(() => followers.delete(follower));
      followers.add(follower);
    }
    return memory;
  };
  const prepare = (name: string): Promise<DomainMemory> => {
    const known = domains.get(name);
    if (known !== undefined) return known;
    const loading = load(name);
    domains.set(name, loading);
    loading.catch(() => domains.delete(name));
    return loading;
  };
  const exists = (name: string): boolean => name === masterName || rowOf(name) !== undefined;
  const master = await prepare(masterName);
  return {
    store,
    master,
    prepare,
    clear: async (name) => {
      domains.delete(name);
      ready.delete(name);
      for (const kind of [...kinds.map((spec) => spec.kind), 'counter']) await clearKind(store, name, kind);
    },
    open: async (name) => (exists(name) ? prepare(name) : undefined),
    loaded: (name) => (exists(name) ? ready.get(name) : undefined),
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
    [Symbol.asyncDispose]: async () => {
      following.abort();
      await Promise.all(followers);
    },
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
