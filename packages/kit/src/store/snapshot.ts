/**
 * A store as it was at one moment, read beside the processes that write it: for backups and checks. Everything it reads
 * and saves belongs to the moment it was opened, however long that takes.
 */
import type { Store } from './store.ts';

export type SnapshotRow = readonly (string | number | null)[];

export type StoreSnapshot = AsyncDisposable & {
  readonly driver: Store['driver'];
  /** Steps of the schema that were applied. */
  readonly schema: number;
  /** Rows of a SELECT that both drivers understand, without parameters; PostgreSQL answers all values as text. */
  rows(sql: string): AsyncIterable<SnapshotRow>;
  /** Writes the whole store into a folder that is there and empty. */
  save(folder: string): Promise<void>;
};
