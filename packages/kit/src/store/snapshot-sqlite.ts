/**
 * A SQLite store at one moment. A read transaction holds the moment while SQLite's online backup copies the pages: its
 * log lets the writer go on meanwhile, and because the transaction is the copying connection's own, a write of another
 * process does not make the copying begin again.
 */
import { constants } from 'node:fs';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import type { SnapshotRow, StoreSnapshot } from './snapshot.ts';

const SAVED_FILE = 'store.sqlite';
/** Pages copied before other work of this process gets its turn. */
const PAGES_AT_ONCE = 1024;

export const openSqliteSnapshot = async (place: string): Promise<StoreSnapshot> => {
  const file = resolve(place);
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  try {
    // The transaction begins with the first read.
    db.exec('BEGIN');
    const version = db.prepare('PRAGMA user_version').get() as { user_version: number };
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return {
      driver: 'sqlite',
      schema: Number(version.user_version),
      rows: (sql) => readRows(db, sql),
      save: async (folder) => {
        const copy = join(folder, SAVED_FILE);
        await backup(db, copy, { rate: PAGES_AT_ONCE });
        await chmod(copy, 0o600);
      },
      [Symbol.asyncDispose]: async () => db.close(),
    };
  } catch (thrown) {
    db.close();
    throw new Error(`${file} cannot be read: ${(thrown as Error).message}`, { cause: thrown });
  }
};

const readRows = async function* (db: DatabaseSync, sql: string): AsyncGenerator<SnapshotRow> {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  for (const row of statement.iterate()) yield row as unknown as SnapshotRow;
};

export const restoreSqlite = async (folder: string, place: string): Promise<void> => {
  const file = resolve(place);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await copyFile(join(folder, SAVED_FILE), file, constants.COPYFILE_EXCL);
  await chmod(file, 0o600);
};
