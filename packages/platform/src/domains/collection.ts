/**
 * One kind of a domain in memory: entities by id, indexes by key, and lists kept sorted for the orders that were asked
 * for lately. Knows nothing of HTTP or the Store.
 */
import type { Entity } from './types.ts';

/** A key of a kind, as the memory indexes it. */
export type IndexedKey = {
  readonly name: string;
  /** No two entities hold the same value. */
  readonly isUnique: boolean;
  valueOf(entity: Entity): string | undefined;
};

/** An entity as it is held. Replaced as a whole when it changes, so that what is cached beside it goes with it. */
export type Held = {
  readonly id: string;
  readonly entity: Entity;
  /** Of the row in the Store. */
  readonly version: number;
  /** The item as JSON text, once somebody read it. */
  shown?: string;
  /** The item of a list under one mask, once somebody listed it. */
  listed?: { readonly mask: string; readonly json: string };
};

export type Sorting = { readonly name: string; compare(left: Entity, right: Entity): number };

export type Collection = {
  readonly size: number;
  get(id: string): Held | undefined;
  values(): Iterable<Held>;
  /** Ids that hold this value under this key. */
  find(key: string, value: string): readonly string[];
  /** All entities in this order. Valid until the next change. */
  sorted(sorting: Sorting): readonly Held[];
  put(held: Held): void;
  remove(id: string): void;
  clear(): void;
};

/** Orders kept sorted at once. */
const MAX_SORTED = 6;
/** Above this a changed place in an order makes the sorted list be made anew instead of being shifted. */
const MAX_SHIFTED = 100_000;

type Sorted = { readonly sorting: Sorting; readonly held: Held[] };

const NONE: readonly string[] = [];

export const createCollection = (keys: readonly IndexedKey[]): Collection => {
  const byId = new Map<string, Held>();
  const indexes = new Map(keys.map((key) => [key.name, createIndex(key)] as const));
  const lists = new Map<string, Sorted>();

  const replaceSorted = (before: Held | undefined, after: Held | undefined): void => {
    for (const [name, list] of lists) if (!replaceIn(list, before, after)) lists.delete(name);
  };
  const replace = (id: string, after: Held | undefined): void => {
    const before = byId.get(id);
    for (const index of indexes.values()) index.replace(id, before?.entity, after?.entity);
    replaceSorted(before, after);
    if (after) byId.set(id, after);
    else byId.delete(id);
  };
  return {
    get size() {
      return byId.size;
    },
    get: (id) => byId.get(id),
    values: () => byId.values(),
    find: (key, value) => indexes.get(key)?.find(value) ?? NONE,
    sorted: (sorting) => {
      const known = lists.get(sorting.name);
      if (known) {
        lists.delete(sorting.name);
        lists.set(sorting.name, known);
        return known.held;
      }
      const held = [...byId.values()].sort((left, right) => sorting.compare(left.entity, right.entity));
      if (lists.size >= MAX_SORTED) lists.delete(lists.keys().next().value!);
      lists.set(sorting.name, { sorting, held });
      return held;
    },
    put: (held) => replace(held.id, held),
    remove: (id) => replace(id, undefined),
    clear: () => {
      byId.clear();
      lists.clear();
      for (const index of indexes.values()) index.clear();
    },
  };
};

/** Position of the first entity that does not come before this one. */
const positionOf = ({ sorting, held }: Sorted, entity: Entity): number => {
  let low = 0;
  let high = held.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorting.compare(held[middle]!.entity, entity) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Brings a sorted list up to date; false when it is cheaper to make it anew. */
const replaceIn = (list: Sorted, before: Held | undefined, after: Held | undefined): boolean => {
  if (before && after && list.sorting.compare(before.entity, after.entity) === 0) {
    const at = positionOf(list, before.entity);
    if (list.held[at]?.id !== before.id) return false;
    list.held[at] = after;
    return true;
  }
  if (list.held.length > MAX_SHIFTED) return false;
  if (before) {
    const at = positionOf(list, before.entity);
    if (list.held[at]?.id !== before.id) return false;
    list.held.splice(at, 1);
  }
  if (after) list.held.splice(positionOf(list, after.entity), 0, after);
  return true;
};

/** Value → id, or ids where several share it. */
const createIndex = (key: IndexedKey) => {
  const ids = new Map<string, string | Set<string>>();
  const add = (value: string, id: string): void => {
    const held = ids.get(value);
    if (held === undefined) ids.set(value, id);
    else if (typeof held === 'string') ids.set(value, new Set([held, id]));
    else held.add(id);
  };
  const drop = (value: string, id: string): void => {
    const held = ids.get(value);
    if (typeof held === 'string') {
      if (held === id) ids.delete(value);
    } else if (held?.delete(id) && held.size === 0) ids.delete(value);
  };
  return {
    clear: () => ids.clear(),
    find: (value: string): readonly string[] => {
      const held = ids.get(value);
      if (held === undefined) return NONE;
      return typeof held === 'string' ? [held] : [...held];
    },
    replace: (id: string, before: Entity | undefined, after: Entity | undefined): void => {
      const old = before && key.valueOf(before);
      const value = after && key.valueOf(after);
      if (old === value) return;
      if (old !== undefined) drop(old, id);
      if (value !== undefined) add(value, id);
    },
  };
};
