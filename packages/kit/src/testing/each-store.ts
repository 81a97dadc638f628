/** Runs one suite on every driver there is: SQLite on temporary files, PostgreSQL on a throwaway server of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { createSilentLog } from '../log.ts';
import { openStore, type StoreOptions } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

/** One empty database; disposing closes what was opened on it and removes it. */
export type TestDatabase = AsyncDisposable & {
  /** What `openStore` and PARLEY_STORAGE_URL take: a file path or a URL. */
  readonly place: string;
  /** A store on it; on PostgreSQL any number of times, as several processes would. */
  open(options?: StoreOptions): Promise<Store>;
};

export type TestDriver = {
  readonly name: Store['driver'];
  createDatabase(): Promise<TestDatabase>;
  /** The server behind the PostgreSQL driver, to stop and start; absent for SQLite. */
  postgres(): PostgresServer | undefined;
};

const createTestDatabase = (place: string, remove: () => Promise<void>): TestDatabase => {
  const stores = new AsyncDisposableStack();
  stores.defer(remove);
  return {
    place,
    open: async (options) => stores.use(await openStore(place, createSilentLog(), options)),
    [Symbol.asyncDispose]: () => stores.disposeAsync(),
  };
};

/** An empty SQLite database in a temporary folder. */
export const createSqliteDatabase = async (): Promise<TestDatabase> => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-store-'));
  return createTestDatabase(join(folder, 'test.db'), () => rm(folder, { recursive: true, force: true }));
};

/** PostgreSQL on a throwaway server of its own, for tests that need it outside `eachStore`. */
export const openPostgresDriver = async (): Promise<TestDriver & AsyncDisposable> => {
  const server = await startPostgres();
  return {
    name: 'postgres',
    createDatabase: async () => {
      const place = await server.createDatabase();
      return createTestDatabase(place, () => server.dropDatabase(place));
    },
    postgres: () => server,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
};

/** Declares `suite` once for each driver. */
export const eachStore = (suite: (driver: TestDriver) => void): void => {
  describe('sqlite', () => {
    suite({ name: 'sqlite', createDatabase: createSqliteDatabase, postgres: () => undefined });
  });
  describe('postgres', () => {
    let driver: (TestDriver & AsyncDisposable) | undefined;
    before(async () => {
      driver = await openPostgresDriver();
    });
    after(async () => {
      await driver?.[Symbol.asyncDispose]();
    });
    suite({
      name: 'postgres',
      createDatabase: () => driver!.createDatabase(),
      postgres: () => driver?.postgres(),
    });
  });
};
