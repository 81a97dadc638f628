/**
 * How many rows one node holds in memory, over all its domains. When there are more than the settings allow, the
 * largest kind that may leave goes to the Store, then the next, until the rest fits.
 */
import type { Entity } from './types.ts';

/** What the cap knows of one table. */
type Member = {
  /** False for what is always in memory; it counts all the same. */
  readonly canShrink: boolean;
  /** Lets go of all rows but those used last. */
  shrink(): void;
};

type Share = {
  grew(entity: Entity): void;
  shrank(): void;
  emptied(): void;
  leave(): void;
};

export type MemoryCap = {
  /** Rows a table keeps once it has gone to the Store. */
  cachedRows(): number;
  join(member: Member): Share;
};

/** One row of so many is measured. */
const SAMPLE = 16;
/** What all stored tables keep together, as a part of the rows allowed. */
const CACHED_PART = 20;
const MIN_CACHED_ROWS = 8;
/** Beside its document a row has a place in maps, keys, and its JSON text once somebody read it. */
const ROW_BYTES = 300;

type Count = Member & { rows: number; sampledBytes: number; samples: number; isStored: boolean };

const bytesOf = ({ rows, sampledBytes, samples }: Count): number =>
  samples === 0 ? 0 : rows * (sampledBytes / samples);

export type MemoryLimits = { readonly maxRows: number; readonly maxBytes: number };

export const createMemoryCap = ({ maxRows, maxBytes }: MemoryLimits): MemoryCap => {
  const members = new Set<Count>();
  let total = 0;
  let stored = 0;

  const shrinkLargest = (): boolean => {
    let largest: Count | undefined;
    for (const count of members) {
      if (count.canShrink && !count.isStored && count.rows > (largest?.rows ?? 0)) largest = count;
    }
    if (!largest) return false;
    total -= largest.rows;
    largest.rows = 0;
    largest.isStored = true;
    stored += 1;
    largest.shrink();
    return true;
  };
  const isTooLarge = (isMeasured: boolean): boolean => {
    if (total > maxRows) return true;
    if (!isMeasured) return false;
    let bytes = 0;
    for (const count of members) bytes += bytesOf(count);
    return bytes > maxBytes;
  };
  return {
    cachedRows: () => Math.max(MIN_CACHED_ROWS, Math.floor(maxRows / CACHED_PART / Math.max(1, stored))),
    join: (member) => {
      const count: Count = { ...member, rows: 0, sampledBytes: 0, samples: 0, isStored: false };
      members.add(count);
      const subtract = (rows: number): void => {
        if (count.isStored) return;
        count.rows -= rows;
        total -= rows;
      };
      return {
        grew: (entity) => {
          const isMeasured = count.rows % SAMPLE === 0;
          count.rows += 1;
          total += 1;
          if (isMeasured) {
            count.samples += 1;
            count.sampledBytes += ROW_BYTES + sizeOf(entity);
          }
          while (isTooLarge(isMeasured) && shrinkLargest());
        },
        shrank: () => subtract(1),
        emptied: () => subtract(count.rows),
        leave: () => {
          subtract(count.rows);
          if (count.isStored) stored -= 1;
          members.delete(count);
        },
      };
    },
  };
};

/** Bytes of a document in V8's heap, roughly: its text, counted twice for the JSON kept beside it. */
const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return 24 + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 48;
  for (const [name, member] of Object.entries(value)) bytes += 8 + name.length + sizeOf(member);
  return bytes;
};
