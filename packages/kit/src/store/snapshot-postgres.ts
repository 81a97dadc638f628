/**
 * A PostgreSQL store at one moment: a transaction that sees one snapshot (REPEATABLE READ). Saved, each table is a file
 * `TABLE.ndjson`: the first line is a JSON array of the columns' names, each further one a row as an array of their
 * values in PostgreSQL's text form, or null. So documents come back to the byte, without pg_dump.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { connectionConfig, endWithin, POSTGRES_TIMES } from './postgres-connection.ts';
import { applySchema, SCHEMA_LOCK } from './postgres-schema.ts';
import type { SnapshotRow, StoreSnapshot } from './snapshot.ts';

/** What is kept: all but the outcomes of batches, which matter to the connection that sent them. */
const SAVED_TABLES = ['domains', 'rows', 'uniques', 'feed', 'journal', 'work'] as const;

const ROWS_AT_ONCE = 200;
/** A row of a restored table is written with others up to so many characters. */
const INSERT_CHARACTERS = 4 * 1024 * 1024;

const asText = { getTypeParser: () => (value: string | Buffer) => String(value) };

const connect = async (url: string): Promise<pg.Client> => {
  const config = connectionConfig(url, POSTGRES_TIMES);
  const client = new pg.Client({ ...config, statement_timeout: 0, query_timeout: 0 });
  // A fault also rejects the statement under way; without this listener it would end the process as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (thrown) {
    await endWithin(client.end(), [client]).catch(() => undefined);
    const at = `${client.host}:${client.port}/${client.database ?? ''}`;
    throw new Error(`The database ${at} cannot be reached: ${(thrown as Error).message}`, { cause: thrown });
  }
};

const disconnect = (client: pg.Client): Promise<void> => endWithin(client.end(), [client]).catch(() => undefined);

export const openPostgresSnapshot = async (url: string): Promise<StoreSnapshot> => {
  const client = await connect(url);
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query('SET LOCAL search_path = parley; SET LOCAL idle_in_transaction_session_timeout = 0');
    // The first statement that reads takes the snapshot.
    const { rows } = await client.query<{ step: number | null }>('SELECT max(step) AS step FROM schema_steps');
    return {
      driver: 'postgres',
      schema: rows[0]?.step ?? 0,
      rows: (sql) => readRows(client, sql),
      save: async (folder) => {
        for (const table of SAVED_TABLES) await saveTable(client, table, join(folder, `${table}.ndjson`));
      },
      [Symbol.asyncDispose]: () => disconnect(client),
    };
  } catch (thrown) {
    await disconnect(client);
    throw new Error(`The database cannot be read: ${(thrown as Error).message}`, { cause: thrown });
  }
};

const readRows = async function* (client: pg.Client, sql: string): AsyncGenerator<SnapshotRow> {
  for await (const page of readPages(client, sql)) yield* page;
};

const readPages = async function* (client: pg.Client, sql: string): AsyncGenerator<SnapshotRow[]> {
  const name = `c${randomUUID().replaceAll('-', '')}`;
  await client.query(`DECLARE ${name} NO SCROLL CURSOR FOR ${sql}`);
  for (;;) {
    const text = `FETCH ${ROWS_AT_ONCE} FROM ${name}`;
    const { rows } = await client.query<(string | null)[]>({ text, rowMode: 'array', types: asText });
    if (rows.length === 0) break;
    yield rows;
  }
  await client.query(`CLOSE ${name}`);
};

type Column = { readonly name: string; readonly type: string };

const COLUMNS = `
  SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
  WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`;

const columnsOf = async (client: pg.Client, table: string): Promise<Column[]> =>
  (await client.query<Column>(COLUMNS, [`parley.${table}`])).rows;

const saveTable = async (client: pg.Client, table: string, path: string): Promise<void> => {
  const names = (await columnsOf(client, table)).map(({ name }) => name);
  await using file = await open(path, 'wx', 0o600);
  await file.write(`${JSON.stringify(names)}\n`);
  for await (const page of readPages(client, `SELECT ${names.join(', ')} FROM ${table}`)) {
    await file.write(page.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
};

/** One transaction after the schema: all rows or none. */
export const restorePostgres = async (folder: string, url: string, schema: number): Promise<void> => {
  const client = await connect(url);
  try {
    await checkEmpty(client);
    // As it was when the rows were saved; what came later is applied to them, as in an upgrade.
    await applySchema(client, schema);
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
    await checkEmpty(client);
    for (const table of SAVED_TABLES) await loadTable(client, table, join(folder, `${table}.ndjson`));
    await client.query(`SELECT setval(pg_get_serial_sequence('parley.work', 'no'),
      (SELECT coalesce(max(no), 0) + 1 FROM parley.work), false)`);
    await client.query('COMMIT');
    await applySchema(client);
    await client.query('ANALYZE');
  } finally {
    await disconnect(client);
  }
};

const checkEmpty = async (client: pg.Client): Promise<void> => {
  for (const table of SAVED_TABLES) {
    const { rows } = await client.query<{ at: string | null }>(`SELECT to_regclass('parley.${table}') AS at`);
    if (rows[0]?.at === null) continue;
    const found = await client.query(`SELECT 1 FROM parley.${table} LIMIT 1`);
    if (found.rows.length > 0) throw new Error(`The database ${client.database ?? ''} is not empty.`);
  }
};

const loadTable = async (client: pg.Client, table: string, path: string): Promise<void> => {
  const types = new Map((await columnsOf(client, table)).map(({ name, type }) => [name, type]));
  let names: string[] | undefined;
  let insert = '';
  let rows: (string | null)[][] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    if (rows.length === 0) return;
    await client.query(
      insert,
      names!.map((_, column) => rows.map((row) => row[column])),
    );
    rows = [];
    characters = 0;
  };
  for await (const line of readLines(path)) {
    const values = JSON.parse(line) as (string | null)[];
    if (names === undefined) {
      names = values as string[];
      insert = insertOf(table, names, types);
      continue;
    }
    rows.push(values);
    characters += line.length;
    if (characters >= INSERT_CHARACTERS) await flush();
  }
  await flush();
};

/** Ends of lines are `\n` alone: readline would also part at U+2028, which JSON leaves as it is. */
const readLines = async function* (path: string): AsyncGenerator<string> {
  let pieces: string[] = [];
  for await (const chunk of createReadStream(path, 'utf8') as AsyncIterable<string>) {
    const parts = chunk.split('\n');
    pieces.push(parts[0]!);
    for (const part of parts.slice(1)) {
      yield pieces.join('');
      pieces = [part];
    }
  }
  const rest = pieces.join('');
  if (rest !== '') yield rest;
};

/** One statement for many rows: each column is an array. */
const insertOf = (table: string, names: readonly string[], types: ReadonlyMap<string, string>): string => {
  const unknown = names.find((name) => !types.has(name));
  if (unknown !== undefined) throw new Error(`The table ${table} has no column ${unknown}.`);
  const values = names.map((name) => `r.${name}::${types.get(name)}`).join(', ');
  const arrays = names.map((_, index) => `$${index + 1}::text[]`).join(', ');
  return `INSERT INTO parley.${table} (${names.join(', ')}) OVERRIDING SYSTEM VALUE
    SELECT ${values} FROM unnest(${arrays}) AS r(${names.join(', ')})`;
};
