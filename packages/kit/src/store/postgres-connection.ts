/**
 * Connections to PostgreSQL: pools with time-outs, and faults told apart. A database that is away is asked again only
 * after a growing pause, so that callers in between hear StoreUnavailable at once instead of waiting each.
 */
import pg from 'pg';
import type { Log } from '../log.ts';
import { StoreUnavailable } from './store.ts';

export type PostgresTimes = {
  /** To get a connection, free or new. */
  readonly connectMs: number;
  /** For one statement; the server ends it then. */
  readonly statementMs: number;
  /** For the outcome of a commit whose connection was lost. */
  readonly resolveMs: number;
};

export const POSTGRES_TIMES: PostgresTimes = { connectMs: 3000, statementMs: 15_000, resolveMs: 5000 };

/** How much later than the server this side gives up on a statement: only a dead connection comes to that. */
const SILENCE_MS = 2000;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;
const END_PATIENCE_MS = 1000;

/**
 * SQLSTATEs that say "not now": connection exceptions, insufficient resources, operator intervention, a standby
 * (25006), and serialization or lock faults that outlived the retries.
 */
const UNAVAILABLE_STATE = /^(?:08|53|57|58|40|55P03|25006)/;

/** Whether the fault lies with the connection or the server, not with what was asked. */
const isServerFault = (error: unknown): error is Error =>
  error instanceof Error && (!(error instanceof pg.DatabaseError) || UNAVAILABLE_STATE.test(error.code ?? ''));

/** Whether a statement that failed so may nevertheless have been carried out. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || error.severity === 'FATAL' || error.severity === 'PANIC';

/** Whether the same statement may succeed when tried again: serialization failure, deadlock. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');

export const asStoreError = (error: unknown): unknown =>
  isServerFault(error) && !(error instanceof StoreUnavailable)
    ? new StoreUnavailable(`The database is not available: ${error.message}`, { cause: error })
    : error;

export type Connections = {
  /** Runs one statement. Rejects with the driver's error, or with StoreUnavailable when no connection can be had. */
  query<R extends unknown[]>(statement: pg.QueryArrayConfig): Promise<R[]>;
  end(): Promise<void>;
};

const createPause = () => {
  let pauseMs = 0;
  let until = 0;
  return {
    check: (): void => {
      if (performance.now() < until) throw new StoreUnavailable('The database is not available.');
    },
    failed: (): void => {
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs === 0 ? FIRST_PAUSE_MS : pauseMs * 2);
      until = performance.now() + pauseMs;
    },
    worked: (): void => {
      pauseMs = 0;
      until = 0;
    },
  };
};

/** Cuts a connection without a word, as when its other side is silent. */
export const cutConnection = (client: pg.ClientBase): void => {
  (client as unknown as { connection: pg.Connection }).connection.stream.destroy();
};

/** Ends connections in order, or cuts them when that takes too long. */
export const endWithin = async (end: Promise<void>, clients: Iterable<pg.ClientBase>): Promise<void> => {
  const timer = setTimeout(() => {
    for (const client of clients) cutConnection(client);
  }, END_PATIENCE_MS);
  try {
    await end;
  } finally {
    clearTimeout(timer);
  }
};

/** What every connection is opened with. */
export const connectionConfig = (url: string, times: PostgresTimes): pg.ClientConfig => ({
  connectionString: url,
  connectionTimeoutMillis: times.connectMs,
  statement_timeout: times.statementMs,
  query_timeout: times.statementMs + SILENCE_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 5000,
  application_name: 'parley',
});

/** A pool of up to `max` connections. */
export const createConnections = (url: string, max: number, times: PostgresTimes, log: Log): Connections => {
  const pool = new pg.Pool({ ...connectionConfig(url, times), max });
  const clients = new Set<pg.PoolClient>();
  // The pool listens only to connections that nobody uses; one that is lost in use would end the process.
  pool.on('connect', (client) => {
    clients.add(client);
    client.on('error', (error) => log.warn({ code: (error as { code?: string }).code }, 'database connection lost'));
  });
  pool.on('remove', (client) => {
    clients.delete(client);
  });
  pool.on('error', () => undefined);
  const pause = createPause();
  const connect = async (): Promise<pg.PoolClient> => {
    pause.check();
    try {
      const client = await pool.connect();
      pause.worked();
      return client;
    } catch (error) {
      pause.failed();
      throw new StoreUnavailable(`The database cannot be reached: ${(error as Error).message}`, { cause: error });
    }
  };
  return {
    query: async <R extends unknown[]>(statement: pg.QueryArrayConfig): Promise<R[]> => {
      const client = await connect();
      try {
        const { rows } = await client.query<R>(statement);
        client.release();
        return rows;
      } catch (error) {
        // A connection that failed for other reasons than the statement itself is not used again.
        client.release(isServerFault(error));
        throw error;
      }
    },
    end: () => endWithin(pool.end(), clients),
  };
};
