/** Opens the Store that a setting names: PostgreSQL for its URLs, a SQLite file for everything else. */
import type { Log } from '../log.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';
import type { Store } from './store.ts';

export type StoreOptions = {
  /** Feed entries are kept for this many sequence numbers of each domain. */
  readonly feedKeep?: number;
};

const DEFAULT_FEED_KEEP = 100_000;

const POSTGRES_URL = /^postgres(?:ql)?:\/\//;

/** `place`: `postgres://…`, `postgresql://…` or the path of a file; applies the schema steps that are missing. */
export const openStore = async (place: string, log: Log, options: StoreOptions = {}): Promise<Store> => {
  const { feedKeep = DEFAULT_FEED_KEEP } = options;
  const store = POSTGRES_URL.test(place)
    ? await openPostgres({ url: place, feedKeep }, log)
    : await openSqlite({ file: place, feedKeep });
  log.info({ driver: store.driver }, 'store open');
  return store;
};
