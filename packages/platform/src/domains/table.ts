/**
 * One kind of a domain: whole in memory, or, once the memory's cap is reached, only the rows used last with the rest
 * in the Store. It never goes back: a kind that grew too large once would do so again.
 */
import { type Collection, createCollection, type Held, type IndexedKey, type Sorting } from './collection.ts';
import type { MemoryCap } from './memory-cap.ts';
import { NotLoaded } from './not-loaded.ts';
import { createRowCache, type RowCache } from './row-cache.ts';
import type { Entity, Kind } from './types.ts';

export type Table = Collection & {
  readonly kind: Kind;
  readonly keys: readonly IndexedKey[];
  /** Undefined while the whole kind is in memory. */
  readonly cache: RowCache | undefined;
  /** What memory knows of the row; a stored one may be there all the same. */
  peek(id: string): Held | undefined;
};

export type TableParts = {
  readonly kind: Kind;
  readonly keys: readonly IndexedKey[];
  /** Kinds that grow with the people an installation serves; the others are always in memory. */
  readonly isGrowing: boolean;
  readonly cap: MemoryCap;
  /** Called when the kind leaves memory. */
  onStored(): void;
};

export const createTable = ({ kind, keys, isGrowing, cap, onStored }: TableParts): Table & Disposable => {
  let all: Collection | undefined = createCollection(keys);
  let cache: RowCache | undefined;

  const share = cap.join({
    canShrink: isGrowing,
    shrink: () => {
      all = undefined;
      cache = createRowCache(keys, cap.cachedRows);
      onStored();
    },
  });
  const memory = (wanted: ConstructorParameters<typeof NotLoaded>[0]): Collection => {
    if (!all) throw new NotLoaded(wanted);
    return all;
  };
  const get = (id: string): Held | undefined => {
    if (all) return all.get(id);
    const held = cache!.get(id);
    if (!held) throw new NotLoaded({ kind, ids: [id] });
    return held;
  };
  const find = (key: string, value: string): readonly string[] => {
    if (all) return all.find(key, value);
    const id = cache!.find(key, value);
    if (id === undefined) throw new NotLoaded({ kind, key, values: [value] });
    return [id];
  };
  return {
    kind,
    keys,
    get cache() {
      return cache;
    },
    get size() {
      return memory({ kind, size: true }).size;
    },
    get,
    find,
    peek: (id) => (all ? all.get(id) : cache!.peek(id)),
    values: () => memory({ kind, all: true }).values(),
    sorted: (sorting: Sorting) => memory({ kind, all: true }).sorted(sorting),
    put: (held) => {
      if (!all) return cache!.put(held);
      const isNew = all.get(held.id) === undefined;
      all.put(held);
      if (isNew) share.grew(held.entity as Entity);
    },
    remove: (id) => {
      if (!all) return cache!.remove(id);
      if (all.get(id) === undefined) return;
      all.remove(id);
      share.shrank();
    },
    clear: () => {
      if (!all) return cache!.clear();
      all.clear();
      share.emptied();
    },
    [Symbol.dispose]: share.leave,
  };
};
