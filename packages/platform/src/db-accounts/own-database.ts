/**
 * Is this the platform's own database? Names and addresses do not tell: a server has many of them. So the server is
 * asked: a lock is taken in our own database, and whoever finds the same lock held stands in the same database, by
 * whatever name, address, port or pooler it came there.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { problem } from '../codes.ts';
import { type Client, endClient, inTransaction, rowsOf } from './connection.ts';

export type OwnDatabase = {
  /** Whether the connection leads to the platform's own database. 503 while that cannot be found out. */
  isReachedBy(client: Client): Promise<boolean>;
};

const CONNECT_MS = 5000;
const STATEMENT_MS = 5000;
const POSTGRES_URL = /^postgres(?:ql)?:\/\//;

/** `place`: what the setting `storage.url` says. A file is reached by nobody. */
export const createOwnDatabase = (place: string): OwnDatabase => {
  if (!POSTGRES_URL.test(place)) return { isReachedBy: async () => false };
  return {
    isReachedBy: async (client) => {
      const key = randomBytes(8).readBigInt64BE().toString();
      const own = new pg.Client({
        connectionString: place,
        connectionTimeoutMillis: CONNECT_MS,
        statement_timeout: STATEMENT_MS,
        query_timeout: STATEMENT_MS,
        application_name: 'parley',
      });
      own.on('error', () => undefined);
      const ours = <T>(job: Promise<T>): Promise<T> =>
        job.catch((cause: unknown) => {
          throw problem('unavailable', { retryAfterSec: 5, cause });
        });
      try {
        await ours(own.connect());
        // Bound to transactions, so that it also holds through a pooler that shares connections.
        await ours(own.query('BEGIN'));
        await ours(own.query('SELECT pg_advisory_xact_lock($1)', [key]));
        return await inTransaction(client, async () => {
          const query = 'SELECT pg_try_advisory_xact_lock($1) AS free';
          const [row] = await rowsOf<{ free: boolean }>(client, query, [key]);
          return row?.free !== true;
        });
      } finally {
        await endClient(own);
      }
    },
  };
};
