/**
 * The SQLite driver. One thread writes (sqlite-writer.ts), so that a disk sync never blocks the event loop; one thread
 * answers what may take long (sqlite-reader.ts). Reads by key run here, on a connection of their own: they cost less
 * than a message to another thread would (docs/decisions.md), and the log of SQLite lets them pass the writer.
 * One process per file.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { createBatcher } from './batcher.ts';
import { createBell, FEED_PAGE_ENTRIES, type FeedPage, watchFeed } from './feed.ts';
import { historySql, toHistoryEntry } from './history-sql.ts';
import { checkText, isStorable, toAlsoOps, toKeyValue, toOps } from './ops.ts';
import { type Bind, checkCount, selectSql, toPathParts, whereSql } from './query-sql.ts';
import { isUnavailable, type Outcome, type WriteRequest } from './sqlite-apply.ts';
import { createIndexSql, createSqliteDialect, SQLITE_HISTORY } from './sqlite-query.ts';
import { startReader, startWriter } from './sqlite-threads.ts';
import { Conflict, type FeedEntry, type JsonObject, type Row, type Store, StoreUnavailable } from './store.ts';

export type SqliteOptions = {
  readonly file: string;
  /** Sequence numbers of each domain for which feed entries are kept. */
  readonly feedKeep: number;
};

/**
 * Only the owner may read what we keep. A file that is there is not opened: closing it again would free all locks that
 * this process holds on it (POSIX), SQLite's own among them.
 */
const prepareFile = (file: string): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  for (const each of [file, `${file}-lock`]) {
    if (!existsSync(each)) closeSync(openSync(each, 'a', 0o600));
    chmodSync(each, 0o600);
  }
};

const createBinder = (): { params: SQLInputValue[]; bind: Bind } => {
  const params: SQLInputValue[] = [];
  const bind: Bind = (value) => {
    params.push(value as SQLInputValue);
    return '?';
  };
  return { params, bind };
};

const asUnavailable = (error: unknown): unknown =>
  isUnavailable(error) ? new StoreUnavailable(error.message, { cause: error }) : error;

/** Reads by key, at once, on this thread. */
const createKeyReads = (file: string) => {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  const get = db.prepare('SELECT version, data FROM rows WHERE domain = ? AND kind = ? AND id = ?');
  const find = db.prepare('SELECT id FROM uniques WHERE domain = ? AND kind = ? AND name = ? AND value = ?');
  const counters = db.prepare('SELECT seq, feed_gone FROM domains WHERE domain = ?');
  const feed = db.prepare(
    `SELECT seq, kind, id, op FROM feed WHERE domain = ? AND seq > ? ORDER BY seq LIMIT ${FEED_PAGE_ENTRIES}`,
  );
  type Counters = { seq: number; feed_gone: number };
  return {
    close: () => db.close(),
    get: <T extends object>(domain: string, kind: string, id: string): Row<T> | undefined => {
      const row = get.get(domain, kind, id) as { version: number; data: string } | undefined;
      return row && { domain, kind, id, version: row.version, data: JSON.parse(row.data) as T };
    },
    find: (domain: string, kind: string, key: string, value: string): string | undefined =>
      (find.get(domain, kind, key, value) as { id: string } | undefined)?.id,
    lastSeq: (domain: string): number => (counters.get(domain) as Counters | undefined)?.seq ?? 0,
    feed: (domain: string, fromSeq: number): FeedPage => {
      // The database's objects have no prototype; ours do.
      const entries = (feed.all(domain, fromSeq) as FeedEntry[]).map((entry) => ({ ...entry }));
      return { entries, gone: (counters.get(domain) as Counters | undefined)?.feed_gone ?? 0 };
    },
  };
};

/** The outcome a caller waits for, or the error it stands for. */
const unwrap = <Is extends Outcome['is']>(outcome: Outcome, is: Is): Extract<Outcome, { is: Is }> => {
  if (outcome.is === is) return outcome as Extract<Outcome, { is: Is }>;
  if (outcome.is === 'conflict') throw new Conflict(...outcome.parts);
  if (outcome.is === 'unavailable') throw new StoreUnavailable(outcome.message);
  throw new Error(outcome.is === 'failed' ? outcome.message : `Unexpected outcome ${outcome.is}`);
};

const createReads = (file: string, indexedKinds: ReadonlySet<string>) => {
  const keys = createKeyReads(file);
  const reader = startReader(file);
  const dialect = createSqliteDialect(indexedKinds);
  const now = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      throw asUnavailable(error);
    }
  };
  return {
    close: async () => {
      await reader.close();
      keys.close();
    },
    feed: (domain: string, fromSeq: number) => now(() => keys.feed(domain, fromSeq)),
    get: async <T extends object = JsonObject>(domain: string, kind: string, id: string) =>
      isStorable(domain, kind, id) ? now(() => keys.get<T>(domain, kind, id)) : undefined,
    find: async (domain: string, kind: string, key: string, value: string) =>
      isStorable(domain, kind, key, value)
        ? now(() => keys.find(domain, kind, key, toKeyValue(value, key)))
        : undefined,
    lastSeq: async (domain: string) => now(() => keys.lastSeq(domain)),
    query: async <T extends object = JsonObject>(...[domain, kind, query]: Parameters<Store['query']>) => {
      const { params, bind } = createBinder();
      const rows = await reader.read(selectSql(dialect, domain, kind, query, bind), params);
      return (rows as [string, number, string][]).map(
        ([id, version, data]): Row<T> => ({ domain, kind, id, version, data: JSON.parse(data) as T }),
      );
    },
    count: async (...[domain, kind, where]: Parameters<Store['count']>) => {
      const { params, bind } = createBinder();
      const where_ = whereSql(dialect, domain, kind, where, bind);
      const rows = await reader.read(`SELECT count(*) FROM rows WHERE ${where_}`, params);
      return Number(rows[0]![0]);
    },
    history: async (...[domain, query]: Parameters<Store['history']>) => {
      const { params, bind } = createBinder();
      return (await reader.read(historySql(SQLITE_HISTORY, domain, query, bind), params)).map(toHistoryEntry);
    },
  };
};

/** Opens the file, making it when it is not there. Throws an Error naming the file when that cannot be. */
export const openSqlite = async (options: SqliteOptions): Promise<Store> => {
  const file = resolve(options.file);
  prepareFile(file);
  const writer = await startWriter(file, options.feedKeep);
  const indexedKinds = new Set<string>();
  const reads = createReads(file, indexedKinds);
  const bell = createBell();
  const batcher = createBatcher<WriteRequest, Outcome>(writer.run);
  let closing: Promise<void> | undefined;
  const submit = async (request: WriteRequest): Promise<Outcome> => {
    if (closing !== undefined) throw new StoreUnavailable('The store is closed.');
    return await batcher.submit(request);
  };
  const close = async (): Promise<void> => {
    bell.close();
    await batcher.drained();
    await reads.close();
    await writer.close();
  };
  const { close: _, feed, ...readMembers } = reads;
  return {
    driver: 'sqlite',
    ...readMembers,
    commit: async (domain, changes, further = []) => {
      const also = toAlsoOps(domain, further);
      const outcome = await submit({ do: 'commit', domain, ops: toOps(domain, changes), also });
      const { seq, versions } = unwrap(outcome, 'committed');
      for (const name of [domain, ...also.map((part) => part.domain)]) bell.ring(name);
      return { seq, versions: new Map(versions) };
    },
    claim: async (domain, queue, request) =>
      unwrap(await submit({ do: 'claim', domain, queue, request }), 'claimed').claims.slice(),
    watch: (domain, fromSeq, signal) => watchFeed(bell, async (...at) => feed(...at), { domain, fromSeq }, signal),
    pruneJournal: async (domain, before, limit) => {
      const request = { do: 'prune', domain, before, limit: checkCount(limit, 'limit') } as const;
      return unwrap(await submit(request), 'done').count;
    },
    ensureIndex: async (kind, path) => {
      const sql = `${createIndexSql(checkText(kind, 'kind'), toPathParts(path))}; ANALYZE rows`;
      unwrap(await submit({ do: 'exec', sql }), 'done');
      indexedKinds.add(kind);
    },
    [Symbol.asyncDispose]: async () => {
      closing ??= close();
      await closing;
    },
  };
};
