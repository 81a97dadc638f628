/**
 * A store as it was at one moment, read beside the processes that write it: for backups and checks. Everything it reads
 * and saves belongs to the moment it was opened, however long that takes.
 */
import { isPostgres } from './open.ts';
import { openPostgresSnapshot, restorePostgres } from './snapshot-postgres.ts';
import { openSqliteSnapshot, restoreSqlite } from './snapshot-sqlite.ts';
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

/** `place` as in `openStore`; it must be there. Rejects with an Error in words when it cannot be read. */
export const openSnapshot = (place: string): Promise<StoreSnapshot> =>
  isPostgres(place) ? openPostgresSnapshot(place) : openSqliteSnapshot(place);

/** Puts what `save` wrote into a place that is empty. Rejects, and changes nothing, when it is not. */
export const restoreStore = (driver: Store['driver'], folder: string, place: string, schema: number): Promise<void> =>
  driver === 'postgres' ? restorePostgres(folder, place, schema) : restoreSqlite(folder, place);
