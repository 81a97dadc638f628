/** A throwaway PostgreSQL for tests, kept by a child process (postgres-keeper.ts) that outlives no test run. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Doors, KeeperAnswer, KeeperOrder } from './postgres-keeper.ts';

export type PostgresServer = AsyncDisposable & {
  /** Makes an empty database and answers its URL. */
  createDatabase(): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  /** Runs SQL as the owner of everything, in the database `postgres`. */
  run(sql: string, values?: unknown[]): Promise<pg.QueryResult>;
  /** What the server has written to its log. */
  log(): Promise<string>;
  start(): Promise<void>;
  /** SIGINT ends it in order and cuts connections; SIGQUIT is a crash. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
};

const ask = async (keeper: ChildProcess, order: KeeperOrder): Promise<void> => {
  const answered = once(keeper, 'message') as Promise<[KeeperAnswer]>;
  const ended = once(keeper, 'exit').then(() => {
    throw new Error('The keeper of PostgreSQL ended.');
  });
  ended.catch(() => undefined);
  keeper.send(order);
  const [answer] = await Promise.race([answered, ended]);
  if (!answer.ok) throw new Error(answer.message);
};

/** Starts a server on a new folder; takes about a second. With `doors` it is reached over TCP, else by a socket file. */
export const startPostgres = async (doors?: Doors): Promise<PostgresServer> => {
  const root = await mkdtemp(join(tmpdir(), 'parley-pg-'));
  const words = doors ? [root, doors.address, doors.network] : [root];
  const keeper = fork(fileURLToPath(new URL('./postgres-keeper.ts', import.meta.url)), words, { execArgv: [] });
  const url = (database: string): string => `postgres://postgres@${encodeURIComponent(join(root, 's'))}/${database}`;
  let databases = 0;
  const run = async (sql: string, values: unknown[] = []): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: url('postgres') });
    await client.connect();
    try {
      return await client.query(sql, values);
    } finally {
      await client.end();
    }
  };
  const dispose = async (): Promise<void> => {
    if (keeper.exitCode !== null) return;
    const ended = once(keeper, 'exit');
    keeper.disconnect();
    await ended;
  };
  try {
    await ask(keeper, { order: 'start' });
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    createDatabase: async () => {
      databases += 1;
      await run(`CREATE DATABASE t${databases}`);
      return doors ? `postgres://postgres@${doors.address}/t${databases}` : url(`t${databases}`);
    },
    dropDatabase: async (place) => {
      try {
        await run(`DROP DATABASE IF EXISTS ${place.slice(place.lastIndexOf('/') + 1)} WITH (FORCE)`);
      } catch (error) {
        // A server that was stopped goes with all it has; an error here would hide the one that ended the test.
        if (error instanceof pg.DatabaseError) throw error;
      }
    },
    run,
    log: () => readFile(join(root, 'log'), 'utf8'),
    start: () => ask(keeper, { order: 'start' }),
    stop: (signal) => ask(keeper, { order: 'stop', signal }),
    [Symbol.asyncDispose]: dispose,
  };
};
