/** Opens the Store that a setting names: PostgreSQL for its URLs, a SQLite file for everything else. */
import type { Log } from '../log.ts';
import { openSqlite } from './sqlite.ts';
import type { Store } from './store.ts';

export type StoreOptions = {
  /** Feed entries are kept for this many sequence numbers of each domain. */
  readonly feedKeep?: number;
};

const POSTGRES_URL = /^postgres(?:ql)?:\/\//;

/** `place`: `postgres://…`, `postgresql://…` or the path of a file; applies the schema steps that are missing. */
export const openStore = async (place: string, log: Log, options: StoreOptions = {}): Promise<Store> => {
  if (POSTGRES_URL.test(place)) throw new Error('PostgreSQL is not there yet.');
  const store = await openSqlite({ file: place, ...options });
  log.info({ driver: 'sqlite' }, 'store open');
  return store;
};
