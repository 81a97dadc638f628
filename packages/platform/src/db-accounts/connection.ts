/**
 * A connection to a database that is not ours: bounded in time, opened with nothing but what the storage says, and with
 * one answer for everything that goes wrong, so that nobody learns from it what stands on a network.
 */
import { Problem } from '@parley/kit/problem.ts';
import { StoreUnavailable } from '@parley/kit/store/store.ts';
import pg from 'pg';
import { cannotApply, problem } from '../codes.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { passwordOf, type Target } from './target.ts';

export type Client = pg.Client;

const CONNECT_MS = 5000;
const STATEMENT_MS = 5000;
/** This side gives up on a server that no longer answers. */
const SILENCE_MS = STATEMENT_MS + 2000;
const END_MS = 1000;

const NOT_PERMITTED = '42501';
const DEPENDENT_OBJECTS = '2BP01';

/** Rows of a statement with bound values. */
export const rowsOf = async <R extends object>(client: Client, text: string, values: unknown[] = []): Promise<R[]> =>
  (await client.query(text, values)).rows as R[];

/**
 * Has the server put names and literals into a statement (`format`: `%I` quotes a name, `%L` a literal) and runs what
 * comes back: statements on roles take no bound values.
 */
export const runFormatted = async (client: Client, template: string, ...values: readonly string[]): Promise<void> => {
  const places = values.map((_, at) => `$${at + 2}::text`).join(', ');
  const [row] = await rowsOf<{ text: string }>(client, `SELECT format($1::text, ${places}) AS text`, [
    template,
    ...values,
  ]);
  await client.query(row!.text);
};

/** Runs the job in one transaction. */
export const inTransaction = async <T>(client: Client, job: () => Promise<T>): Promise<T> => {
  await client.query('BEGIN');
  try {
    const result = await job();
    await client.query('COMMIT');
    return result;
  } catch (thrown) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw thrown;
  }
};

/** What went wrong, as the caller may know it. */
const toProblem = (thrown: unknown): Problem => {
  if (thrown instanceof Problem) return thrown;
  // Ours, not theirs.
  if (thrown instanceof StoreUnavailable) return problem('unavailable', { retryAfterSec: 5, cause: thrown });
  const code = thrown instanceof pg.DatabaseError ? thrown.code : undefined;
  if (code === NOT_PERMITTED) return cannotApply('login', 'not_permitted');
  if (code === DEPENDENT_OBJECTS) return cannotApply('login', 'owns_objects_elsewhere');
  return problem('upstream_failed', { message: 'The database cannot be used', cause: thrown });
};

/** Connects, does the job, disconnects. Rejects with a Problem: 422 for missing rights, 502 for all faults alike. */
export const withClient = async <T>(
  target: Target,
  secrets: SecretBox,
  job: (client: Client) => Promise<T>,
): Promise<T> => {
  const password = passwordOf(target, secrets);
  const client = new pg.Client({
    host: target.host,
    port: target.port,
    user: target.login,
    // As a function, because an empty password would be looked for in this process' environment.
    password: () => password,
    database: target.database,
    ssl: false,
    application_name: 'parley',
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: SILENCE_MS,
  });
  // A fault also rejects the statement under way; without this listener it would end the process as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await job(client);
  } catch (thrown) {
    throw toProblem(thrown);
  } finally {
    await endClient(client);
  }
};

/** Ends a connection, without waiting for a server that is silent. */
export const endClient = async (client: pg.Client): Promise<void> => {
  const cut = setTimeout(() => {
    (client as unknown as { connection: pg.Connection }).connection.stream.destroy();
  }, END_MS);
  await client.end().catch(() => undefined);
  clearTimeout(cut);
};
