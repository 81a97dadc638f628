/** Commits that reach into further domains: all of it or none. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Change, Conflict } from '@parley/kit/store/store.ts';
import { eachStore } from '@parley/kit/testing/each-store.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { collect } from '@parley/kit/testing/wait.ts';

const put = (id: string, more: object = {}): Change => ({ op: 'put', kind: 'user', id, data: { id }, ...more });

failOnLeaks();

eachStore((driver) => {
  it('writes all domains or none, and numbers each for itself', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('a', [put('one')]);
    const { seq } = await store.commit('b', [put('x')], [{ domain: 'a', changes: [put('two'), put('three')] }]);
    assert.deepEqual([seq, await store.lastSeq('a')], [1, 3]);
    const outcomes = await Promise.allSettled([
      store.commit('b', [put('y')], [{ domain: 'a', changes: [put('never'), put('one', { expect: 9 })] }]),
      store.commit('b', [put('x', { expect: 9 })], [{ domain: 'a', changes: [put('never')] }]),
      store.commit('b', [put('z')], [{ domain: 'a', changes: [put('one', { expect: 1 })] }]),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'rejected', 'fulfilled'],
    );
    assert.ok((outcomes[0] as PromiseRejectedResult).reason instanceof Conflict);
    assert.deepEqual(
      [await store.get('b', 'user', 'y'), await store.get('a', 'user', 'never')],
      [undefined, undefined],
    );
    assert.deepEqual([await store.lastSeq('a'), await store.lastSeq('b')], [4, 2], 'refusals take no numbers');
    const feed = await collect(store.watch('a', 1, new AbortController().signal), 3);
    assert.deepEqual(
      feed.map(({ seq: at, id }) => `${at} ${id}`),
      ['2 two', '3 three', '4 one'],
    );
  });

  it('lets one of many win who count on the same row from different domains', async () => {
    await using database = await driver.createDatabase();
    const [one, other] = driver.name === 'postgres' ? [await database.open(), await database.open()] : [];
    const store = one ?? (await database.open());
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? (other ?? store) : store).commit(
          `d${n % 5}`,
          [put(`u${n}`)],
          [{ domain: 'master', changes: [put('count', { expect: 0 })] }],
        ),
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    const counts = await Promise.all([0, 1, 2, 3, 4].map((n) => store.count(`d${n}`, 'user')));
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      1,
    );
  });

  it('refuses a domain that stands in it twice', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await assert.rejects(store.commit('a', [put('x')], [{ domain: 'a', changes: [put('y')] }]), /twice/);
  });
});
