/** What only the SQLite driver has: a file, its lock, its rights, and a process that may die in the middle. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSilentLog } from '@parley/kit/log.ts';
import { openStore } from '@parley/kit/store/open.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { createSqliteDatabase } from '@parley/kit/testing/each-store.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { within } from '@parley/kit/testing/wait.ts';

const WRITER = fileURLToPath(new URL('./store-writer.ts', import.meta.url));

/** Starts the writer and gathers its lines; `enough` says when to end it. */
const runWriter = async (
  command: readonly string[],
  enough: (lines: readonly string[]) => boolean,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<string[]> => {
  const child: ChildProcess = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  let said = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (enough(said.split('\n').slice(0, -1))) child.kill(signal);
  });
  await within(closed, 'the writer', 60_000);
  return said.split('\n').slice(0, -1);
};

/** Every acknowledged commit is there whole, and no other is there in half. */
const checkWhole = async (store: Store, acknowledged: readonly string[]): Promise<number> => {
  const [left, right, entries] = await Promise.all([
    store.query('d', 'left', {}),
    store.query('d', 'right', {}),
    store.history('d', {}),
  ]);
  const ids = left.map((row) => row.id);
  assert.deepEqual(
    right.map((row) => row.id),
    ids,
  );
  assert.deepEqual(entries.map((each) => each.objid).sort(), ids);
  const kept = new Set(ids);
  assert.deepEqual(
    acknowledged.filter((id) => !kept.has(id)),
    [],
    'acknowledged and lost',
  );
  for (const id of ids) assert.equal(await store.find('d', 'left', 'id', id), id);
  assert.equal(await store.lastSeq('d'), ids.length * 3);
  return ids.length;
};

failOnLeaks();

it('loses nothing acknowledged and keeps nothing in half when the process is killed', async () => {
  await using database = await createSqliteDatabase();
  const acknowledged: string[] = [];
  for (const [round, count] of [1, 40, 7, 150, 90].entries()) {
    const lines = await runWriter(
      [process.execPath, WRITER, database.place, `${round * 100_000}`],
      (l) => l.length >= count,
    );
    acknowledged.push(...lines);
    const store = await database.open();
    await checkWhole(store, acknowledged);
    await store[Symbol.asyncDispose]();
  }
  assert.ok(acknowledged.length >= 288);
});

it('says that the store is unavailable when the disk is full, and goes on when it is not', async () => {
  await using database = await createSqliteDatabase();
  // A limit on the size of files stands for the full disk; the program learns it from the same system calls.
  const limited = ['/bin/sh', '-c', 'ulimit -f 800; exec "$@"', 'sh', process.execPath, WRITER, database.place, '0'];
  const lines = await runWriter(limited, (all) => all.includes('StoreUnavailable'));
  assert.deepEqual(new Set(lines.filter((line) => !/^n\d+$/.test(line))), new Set(['StoreUnavailable']));
  const store = await database.open();
  await checkWhole(
    store,
    lines.filter((line) => /^n\d+$/.test(line)),
  );
  await store.commit('d', [{ op: 'put', kind: 'left', id: 'after', data: {} }]);
});

it('gives a file to one process only, and names it', async () => {
  await using database = await createSqliteDatabase();
  const store = await database.open();
  const refused = (error: Error): boolean => error.message.includes(database.place) && /in use/.test(error.message);
  await assert.rejects(openStore(database.place, createSilentLog()), refused);
  // A refused attempt within this process must not have freed the lock for another one.
  const other = spawn(process.execPath, [WRITER, database.place, '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const closed = once(other, 'close');
  const said = await other.stderr.setEncoding('utf8').toArray();
  assert.notEqual((await within(closed, 'the other process'))[0], 0);
  assert.match(said.join(''), /in use by another process/);
  await store[Symbol.asyncDispose]();
  await (await openStore(database.place, createSilentLog()))[Symbol.asyncDispose]();
});

it('keeps its files from others', async () => {
  await using database = await createSqliteDatabase();
  const place = join(dirname(database.place), 'deep', 'er', 'a.db');
  await using store = await openStore(place, createSilentLog());
  await store.commit('d', [{ op: 'put', kind: 'k', id: 'a', data: {} }]);
  assert.equal((await stat(dirname(place))).mode & 0o777, 0o700);
  for (const end of ['', '-wal', '-shm', '-lock']) assert.equal((await stat(place + end)).mode & 0o777, 0o600, end);
});

it('refuses a file that is none of its own, naming it', async () => {
  await using database = await createSqliteDatabase();
  const place = join(dirname(database.place), 'text.db');
  await writeFile(place, 'This is not a database. '.repeat(200));
  await assert.rejects(openStore(place, createSilentLog()), (error: Error) => error.message.includes(place));
  const newer = new DatabaseSync(database.place);
  newer.exec('PRAGMA user_version = 999');
  newer.close();
  await assert.rejects(database.open(), /newer version/);
  await assert.rejects(openStore(join(place, 'below-a-file.db'), createSilentLog()), /text\.db/);
});

it('lets nobody change or remove a journal entry', async () => {
  await using database = await createSqliteDatabase();
  const store = await database.open();
  const entry = { cmdtype: 'create', dtutc: 't', modifierid: 'm', modifiername: 'n', objtype: 'o' } as const;
  const rest = { objid: null, objkey: null, fields: null, obj: {}, addr: null };
  await store.commit('d', [{ op: 'journal', entry: { ...entry, ...rest } }]);
  using direct = new DatabaseSync(database.place, { timeout: 5000 });
  for (const sql of ["UPDATE journal SET addr = 'x'", 'DELETE FROM journal']) {
    assert.throws(() => direct.exec(sql), /append-only/);
  }
});
