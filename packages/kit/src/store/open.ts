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

/** Whether `openStore` would open PostgreSQL. */
export const isPostgres = (place: string): boolean => /^postgres(?:ql)?:\/\//.test(place);

/** `place`: `postgres://…`, `postgresql://…` or the path of a file; applies the schema steps that are missing. */
export const openStore = async (place: string, log: Log, options: StoreOptions = {}): Promise<Store> => {
  const { feedKeep = DEFAULT_FEED_KEEP } = options;
  const store = isPostgres(place)
    ? await openPostgres({ url: place, feedKeep }, log)
    : await openSqlite({ file: place, feedKeep });
  log.info({ driver: store.driver }, 'store open');
  return store;
};
