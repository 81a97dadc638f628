/** `journal verify` finds what was done to a store behind the platform's back; on SQLite and PostgreSQL. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { openStore } from '@parley/kit/store/open.ts';
import { openSnapshot } from '@parley/kit/store/open-snapshot.ts';
import type { Change, JournalEntry, Store } from '@parley/kit/store/store.ts';
import { eachStore } from '@parley/kit/testing/each-store.ts';
import { verifyJournal } from '../src/journal/verify.ts';

const LWT = '2026-01-01T00:00:00.000000Z';

const entry = (objid: string, cmdtype: JournalEntry['cmdtype']): Change => ({
  op: 'journal',
  entry: {
    cmdtype,
    dtutc: LWT,
    modifierid: 'm',
    modifiername: 'M',
    objtype: 'user',
    objid,
    objkey: null,
    fields: null,
    obj: { id: objid, ext: { lwt: LWT } },
    addr: null,
  },
});

const put = (id: string): Change[] => [
  { op: 'put', kind: 'user', id, data: { id, ext: { lwt: LWT } }, unique: { login: id } },
  entry(id, 'create'),
];

const fill = async (store: Store): Promise<void> => {
  for (const id of ['a', 'b', 'c']) await store.commit('master', put(id));
  await store.commit('master', [{ op: 'drop', kind: 'user', id: 'c' }, entry('c', 'delete')]);
  // Quiet rows take no number.
  await store.commit('other', [{ op: 'put', kind: 'seen', id: '1', data: {}, quiet: true }, ...put('d')]);
};

const faultsOf = async (place: string): Promise<readonly string[]> => {
  await using snapshot = await openSnapshot(place);
  return (await verifyJournal(snapshot)).faults;
};

eachStore((driver) => {
  it('a journal as the store wrote it is well, also after retention', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await fill(store);
    await using snapshot = await openSnapshot(database.place);
    const report = await verifyJournal(snapshot);
    assert.deepEqual(report, { domains: 2, entries: 5, objects: 4, faults: [] });
    await store.pruneJournal('master', '2030-01-01T00:00:00.000000Z', 2);
    assert.deepEqual(await faultsOf(database.place), []);
    await store.pruneJournal('master', '2030-01-01T00:00:00.000000Z', 9);
    await store.pruneJournal('other', '2030-01-01T00:00:00.000000Z', 9);
  });

  it('a row that goes or changes without an entry is found', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await fill(store);
    const quiet = { kind: 'user', quiet: true } as const;
    await store.commit('master', [
      { op: 'drop', id: 'a', ...quiet },
      { op: 'put', id: 'b', data: { id: 'b', ext: { lwt: '2027' } }, ...quiet },
      { op: 'put', id: 'c', data: { id: 'c' }, ...quiet },
    ]);
    const faults = await faultsOf(database.place);
    assert.equal(faults.length, 3, faults.join('\n'));
    assert.match(faults[0]!, /^master: user a by entry 2: is not there/);
    assert.match(faults[1]!, /^master: user b by entry 4: was written at 2026.*, its row at 2027/);
    assert.match(faults[2]!, /^master: user c by entry 8: was removed and is there/);
  });
});

const WOUNDS: readonly (readonly [string, RegExp])[] = [
  ['DELETE FROM journal WHERE seq = 4', /numbers 4 to 4 are missing/],
  ["UPDATE domains SET seq = 9 WHERE domain = 'master'", /ends with number 8; 9 was the last/],
  ["UPDATE domains SET seq = 7 WHERE domain = 'master'", /number 8 was never given/],
  ['UPDATE feed SET seq = 4 WHERE seq = 3', /number 4 stands twice/],
  ["UPDATE journal SET obj = 'x' WHERE seq = 2", /user a by entry 2: cannot be read/],
  ["DELETE FROM rows WHERE id = 'd'", /key login belongs to user d/],
];

it('a file that was changed by hand is found out', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-journal-'));
  try {
    const place = join(folder, 'whole.sqlite');
    const store = await openStore(place, createSilentLog());
    await fill(store);
    await store[Symbol.asyncDispose]();
    for (const [index, [sql, words]] of WOUNDS.entries()) {
      const wounded = join(folder, `${index}.sqlite`);
      await copyFile(place, wounded);
      const db = new DatabaseSync(wounded);
      db.exec(`DROP TRIGGER journal_keeps; DROP TRIGGER journal_stays; ${sql}`);
      db.close();
      assert.match((await faultsOf(wounded)).join('\n'), words, sql);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
