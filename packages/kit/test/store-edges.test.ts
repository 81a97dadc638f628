/** Where the Store draws its lines: what the feed still holds, and whose an item of work is. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { Problem } from '@parley/kit/problem.ts';
import { type Change, Conflict, FeedGone, StoreUnavailable } from '@parley/kit/store/store.ts';
import { createSqliteDatabase, eachStore } from '@parley/kit/testing/each-store.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { collect } from '@parley/kit/testing/wait.ts';

const put = (id: string): Change => ({ op: 'put', kind: 'user', id, data: {} });
const still = (since: number): Change => ({ op: 'still', kinds: ['nothing'], since });
const FEED_KEEP = 32;

failOnLeaks();

eachStore((driver) => {
  it('holds what the feed still has for unchanged, to the entry, and what it has not for changed', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open({ feedKeep: FEED_KEEP });
    for (let n = 1; n <= 99; n++) await store.commit('d', [put(`r${n}`)]);
    const refusal = await store.commit('d', [still(0), put('x')]).catch((thrown: unknown) => thrown);
    assert.ok(refusal instanceof Conflict);
    assert.deepEqual([refusal.reason, refusal.kind], ['stale', 'nothing']);
    const gone = Number(refusal.key);
    assert.ok(99 - gone >= FEED_KEEP && 99 - gone <= FEED_KEEP * 1.25, `${gone} went`);
    const { signal } = new AbortController();
    await assert.rejects(collect(store.watch('d', gone - 1, signal), 1), FeedGone);
    assert.equal((await collect(store.watch('d', gone, signal), 1))[0]?.seq, gone + 1);
    await assert.rejects(store.commit('d', [still(gone - 1), put('x')]), Conflict);
    await store.commit('d', [still(gone), put('x')]);
  });

  it('lets nobody act on an item that he has put back', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const item = { queue: 'q', id: 'a' } as const;
    const enqueue: Change = { op: 'enqueue', ...item, priority: 0, share: 's', readyAtMs: 0 };
    const claim = { owner: 'me', leaseMs: 100, limit: 1, nowMs: 1000 };
    await store.commit('d', [enqueue]);
    assert.equal((await store.claim('d', 'q', claim)).length, 1);
    await store.commit('d', [{ ...enqueue, owner: 'me' }]);
    for (const late of [
      { op: 'renew', ...item, owner: 'me', untilMs: 5000 },
      { op: 'dequeue', ...item, owner: 'me' },
      { ...enqueue, owner: 'me' },
    ] satisfies Change[]) {
      await assert.rejects(
        store.commit('d', [late]),
        (thrown) => thrown instanceof Conflict && thrown.reason === 'lease',
      );
    }
    assert.equal((await store.claim('d', 'q', { ...claim, owner: 'you' }))[0]?.attempt, 2);
  });

  it('asks for no more at once than it may, and in one way at a time', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [put('a'), put('b')]);
    const among = (count: number) =>
      store.query('d', 'user', {
        where: [{ path: 'x', op: 'in', values: Array.from({ length: count }, (_, n) => `${n}`) }],
      });
    assert.deepEqual(await among(10_000), []);
    await assert.rejects(among(10_001), (thrown) => thrown instanceof Problem && thrown.param === 'values');
    const conditions = (count: number) =>
      store.query('d', 'user', {
        where: Array.from({ length: count }, () => ({ path: 'x', op: '=', value: 1 }) as const),
      });
    await assert.rejects(conditions(1001), (thrown) => thrown instanceof Problem && thrown.param === 'where');
    const order = [{ path: 'x', direction: 'asc' }] as const;
    await assert.rejects(
      store.query('d', 'user', { afterId: 'a', order }),
      (thrown) => thrown instanceof Problem && thrown.param === 'afterId',
    );
    assert.deepEqual(
      (await store.query('d', 'user', { afterId: 'a', order: [] })).map(({ id }) => id),
      ['b'],
    );
  });

  it('gives an item at the very moment it is ready, or its lease is over', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [{ op: 'enqueue', queue: 'q', id: 'a', priority: 0, share: 's', readyAtMs: 1000 }]);
    const claimAt = async (nowMs: number) =>
      (await store.claim('d', 'q', { owner: 'me', leaseMs: 100, limit: 1, nowMs })).length;
    assert.deepEqual([await claimAt(999), await claimAt(1000)], [0, 1]);
    assert.deepEqual([await claimAt(1099), await claimAt(1100)], [0, 1]);
  });
});

it('keeps the journal closed to everybody else before and after its own pruning (SQLite)', async () => {
  await using database = await createSqliteDatabase();
  const store = await database.open();
  const entry = (day: number): Change => ({
    op: 'journal',
    entry: {
      cmdtype: 'update',
      dtutc: `2026-11-0${day}T00:00:00.000000Z`,
      modifierid: 'm',
      modifiername: 'Admin',
      objtype: 'user',
      objid: `${day}`,
      objkey: null,
      fields: null,
      obj: {},
      addr: null,
    },
  });
  await store.commit('d', [entry(1), entry(2), entry(3)]);
  using stranger = new DatabaseSync(database.place);
  const remove = (): unknown => stranger.exec('DELETE FROM journal');
  assert.throws(remove, /append-only/);
  assert.equal(await store.pruneJournal('d', '2026-11-02T00:00:00.000000Z', 10), 1);
  assert.throws(remove, /append-only/);
  assert.throws(() => stranger.exec("UPDATE journal SET cmdtype = 'create'"), /append-only/);
  assert.equal((await store.history('d', {})).length, 2);
});

it('numbers on without a gap after a batch that could not be committed (SQLite)', async () => {
  await using database = await createSqliteDatabase();
  const store = await database.open();
  const { seq } = await store.commit('d', [put('a')]);
  using stranger = new DatabaseSync(database.place);
  stranger.exec("CREATE TRIGGER stuck BEFORE UPDATE ON domains BEGIN SELECT raise(ABORT, 'stuck'); END");
  await assert.rejects(store.commit('d', [put('b')]), StoreUnavailable);
  stranger.exec('DROP TRIGGER stuck');
  assert.equal((await store.commit('d', [put('b')])).seq, seq + 1);
});
