/**
 * The rows of a kind that is too large for the memory: those used last, by id and by unique key. Whatever is here is
 * as current as a whole kind in memory would be; what is not here has to be read.
 */
import type { Held, IndexedKey } from './collection.ts';

/** A read under way: what it brings is not kept when the row changed meanwhile. */
export type Reading = { readonly id: string; isOutdated: boolean };

export type RowCache = {
  readonly size: number;
  get(id: string): Held | undefined;
  /** Without counting as use. */
  peek(id: string): Held | undefined;
  /** The id that holds this value under a unique key, if its row is here. */
  find(key: string, value: string): string | undefined;
  /** The row as it is from now on. */
  put(held: Held): void;
  /** The row is gone, or not known any more. */
  remove(id: string): void;
  clear(): void;
  startReading(id: string): Reading;
  endReading(reading: Reading, found: Held | undefined): void;
};

/** `limit`: how many rows are kept, asked at every put. */
export const createRowCache = (keys: readonly IndexedKey[], limit: () => number): RowCache => {
  const rows = new Map<string, Held>();
  const indexes = new Map(keys.filter(({ isUnique }) => isUnique).map((key) => [key, new Map<string, string>()]));
  const readings = new Set<Reading>();

  const drop = (id: string): void => {
    const held = rows.get(id);
    if (!held) return;
    rows.delete(id);
    for (const [key, ids] of indexes) {
      const value = key.valueOf(held.entity);
      if (value !== undefined && ids.get(value) === id) ids.delete(value);
    }
  };
  const keep = (held: Held): void => {
    drop(held.id);
    rows.set(held.id, held);
    for (const [key, ids] of indexes) {
      const value = key.valueOf(held.entity);
      if (value !== undefined) ids.set(value, held.id);
    }
    while (rows.size > limit()) drop(rows.keys().next().value!);
  };
  const outdate = (id: string): void => {
    for (const reading of readings) if (reading.id === id) reading.isOutdated = true;
  };
  return {
    get size() {
      return rows.size;
    },
    get: (id) => {
      const held = rows.get(id);
      if (held) {
        rows.delete(id);
        rows.set(id, held);
      }
      return held;
    },
    peek: (id) => rows.get(id),
    find: (key, value) => {
      for (const [{ name }, ids] of indexes) if (name === key) return ids.get(value);
      return undefined;
    },
    put: (held) => {
      outdate(held.id);
      keep(held);
    },
    remove: (id) => {
      outdate(id);
      drop(id);
    },
    clear: () => {
      for (const reading of readings) reading.isOutdated = true;
      rows.clear();
      for (const ids of indexes.values()) ids.clear();
    },
    startReading: (id) => {
      const reading: Reading = { id, isOutdated: false };
      readings.add(reading);
      return reading;
    },
    endReading: (reading, found) => {
      readings.delete(reading);
      if (found && !reading.isOutdated) keep(found);
    },
  };
};
