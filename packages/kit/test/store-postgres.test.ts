/** What only PostgreSQL has: several processes on one database, a database that goes away, outcomes nobody heard. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { openPostgres } from '@parley/kit/store/postgres.ts';
import { POSTGRES_TIMES } from '@parley/kit/store/postgres-connection.ts';
import { type Change, type Store, StoreUnavailable } from '@parley/kit/store/store.ts';
import { openPostgresDriver, type TestDriver } from '@parley/kit/testing/each-store.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { collect, within } from '@parley/kit/testing/wait.ts';
import pg from 'pg';

const put = (id: string, data: object = {}): Change => ({ op: 'put', kind: 'k', id, data });

const openClient = async (url: string): Promise<pg.Client & AsyncDisposable> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
};

/** Resolves when some connection of the database waits for a lock. */
const someoneWaits = async (url: string): Promise<void> => {
  await using client = await openClient(url);
  const waiting =
    'SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = $1';
  while ((await client.query(waiting, ['Lock'])).rows[0].n === '0');
};

type Cut = 'before' | 'after' | 'reply';

/** Stands between a store and the server and cuts the connection once, around the next batch. */
const startProxy = async (url: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-proxy-'));
  const real = new URL(url);
  const socketOf = (at: string): string => join(at, '.s.PGSQL.5432');
  const open = new Set<Socket>();
  let cut: Cut | undefined;
  const server = createServer((client) => {
    const upstream = createConnection(socketOf(decodeURIComponent(real.hostname)));
    let isReplyCut = false;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      const now = bytes.includes('run_batch') ? cut : undefined;
      if (now) cut = undefined;
      isReplyCut = now === 'reply';
      if (now === 'before') client.destroy();
      else upstream.write(bytes, () => now === 'after' && client.destroy());
    });
    upstream.on('data', (bytes) => (isReplyCut ? client.destroy() : client.write(bytes)));
  });
  server.listen(socketOf(folder));
  await once(server, 'listening');
  return {
    url: `postgres://postgres@${encodeURIComponent(folder)}${real.pathname}`,
    cutNext: (where: Cut) => {
      cut = where;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const openAt = (url: string, times = POSTGRES_TIMES): Promise<Store> =>
  openPostgres({ url, feedKeep: 1000, times }, createSilentLog());

failOnLeaks();

describe('postgres', () => {
  let driver: TestDriver & AsyncDisposable;
  before(async () => {
    driver = await openPostgresDriver();
  });
  after(() => driver[Symbol.asyncDispose]());

  it('lets several processes make the schema at once', async () => {
    await using database = await driver.createDatabase();
    const stores = await Promise.all([1, 2, 3, 4].map(() => database.open()));
    const seqs = await Promise.all(stores.map(async (store, n) => (await store.commit('d', [put(`${n}`)])).seq));
    assert.deepEqual(seqs.sort(), [1, 2, 3, 4]);
  });

  it('numbers the commits of two processes without a gap, and shows each to a third as soon as its number', async () => {
    await using database = await driver.createDatabase();
    const [one, two, reader] = await Promise.all([database.open(), database.open(), database.open()]);
    const total = 2 * 4 * 25;
    const stop = new AbortController();
    const read = async (): Promise<number[]> => {
      const seqs: number[] = [];
      for await (const { seq, id } of reader.watch('d', 0, stop.signal)) {
        assert.ok(await reader.get('d', 'k', id), `${id} is visible`);
        if (seqs.push(seq) === total) break;
      }
      return seqs;
    };
    const reading = read();
    const write = async (store: Store, writer: string): Promise<void> => {
      for (let n = 0; n < 25; n++) {
        await store.commit('d', [put(`${writer}-${n}`)]);
        await Promise.allSettled([store.commit('d', [put('never'), { ...put('never'), expect: 0 } as Change])]);
      }
    };
    await Promise.all([one, two].flatMap((store, s) => [1, 2, 3, 4].map((w) => write(store, `${s}${w}`))));
    assert.deepEqual(
      await within(reading, 'the reader'),
      Array.from({ length: total }, (_, n) => n + 1),
    );
    assert.equal(await one.lastSeq('d'), total);
  });

  it('says so while the database is away, works when it is back, and no watcher misses a thing', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [put('a')]);
    const seen = collect(store.watch('d', 0, new AbortController().signal), 3);
    await driver.postgres()!.stop('SIGQUIT');
    await assert.rejects(store.commit('d', [put('lost')]), StoreUnavailable);
    await assert.rejects(store.get('d', 'k', 'a'), StoreUnavailable);
    await assert.rejects(store.claim('d', 'q', { owner: 'o', leaseMs: 1, limit: 1, nowMs: 1 }), StoreUnavailable);
    await assert.rejects(
      openAt(database.place),
      (error: Error) => error instanceof StoreUnavailable && /t\d/.test(error.message),
    );
    await driver.postgres()!.start();
    const retry = async (id: string): Promise<void> => {
      for (;;) {
        try {
          await store.commit('d', [put(id)]);
          return;
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error;
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
        }
      }
    };
    await within(retry('b'), 'the database');
    await store.commit('d', [put('c')]);
    assert.deepEqual(
      (await seen).map(({ seq, id }) => `${seq}${id}`),
      ['1a', '2b', '3c'],
    );
  });

  it('comes back from connections that the server ends', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const seen = collect(store.watch('d', 0, new AbortController().signal), 2);
    await store.commit('d', [put('a')]);
    await using client = await openClient(database.place);
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
      'parley',
    ]);
    await store.commit('d', [put('b')]);
    assert.deepEqual(
      (await seen).map((each) => each.id),
      ['a', 'b'],
    );
  });

  it('finds out what became of a commit whose answer was lost', async () => {
    await using database = await driver.createDatabase();
    await using proxy = await startProxy(database.place);
    await using store = await openAt(proxy.url);
    await store.commit('d', [put('a')]);
    proxy.cutNext('reply');
    assert.equal((await store.commit('d', [put('b')])).seq, 2, 'was written, and not written twice');
    proxy.cutNext('before');
    assert.equal((await store.commit('d', [put('c')])).seq, 3, 'was not written, and is written now');
    assert.deepEqual(
      (await store.query('d', 'k', {})).map((row) => row.version),
      [1, 2, 3],
      'each was written once',
    );
    proxy.cutNext('reply');
    await assert.rejects(store.commit('d', [{ ...put('a'), expect: 7 } as Change]), { name: 'Conflict' });
  });

  it('waits for a commit that is still under way when its connection is lost', async () => {
    await using database = await driver.createDatabase();
    await using proxy = await startProxy(database.place);
    await using store = await openAt(proxy.url);
    await store.commit('d', [put('a')]);
    await using client = await openClient(database.place);
    await client.query(`BEGIN; SELECT 1 FROM parley.domains WHERE domain = 'd' FOR UPDATE`);
    proxy.cutNext('after');
    const commit = store.commit('d', [put('b')]);
    await within(someoneWaits(database.place), 'the batch to wait');
    await client.query('COMMIT');
    assert.equal((await commit).seq, 2);
    assert.equal((await store.get('d', 'k', 'b'))?.version, 2, 'was written once');
  });

  it('says that the outcome is not known when it cannot find out', async () => {
    await using database = await driver.createDatabase();
    await using store = await openAt(database.place, { ...POSTGRES_TIMES, resolveMs: 100 });
    await store.commit('d', [put('a')]);
    await using client = await openClient(database.place);
    client.on('error', () => undefined);
    await client.query(`BEGIN; SELECT 1 FROM parley.domains WHERE domain = 'd' FOR UPDATE`);
    const commit = store.commit('d', [put('b')]);
    const refused = assert.rejects(
      commit,
      (error) => error instanceof StoreUnavailable && /not known/.test(error.message),
    );
    await within(someoneWaits(database.place), 'the batch to wait');
    await driver.postgres()!.stop('SIGQUIT');
    await refused;
    await driver.postgres()!.start();
  });

  it('tries again when it was chosen to end a deadlock', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await Promise.all(['a', 'b'].map((domain) => store.commit(domain, [put('x')])));
    await using client = await openClient(database.place);
    const lock = (domain: string) =>
      client.query('SELECT 1 FROM parley.domains WHERE domain = $1 FOR UPDATE', [domain]);
    await client.query(`SET deadlock_timeout = '60s'; BEGIN`);
    await lock('b');
    const commits = Promise.all(['a', 'b'].map((domain) => store.commit(domain, [put('y')])));
    await within(someoneWaits(database.place), 'the batch to wait');
    await within(lock('a'), 'the end of the deadlock');
    await client.query('COMMIT');
    assert.deepEqual(
      (await commits).map((each) => each.seq),
      [2, 2],
    );
  });

  it('does not wait for ever for a server that says nothing', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const opened = openAt(`postgres://u@127.0.0.1:${port}/x`, { ...POSTGRES_TIMES, connectMs: 100 });
    await assert.rejects(within(opened, 'the refusal'), StoreUnavailable);
    silent.close();
    await once(silent, 'close');
  });

  it('lets nobody change or remove a journal entry', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const entry = { cmdtype: 'create', dtutc: 't', modifierid: 'm', modifiername: 'n', objtype: 'o' } as const;
    const rest = { objid: null, objkey: null, fields: null, obj: {}, addr: null };
    await store.commit('d', [{ op: 'journal', entry: { ...entry, ...rest } }]);
    await using client = await openClient(database.place);
    for (const sql of [
      "UPDATE parley.journal SET addr = 'x'",
      'DELETE FROM parley.journal',
      'TRUNCATE parley.journal',
    ]) {
      await assert.rejects(client.query(sql), /append-only/);
    }
    assert.equal((await store.history('d', {})).length, 1);
  });

  it('refuses a database that a newer version wrote', async () => {
    await using database = await driver.createDatabase();
    await (await database.open())[Symbol.asyncDispose]();
    await using client = await openClient(database.place);
    await client.query('INSERT INTO parley.schema_steps VALUES (999)');
    await assert.rejects(database.open(), /newer version/);
  });
});
