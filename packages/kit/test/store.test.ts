import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Problem } from '@parley/kit/problem.ts';
import { recordsOf } from '@parley/kit/store/domain.ts';
import { type Change, Conflict, FeedGone, type JournalEntry, StoreUnavailable } from '@parley/kit/store/store.ts';
import { eachStore } from '@parley/kit/testing/each-store.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { collect } from '@parley/kit/testing/wait.ts';

const put = (id: string, data: object = {}, more: object = {}): Change => ({
  op: 'put',
  kind: 'user',
  id,
  data,
  ...more,
});

const entry = (objid: string, more: Partial<JournalEntry> = {}): Change => ({
  op: 'journal',
  entry: {
    cmdtype: 'update',
    dtutc: '2026-11-21T04:00:00.000000Z',
    modifierid: 'm',
    modifiername: 'Admin',
    objtype: 'user',
    objid,
    objkey: `key-${objid}`,
    fields: 'name',
    obj: { id: objid, pwd: '*****' },
    addr: null,
    ...more,
  },
});

const conflict = (reason: Conflict['reason'], kind: string, id: string, key?: string) => (error: unknown) => {
  assert.ok(error instanceof Conflict, String(error));
  assert.deepEqual([error.reason, error.kind, error.id, error.key], [reason, kind, id, key]);
  return true;
};

failOnLeaks();

eachStore((driver) => {
  it('keeps rows, counts their versions and forgets what was dropped', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    assert.equal(await store.get('d', 'user', 'a'), undefined);
    assert.equal(await store.lastSeq('d'), 0);
    const data = { z: 1, a: [1, { b: null }], text: 'ä' };
    assert.deepEqual(await store.commit('d', [put('a', data)]), { seq: 1, versions: new Map([['user/a', 1]]) });
    const row = await store.get('d', 'user', 'a');
    assert.deepEqual(row, { domain: 'd', kind: 'user', id: 'a', version: 1, data });
    assert.deepEqual(Object.keys(row!.data), ['z', 'a', 'text'], 'members keep their order');
    assert.equal((await store.commit('d', [put('a', { n: 2 })])).versions.get('user/a'), 2);
    assert.deepEqual((await store.get('d', 'user', 'a'))?.data, { n: 2 });
    assert.equal((await store.commit('d', [{ op: 'drop', kind: 'user', id: 'a' }])).seq, 3);
    assert.equal(await store.get('d', 'user', 'a'), undefined);
    assert.equal((await store.commit('d', [{ op: 'drop', kind: 'user', id: 'a' }])).seq, 3, 'nothing left to drop');
    assert.equal((await store.commit('d', [put('a')])).versions.get('user/a'), 4, 'none of its former life');
  });

  it('keeps everything over closing and opening', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [put('a', { n: 1 }, { unique: { login: 'x' } }), entry('a')]);
    await store[Symbol.asyncDispose]();
    await assert.rejects(store.commit('d', [put('b')]), StoreUnavailable);
    const again = await database.open();
    assert.deepEqual((await again.get('d', 'user', 'a'))?.data, { n: 1 });
    assert.equal(await again.find('d', 'user', 'login', 'x'), 'a');
    assert.equal(await again.lastSeq('d'), 2);
  });

  it('keeps domains apart', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const one = recordsOf(store, 'one');
    const two = recordsOf(store, 'two');
    await one.commit([put('a', { n: 1 }, { unique: { login: 'x' } }), entry('a')]);
    await two.commit([put('a', { n: 2 }, { unique: { login: 'x' } })]);
    assert.deepEqual((await one.get('user', 'a'))?.data, { n: 1 });
    assert.deepEqual(
      (await two.query('user', {})).map((row) => row.data),
      [{ n: 2 }],
    );
    assert.equal(await two.find('user', 'login', 'x'), 'a');
    assert.deepEqual(await two.history({}), []);
    assert.deepEqual([await one.lastSeq(), await two.lastSeq()], [2, 1]);
  });

  it('writes a commit whole or not at all, and a refusal harms no neighbour', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [put('held', {}, { unique: { login: 'taken' } })]);
    const outcomes = await Promise.allSettled([
      store.commit('d', [put('a'), entry('a')]),
      store.commit('d', [put('half'), entry('half'), put('b', {}, { unique: { login: 'taken' } })]),
      store.commit('d', [put('c'), entry('c')]),
      store.commit('d', [put('half2'), put('held', {}, { expect: 7 })]),
      store.commit('e', [put('e')]),
    ]);
    assert.deepEqual(
      outcomes.map((each) => each.status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    );
    conflict('unique', 'user', 'b', 'login')((outcomes[1] as PromiseRejectedResult).reason);
    conflict('version', 'user', 'held')((outcomes[3] as PromiseRejectedResult).reason);
    assert.deepEqual(
      (await store.query('d', 'user', {})).map((row) => row.id),
      ['a', 'c', 'held'],
    );
    assert.deepEqual(
      (await store.history('d', {})).map((each) => each.objid),
      ['c', 'a'],
    );
    assert.equal(await store.lastSeq('d'), 5, 'a refused commit takes no number');
  });

  it('checks the versions a commit expects', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [put('a', {}, { expect: 0 })]);
    await assert.rejects(store.commit('d', [put('a', {}, { expect: 0 })]), conflict('version', 'user', 'a'));
    await store.commit('d', [put('a', {}, { expect: 1 })]);
    const drop = (id: string, expect: number): Change => ({ op: 'drop', kind: 'user', id, expect });
    await assert.rejects(store.commit('d', [drop('a', 1)]), conflict('version', 'user', 'a'));
    await assert.rejects(store.commit('d', [drop('none', 1)]), conflict('version', 'user', 'none'));
    await store.commit('d', [drop('a', 2)]);
    const races = await Promise.allSettled(
      [1, 2, 3, 4].map((n) => store.commit('d', [put('r', { n }, { expect: 0 })])),
    );
    assert.equal(races.filter((each) => each.status === 'fulfilled').length, 1);
  });

  it('refuses a commit when what it was formed from has changed, though it writes other rows', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const role = (id: string): Change => ({ ...put(id), kind: 'role' }) as Change;
    const check = (expect: number): Change => ({ op: 'check', kind: 'role', id: 'r', expect });
    const still = (since: number, ...kinds: string[]): Change => ({ op: 'still', kinds, since });
    const { seq } = await store.commit('d', [role('r'), put('a')]);
    await store.commit('d', [check(1), still(seq, 'role', 'user'), put('b')]);
    await store.commit('d', [role('r')]);
    await assert.rejects(store.commit('d', [check(1), put('c')]), conflict('version', 'role', 'r'));
    await assert.rejects(
      store.commit('d', [check(0), { op: 'drop', kind: 'role', id: 'r' }]),
      conflict('version', 'role', 'r'),
    );
    await assert.rejects(
      store.commit('d', [still(seq, 'role', 'user'), put('c')]),
      conflict('stale', 'role', 'r', String(seq + 2)),
    );
    await assert.rejects(
      store.commit('d', [still(seq, 'user'), put('c')]),
      conflict('stale', 'user', 'b', String(seq + 1)),
    );
    assert.equal(await store.get('d', 'user', 'c'), undefined);
    await store.commit('d', [still(seq + 2, 'role', 'user'), check(2), { ...put('q'), quiet: true } as Change]);
    assert.deepEqual((await store.commit('d', [still(seq + 2, 'user'), put('a')])).seq, seq + 3);
  });

  it('frees the old key when a row changes it, and lets keys move between the rows of one commit', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const keyed = (id: string, unique: Record<string, string>): Change => put(id, {}, { unique });
    await store.commit('d', [keyed('a', { login: 'x', mail: 'm' }), keyed('b', { login: 'y' })]);
    await store.commit('d', [keyed('a', { login: 'y' }), keyed('b', { login: 'x' })]);
    assert.deepEqual(
      [await store.find('d', 'user', 'login', 'x'), await store.find('d', 'user', 'login', 'y')],
      ['b', 'a'],
    );
    assert.equal(await store.find('d', 'user', 'mail', 'm'), undefined, 'a put replaces all keys');
    await store.commit('d', [keyed('c', { login: 'x' }), { op: 'drop', kind: 'user', id: 'b' }]);
    assert.equal(await store.find('d', 'user', 'login', 'x'), 'c');
    await assert.rejects(store.commit('d', [keyed('e', { login: 'n' }), keyed('f', { login: 'n' })]), Conflict);
    assert.equal(await store.find('d', 'user', 'login', 'n'), undefined);
    await store.commit('d', [keyed('g', { login: 'g1' }), keyed('g', { login: 'g2' })]);
    assert.equal(await store.find('d', 'user', 'login', 'g1'), undefined, 'the last write of a row counts');
    await store.commit('d', [{ op: 'put', kind: 'role', id: 'r', data: {}, unique: { login: 'x' } }]);
    assert.equal(await store.find('d', 'role', 'login', 'x'), 'r', 'another kind has keys of its own');
    const long = 'ключ'.repeat(2000);
    await store.commit('d', [keyed('long', { login: long })]);
    assert.equal(await store.find('d', 'user', 'login', long), 'long');
    await assert.rejects(store.commit('d', [keyed('l2', { login: long })]), conflict('unique', 'user', 'l2', 'login'));
  });

  it('searches the journal by every condition, newest first', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const at = (minute: number): string => `2026-11-21T04:0${minute}:00.000000Z`;
    await store.commit('d', [
      entry('a', { dtutc: at(1), cmdtype: 'create', addr: '192.0.2.1' }),
      entry('b', { dtutc: at(1) }),
      entry('a', { dtutc: at(3), objtype: 'role' }),
      entry('a', { dtutc: at(2), objkey: 'k'.repeat(5000) }),
      entry('c', { dtutc: at(4), cmdtype: 'delete', objid: null, objkey: null, fields: null }),
    ]);
    const seqs = async (query: Parameters<typeof store.history>[1]) =>
      (await store.history('d', query)).map((e) => e.seq);
    assert.deepEqual(await seqs({}), [5, 3, 4, 2, 1]);
    assert.deepEqual(await seqs({ since: at(2), until: at(3) }), [3, 4]);
    assert.deepEqual(await seqs({ cmdtype: 'create' }), [1]);
    assert.deepEqual(await seqs({ objtype: 'user', objid: 'a' }), [4, 1]);
    assert.deepEqual(await seqs({ objtype: 'user', objkey: 'k'.repeat(5000) }), [4]);
    assert.deepEqual(await seqs({ objtype: 'user', objkey: 'k'.repeat(4999) }), []);
    assert.deepEqual(await seqs({ offset: 1, limit: 2 }), [3, 4]);
    assert.deepEqual(await seqs({ after: { dtutc: at(3), seq: 3 }, limit: 2 }), [4, 2]);
    assert.deepEqual(await seqs({ after: { dtutc: at(1), seq: 2 }, objtype: 'user' }), [1]);
    const [first] = await store.history('d', { cmdtype: 'create' });
    const { entry: expected } = entry('a', { dtutc: at(1), cmdtype: 'create', addr: '192.0.2.1' }) as {
      entry: JournalEntry;
    };
    assert.deepEqual(first, { seq: 1, ...expected });
  });

  it('drops only old journal entries, oldest first, and only by pruning', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const at = (day: number): string => `2026-11-0${day}T00:00:00.000000Z`;
    await store.commit(
      'd',
      [1, 2, 3, 4].map((day) => entry(`e${day}`, { dtutc: at(day) })),
    );
    assert.equal(await store.pruneJournal('d', at(4), 2), 2);
    assert.deepEqual(
      (await store.history('d', {})).map((each) => each.objid),
      ['e4', 'e3'],
    );
    assert.equal(await store.pruneJournal('d', at(4), 500), 1);
    assert.equal(await store.pruneJournal('d', at(4), 500), 0);
    assert.equal((await store.commit('d', [entry('e5')])).seq, 5);
  });

  it('shows watchers every change in order, from where they ask, without the quiet ones', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const { signal } = new AbortController();
    await store.commit('d', [put('a'), entry('a'), put('q', {}, { quiet: true })]);
    const live = collect(store.watch('d', 0, signal), 43);
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = 0; n < 10; n++) await store.commit('d', [put(`${writer}-${n}`), entry('x')]);
    });
    await Promise.all(writers);
    await store.commit('d', [{ op: 'drop', kind: 'user', id: 'a' }, put('b')]);
    const seen = await live;
    assert.deepEqual(seen[0], { seq: 1, kind: 'user', id: 'a', op: 'put' });
    assert.deepEqual(seen.at(-2), { seq: 83, kind: 'user', id: 'a', op: 'drop' });
    assert.deepEqual(
      seen.map((each) => each.seq),
      seen.map((each) => each.seq).sort((a, b) => a - b),
    );
    assert.equal(new Set(seen.map((each) => each.id)).size, 42);
    assert.deepEqual(
      (await collect(store.watch('d', 81, signal), 2)).map((each) => each.seq),
      [83, 84],
    );
    assert.equal(await store.lastSeq('d'), 84);
  });

  it('ends a watch when its signal aborts or the store closes', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const stop = new AbortController();
    const rest = async (signal: AbortSignal): Promise<number> => {
      let count = 0;
      for await (const _ of store.watch('d', 0, signal)) count += 1;
      return count;
    };
    const stopped = rest(stop.signal);
    const closed = rest(new AbortController().signal);
    assert.equal(await rest(AbortSignal.abort()), 0);
    stop.abort();
    assert.equal(await stopped, 0);
    await store[Symbol.asyncDispose]();
    assert.equal(await closed, 0);
  });

  it('keeps a bounded feed and tells a watcher that is too far behind', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open({ feedKeep: 32 });
    for (let n = 0; n < 100; n++) await store.commit('d', [put(`r${n}`)]);
    const { signal } = new AbortController();
    await assert.rejects(collect(store.watch('d', 0, signal), 1), FeedGone);
    assert.deepEqual((await collect(store.watch('d', 90, signal), 10)).at(-1)?.id, 'r99');
    assert.equal(await store.lastSeq('d'), 100);
  });

  it('refuses what cannot be kept, naming the part, and changes nothing', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const refused = async (changes: Change[], param: string): Promise<void> => {
      await assert.rejects(store.commit('d', changes), (error) => {
        assert.ok(error instanceof Problem, String(error));
        assert.deepEqual([error.status, error.param], [400, param]);
        return true;
      });
    };
    await refused([put('ok'), put('a\0b')], 'id');
    await refused([put('x'.repeat(513))], 'id');
    await refused([put('\ud800')], 'id');
    await refused([put('a', { deep: [{ x: 'a\0' }] })], 'data');
    await refused([put('a', { '\0': 1 })], 'data');
    await refused([put('a', { x: 'tail \udc00' })], 'data');
    await refused([put('a', {}, { unique: { login: '\0' } })], 'login');
    await refused([entry('a', { obj: { x: '\0' } })], 'obj');
    await refused([put('a', [] as unknown as object)], 'data');
    await assert.rejects(store.query('d', 'user', { where: [{ path: "a' OR 1=1", op: '=', value: 1 }] }), Problem);
    await assert.rejects(store.query('d', 'user', { where: [{ path: 'a', op: '=', value: Number.NaN }] }), Problem);
    await assert.rejects(store.query('d', 'user', { limit: -1 }), Problem);
    assert.equal(await store.get('d', 'user', 'a\0b'), undefined);
    assert.equal(await store.find('d', 'user', 'login', '\ud800'), undefined);
    assert.equal(await store.count('d', 'user'), 0);
  });

  it('keeps hostile text and large documents as they are', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const texts = [
      `'"\\;--`,
      '\\u0000',
      '\\\\u0000\\ud800',
      '\u0001\u001f',
      '😀\u{10ffff}',
      '\u2028<!--',
      '%_*{a,"b"}',
      '',
    ];
    for (const text of texts) {
      const id = `id-${text}`;
      const data = { text, [text]: [text], huge: [1e308, 5e-324, 2 ** 62, -(2 ** 53), 1e21, 0.1 + 0.2] };
      await store.commit(`d${text}`, [{ op: 'put', kind: `k${text}`, id, data, unique: { [`n${text}`]: text } }]);
      assert.deepEqual((await store.get(`d${text}`, `k${text}`, id))?.data, data);
      assert.equal(await store.find(`d${text}`, `k${text}`, `n${text}`, text), id);
      const where = [{ path: 'text', op: '=', value: text }] as const;
      assert.equal(await store.count(`d${text}`, `k${text}`, where), 1);
    }
    const large = { list: Array.from({ length: 1024 }, (_, n) => `${n}:${'"ü\n'.repeat(300)}`) };
    assert.ok(JSON.stringify(large).length > 1024 * 1024);
    await Promise.all(
      [1, 2, 3].map((n) => store.commit('d', [put(`large${n}`, { ...large, n }), entry('x', { obj: large })])),
    );
    assert.deepEqual((await store.get('d', 'user', 'large2'))?.data, { ...large, n: 2 });
    assert.deepEqual((await store.history('d', { limit: 1 }))[0]?.obj, large);
  });

  it('takes a commit of many rows', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const many = Array.from({ length: 5000 }, (_, n) => put(`r${n}`, { n }, { unique: { n: `${n}` } }));
    assert.equal((await store.commit('d', many)).versions.size, 5000);
    assert.equal(await store.count('d', 'user'), 5000);
    assert.equal(await store.find('d', 'user', 'n', '4999'), 'r4999');
  });

  it('pages by id and by offset', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit(
      'd',
      ['c', 'a', 'B', 'é', '😀', '\uffee'].map((id) => put(id, { id })),
    );
    const ids = async (query: Parameters<typeof store.query>[2]) =>
      (await store.query('d', 'user', query)).map((r) => r.id);
    assert.deepEqual(await ids({}), ['B', 'a', 'c', 'é', '\uffee', '😀'], 'by code point');
    assert.deepEqual(await ids({ afterId: 'a', limit: 2 }), ['c', 'é']);
    assert.deepEqual(await ids({ idDirection: 'desc', afterId: 'c' }), ['a', 'B']);
    assert.deepEqual(await ids({ order: [{ path: 'id', direction: 'desc' }], offset: 1, limit: 2 }), ['\uffee', 'é']);
    assert.deepEqual(await ids({ limit: 0 }), []);
    await assert.rejects(ids({ afterId: 'a', order: [{ path: 'id', direction: 'asc' }] }), Problem);
  });

  it('answers the same with an index, and makes it once', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const long = 'x'.repeat(5000);
    await store.commit('d', [
      put('a', { s: 'x' }),
      put('b', { s: long }),
      put('c', { s: 7 }),
      put('e', { s: `${long}y` }),
    ]);
    await store.ensureIndex('user', 's');
    await store.ensureIndex('user', 's');
    await store.commit('d', [put('f', { s: long })]);
    const ids = async (value: string | number) =>
      (await store.query('d', 'user', { where: [{ path: 's', op: '=', value }] })).map((row) => row.id);
    assert.deepEqual([await ids('x'), await ids(long), await ids(7), await ids('7')], [['a'], ['b', 'f'], ['c'], []]);
    const where = [{ path: 's', op: 'in', values: [long, 7, 'none'] }] as const;
    assert.equal(await store.count('d', 'user', where), 3);
  });
});
