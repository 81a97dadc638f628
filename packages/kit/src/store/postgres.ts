/**
 * The PostgreSQL driver, for several processes on one database. Commits of one process that wait together go as one
 * batch on one connection (postgres-commit.ts); reads and claims have a pool; one connection listens for the feed.
 */
import pg from 'pg';
import type { Log } from '../log.ts';
import { createBatcher } from './batcher.ts';
import { type Bell, createBell, FEED_PAGE_ENTRIES, type FeedPage, watchFeed } from './feed.ts';
import { historySql, toHistoryEntry } from './history-sql.ts';
import { checkText, isStorable, type Op, toAlsoOps, toKeyValue, toOps } from './ops.ts';
import { CLAIM } from './postgres-claim.ts';
import { type CommitOutcome, type CommitRequest, createBatchWriter } from './postgres-commit.ts';
import {
  asStoreError,
  type Connections,
  connectionConfig,
  createConnections,
  endWithin,
  POSTGRES_TIMES,
  type PostgresTimes,
} from './postgres-connection.ts';
import { startListening } from './postgres-listen.ts';
import { createIndexSql, createPostgresDialect, POSTGRES_HISTORY } from './postgres-query.ts';
import { applySchema, SCHEMA_LOCK } from './postgres-schema.ts';
import { type Bind, checkCount, selectSql, toPathParts, whereSql } from './query-sql.ts';
import {
  type Claim,
  type Committed,
  Conflict,
  type FeedEntry,
  type JsonObject,
  type Row,
  type Store,
  StoreUnavailable,
} from './store.ts';

export type PostgresOptions = {
  readonly url: string;
  readonly feedKeep: number;
  readonly times?: PostgresTimes;
};

const MAX_READ_CONNECTIONS = 8;
/** How long a lost notification can hide a change from a watcher. */
const POLL_MS = 2000;

const GET = 'SELECT version, data FROM parley.rows WHERE domain = $1 AND kind = $2 AND id = $3';
const FIND = 'SELECT id FROM parley.uniques WHERE domain = $1 AND kind = $2 AND name = $3 AND value = $4';
const LAST_SEQ = 'SELECT seq FROM parley.domains WHERE domain = $1';
const FEED = `
  SELECT d.feed_gone, f.seq, f.kind, f.id, f.op FROM parley.domains d LEFT JOIN LATERAL (
    SELECT seq, kind, id, op FROM parley.feed WHERE domain = $1 AND seq > $2 ORDER BY seq LIMIT ${FEED_PAGE_ENTRIES}
  ) f ON true WHERE d.domain = $1 ORDER BY f.seq`;

const createBinder = (): { values: unknown[]; bind: Bind } => {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
};

const toCommitted = (ops: readonly Op[], outcome: CommitOutcome): Committed => {
  if (outcome.is === 'conflict') {
    const [reason, kind, id, key] = outcome.parts;
    throw new Conflict(reason, kind, id, key ?? undefined);
  }
  if (outcome.is === 'failed') throw new Error(outcome.message);
  const puts = ops.filter((op) => op.op === 'put');
  return {
    seq: outcome.seq,
    versions: new Map(puts.map((op, index) => [`${op.kind}/${op.id}`, outcome.versions[index]!])),
  };
};

type Ask = <R extends unknown[]>(text: string, values: unknown[], name?: string) => Promise<R[]>;

const createReads = (ask: Ask, indexedKinds: ReadonlySet<string>) => {
  const dialect = createPostgresDialect(indexedKinds);
  return {
    get: async <T extends object = JsonObject>(domain: string, kind: string, id: string) => {
      if (!isStorable(domain, kind, id)) return undefined;
      const [row] = await ask<[string, T]>(GET, [domain, kind, id], 'get');
      return row && ({ domain, kind, id, version: Number(row[0]), data: row[1] } satisfies Row<T>);
    },
    find: async (domain: string, kind: string, key: string, value: string) => {
      if (!isStorable(domain, kind, key, value)) return undefined;
      return (await ask<[string]>(FIND, [domain, kind, key, toKeyValue(value, key)], 'find'))[0]?.[0];
    },
    lastSeq: async (domain: string) => Number((await ask<[string]>(LAST_SEQ, [domain], 'last_seq'))[0]?.[0] ?? 0),
    query: async <T extends object = JsonObject>(...[domain, kind, query]: Parameters<Store['query']>) => {
      const { values, bind } = createBinder();
      const rows = await ask<[string, string, T]>(selectSql(dialect, domain, kind, query, bind), values);
      return rows.map(([id, version, data]): Row<T> => ({ domain, kind, id, version: Number(version), data }));
    },
    count: async (...[domain, kind, where]: Parameters<Store['count']>) => {
      const { values, bind } = createBinder();
      const conditions = whereSql(dialect, domain, kind, where, bind);
      return Number((await ask<[string]>(`SELECT count(*) FROM parley.rows WHERE ${conditions}`, values))[0]![0]);
    },
    history: async (...[domain, query]: Parameters<Store['history']>) => {
      const { values, bind } = createBinder();
      return (await ask(historySql(POSTGRES_HISTORY, domain, query, bind), values)).map(toHistoryEntry);
    },
    claim: async (...[domain, queue, request]: Parameters<Store['claim']>): Promise<Claim[]> => {
      const { owner, leaseMs, limit, nowMs, except = [] } = request;
      const untilMs = nowMs + leaseMs;
      const rows = await ask<[string, number]>(CLAIM, [domain, queue, nowMs, limit, owner, untilMs, except], 'claim');
      return rows.map(([id, attempt]) => ({ id, attempt, untilMs }));
    },
    pruneJournal: async (domain: string, before: string, limit: number) => {
      const values = [domain, before, checkCount(limit, 'limit')];
      return Number((await ask<[string]>('SELECT parley.prune_journal($1, $2, $3)', values))[0]![0]);
    },
  };
};

const createFeedReader =
  (ask: Ask) =>
  async (domain: string, fromSeq: number): Promise<FeedPage | undefined> => {
    try {
      type Line = [gone: string, seq: string | null, kind: string, id: string, op: FeedEntry['op']];
      const lines = await ask<Line>(FEED, [domain, fromSeq], 'feed');
      const entries = lines.flatMap(([, seq, kind, id, op]) =>
        seq === null ? [] : [{ seq: Number(seq), kind, id, op }],
      );
      return { entries, gone: Number(lines[0]?.[0] ?? 0) };
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    }
  };

/** Applies the schema on a connection of its own. Throws an Error naming the place when that cannot be. */
const prepareDatabase = async (url: string, times: PostgresTimes, sql: (client: pg.Client) => Promise<void>) => {
  const client = new pg.Client({ ...connectionConfig(url, times), statement_timeout: 0, query_timeout: 0 });
  // A fault also rejects the statement under way; without this listener it would end the process as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await sql(client);
  } catch (error) {
    const at = `${client.host}:${client.port}/${client.database ?? ''}`;
    const message = `The database ${at} cannot be used: ${(error as Error).message}`;
    throw asStoreError(error) instanceof StoreUnavailable
      ? new StoreUnavailable(message, { cause: error })
      : new Error(message, { cause: error });
  } finally {
    await endWithin(client.end(), [client]).catch(() => undefined);
  }
};

/** The listening connection starts with the first watcher. */
const createListening = (config: pg.ClientConfig, bell: Bell, log: Log) => {
  let stop: (() => Promise<void>) | undefined;
  return {
    start: (): void => {
      stop ??= startListening(config, bell, log);
    },
    stop: async (): Promise<void> => await stop?.(),
  };
};

/** Opens the database and brings its schema up to date. */
export const openPostgres = async (options: PostgresOptions, log: Log): Promise<Store> => {
  const { url, times = POSTGRES_TIMES } = options;
  await prepareDatabase(url, times, applySchema);
  const reading = createConnections(url, MAX_READ_CONNECTIONS, times, log);
  const writing: Connections = createConnections(url, 1, times, log);
  const indexedKinds = new Set<string>();
  const bell = createBell();
  const batcher = createBatcher<CommitRequest, CommitOutcome>(createBatchWriter(writing, times, options.feedKeep));
  const listening = createListening(connectionConfig(url, { ...times, statementMs: 0 }), bell, log);
  let closing: Promise<void> | undefined;
  const checkOpen = (): void => {
    if (closing !== undefined) throw new StoreUnavailable('The store is closed.');
  };
  const ask: Ask = async (text, values, name) => {
    checkOpen();
    try {
      return await reading.query({ text, values, rowMode: 'array', ...(name && { name }) });
    } catch (error) {
      throw asStoreError(error);
    }
  };
  const readFeed = createFeedReader(ask);
  const close = async (): Promise<void> => {
    bell.close();
    await listening.stop();
    await batcher.drained();
    await Promise.all([reading.end(), writing.end()]);
  };
  return {
    driver: 'postgres',
    ...createReads(ask, indexedKinds),
    commit: async (domain, changes, further = []) => {
      checkOpen();
      const ops = toOps(domain, changes);
      const also = toAlsoOps(domain, further);
      const committed = toCommitted(ops, await batcher.submit({ domain, ops, also }));
      for (const name of [domain, ...also.map((part) => part.domain)]) bell.ring(name);
      return committed;
    },
    watch: (domain, fromSeq, signal) => {
      listening.start();
      return watchFeed(bell, readFeed, { domain, fromSeq, pollMs: POLL_MS }, signal);
    },
    ensureIndex: async (kind, path) => {
      checkOpen();
      const statements = createIndexSql(checkText(kind, 'kind'), toPathParts(path));
      await prepareDatabase(url, times, async (client) => {
        await client.query('SELECT pg_advisory_lock($1)', [SCHEMA_LOCK]);
        for (const statement of statements) await client.query(statement);
        await client.query('ANALYZE parley.rows');
      });
      indexedKinds.add(kind);
    },
    [Symbol.asyncDispose]: async () => {
      closing ??= close();
      await closing;
    },
  };
};
