/** Opens the snapshot of a store by what its place says, and puts one back. */
import { isPostgres } from './open.ts';
import type { StoreSnapshot } from './snapshot.ts';
import { openPostgresSnapshot, restorePostgres } from './snapshot-postgres.ts';
import { openSqliteSnapshot, restoreSqlite } from './snapshot-sqlite.ts';
import type { Store } from './store.ts';

/** `place` as in `openStore`; it must be there. Rejects with an Error in words when it cannot be read. */
export const openSnapshot = (place: string): Promise<StoreSnapshot> =>
  isPostgres(place) ? openPostgresSnapshot(place) : openSqliteSnapshot(place);

/** Puts what `save` wrote into a place that is empty. Rejects, and changes nothing, when it is not. */
export const restoreStore = (driver: Store['driver'], folder: string, place: string, schema: number): Promise<void> =>
  driver === 'postgres' ? restorePostgres(folder, place, schema) : restoreSqlite(folder, place);
