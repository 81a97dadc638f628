import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Change, type ClaimRequest, Conflict, type Store } from '@parley/kit/store/store.ts';
import { eachStore } from '@parley/kit/testing/each-store.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';

const NOW = 1_000_000;

const enqueue = (id: string, more: Partial<Extract<Change, { op: 'enqueue' }>> = {}): Change => ({
  op: 'enqueue',
  queue: 'q',
  id,
  priority: 0,
  share: 's',
  readyAtMs: 0,
  ...more,
});

const dequeue = (id: string, owner?: string): Change => ({ op: 'dequeue', queue: 'q', id, ...(owner && { owner }) });

const request = (more: Partial<ClaimRequest> = {}): ClaimRequest => ({
  owner: 'me',
  leaseMs: 100,
  limit: 1,
  nowMs: NOW,
  ...more,
});

const claimIds = async (store: Store, more?: Partial<ClaimRequest>): Promise<string[]> =>
  (await store.claim('d', 'q', request(more))).map((claim) => claim.id);

const isLeaseConflict = (error: unknown): boolean => error instanceof Conflict && error.reason === 'lease';

failOnLeaks();

eachStore((driver) => {
  it('gives the greatest priority first, then the oldest, and only what is ready', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [
      enqueue('low'),
      enqueue('later', { readyAtMs: NOW + 1, priority: 9 }),
      enqueue('high', { priority: 5 }),
      enqueue('high2', { priority: 5 }),
      enqueue('other', { queue: 'q2', priority: 9 }),
    ]);
    assert.deepEqual(await store.claim('d', 'q', request()), [{ id: 'high', attempt: 1, untilMs: NOW + 100 }]);
    assert.deepEqual(await claimIds(store, { limit: 5 }), ['high2', 'low']);
    assert.deepEqual(await claimIds(store, { limit: 5, nowMs: NOW + 1 }), ['later']);
    assert.deepEqual(await claimIds(store), []);
    assert.equal(await store.lastSeq('d'), 0, 'work takes no sequence numbers');
  });

  it('goes round the shares, the one with the fewest running leases first', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const items = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'];
    await store.commit(
      'd',
      items.map((id) => enqueue(id, { share: id[0]! })),
    );
    assert.deepEqual(await claimIds(store, { limit: 4 }), ['a1', 'b1', 'c1', 'a2']);
    assert.deepEqual(await claimIds(store), ['b2']);
    await store.commit('d', [enqueue('d1', { share: 'd' })]);
    assert.deepEqual(await claimIds(store), ['d1'], 'a share without leases passes older work');
    await store.commit('d', [enqueue('a9', { share: 'a', priority: 1 })]);
    assert.deepEqual(await claimIds(store), ['a9'], 'priority stands above fairness');
    await store.commit('d', [dequeue('a1', 'me'), dequeue('a2', 'me'), dequeue('a9', 'me')]);
    assert.deepEqual(await claimIds(store, { limit: 9 }), ['a3', 'a4']);
  });

  it('leaves alone what the claimer cannot work on, however much of it waits', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const others = Array.from({ length: 100 }, (_, index) => `x${index}`);
    await store.commit(
      'd',
      [...others, 'mine', 'more'].map((id) => enqueue(id, { priority: id.startsWith('x') ? 1 : 0 })),
    );
    assert.deepEqual(await claimIds(store, { limit: 5, except: others }), ['mine', 'more']);
    assert.deepEqual(await claimIds(store, { owner: 'other' }), ['x0']);
  });

  it('gives an item again when its lease is over, and counts', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [enqueue('a')]);
    assert.deepEqual(await claimIds(store), ['a']);
    assert.deepEqual(await claimIds(store, { nowMs: NOW + 99 }), []);
    await store.commit('d', [{ op: 'renew', queue: 'q', id: 'a', owner: 'me', untilMs: NOW + 200 }]);
    assert.deepEqual(await claimIds(store, { owner: 'you', nowMs: NOW + 199 }), []);
    const [second] = await store.claim('d', 'q', request({ owner: 'you', nowMs: NOW + 200 }));
    assert.deepEqual(second, { id: 'a', attempt: 2, untilMs: NOW + 300 });
  });

  it('refuses a stale owner, with everything else in its commit', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    const result: Change = { op: 'put', kind: 'result', id: 'a', data: {} };
    await store.commit('d', [enqueue('a'), enqueue('b')]);
    await claimIds(store, { owner: 'old' });
    await claimIds(store, { owner: 'new', nowMs: NOW + 100 });
    await assert.rejects(store.commit('d', [result, dequeue('a', 'old')]), isLeaseConflict);
    const renew = (owner: string): Change => ({ op: 'renew', queue: 'q', id: 'a', owner, untilMs: NOW + 500 });
    await assert.rejects(store.commit('d', [renew('old')]), isLeaseConflict);
    await assert.rejects(store.commit('d', [result, enqueue('a', { owner: 'old' })]), isLeaseConflict);
    await assert.rejects(store.commit('d', [dequeue('b', 'new')]), isLeaseConflict, 'never claimed');
    assert.equal(await store.get('d', 'result', 'a'), undefined);
    await store.commit('d', [result, dequeue('a', 'new')]);
    await assert.rejects(store.commit('d', [dequeue('a', 'new')]), isLeaseConflict, 'gone already');
    await assert.rejects(store.commit('d', [renew('new')]), isLeaseConflict);
    await store.commit('d', [dequeue('a'), dequeue('b')]);
    assert.deepEqual(await claimIds(store, { limit: 9, nowMs: NOW * 2 }), []);
  });

  it('puts an item back with its age and its count', async () => {
    await using database = await driver.createDatabase();
    const store = await database.open();
    await store.commit('d', [enqueue('a'), enqueue('b')]);
    await claimIds(store, { limit: 2 });
    await store.commit('d', [enqueue('b', { owner: 'me' }), enqueue('a', { owner: 'me', readyAtMs: NOW + 10 })]);
    assert.deepEqual(await claimIds(store, { limit: 2 }), ['b']);
    const [again] = await store.claim('d', 'q', request({ nowMs: NOW + 10 }));
    assert.deepEqual(again, { id: 'a', attempt: 2, untilMs: NOW + 110 });
  });

  it('never gives one item to two claimers', async () => {
    await using database = await driver.createDatabase();
    const stores = await Promise.all(Array.from({ length: driver.name === 'postgres' ? 3 : 1 }, () => database.open()));
    const ids = Array.from({ length: 200 }, (_, n) => `i${n}`);
    await stores[0]!.commit(
      'd',
      ids.map((id, n) => enqueue(id, { share: `s${n % 7}`, priority: n % 2 })),
    );
    const claimAll = async (store: Store, owner: string): Promise<string[]> => {
      const mine: string[] = [];
      for (;;) {
        const claims = await claimIds(store, { owner, limit: 3 });
        if (claims.length === 0) return mine;
        mine.push(...claims);
        await store.commit(
          'd',
          claims.slice(1).map((id) => dequeue(id, owner)),
        );
      }
    };
    const claimed = await Promise.all(
      Array.from({ length: 12 }, (_, n) => claimAll(stores[n % stores.length]!, `o${n}`)),
    );
    assert.deepEqual(claimed.flat().sort(), ids.sort());
  });
});
