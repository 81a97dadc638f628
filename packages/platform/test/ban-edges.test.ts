/** The ban where it ends: familiar addresses that are no longer, too many who wait. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Clock, systemClock } from '@parley/kit/clock.ts';
import { Problem } from '@parley/kit/problem.ts';
import { createSqliteDatabase } from '@parley/kit/testing/each-store.ts';
import { createBan } from '../src/auth/ban.ts';
import { openBanLedger } from '../src/auth/ban-ledger.ts';
import { openSharedBanLedger } from '../src/auth/shared-ban-ledger.ts';

const DAY_MS = 86_400_000;
const right = async () => ({ ok: true });
const wrong = async () => ({ ok: false });
const statusOf = (attempt: Promise<unknown>): Promise<number> =>
  attempt.then(
    () => 200,
    (thrown: unknown) => {
      if (thrown instanceof Problem) return thrown.status;
      throw thrown;
    },
  );

const open = async (stack: AsyncDisposableStack) => {
  let nowMs = 1_800_000_000_000;
  const clock: Clock = { ...systemClock, now: () => nowMs };
  const database = stack.use(await createSqliteDatabase());
  const store = await database.open();
  const ledger = stack.use(await openBanLedger(store, clock));
  return {
    ban: createBan({ ledger, store, clock, maxWaitMs: 60_000 }),
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
};

describe('the ban', () => {
  it('spares an address for thirty days after a sign-in, and not a moment longer', async () => {
    await using stack = new AsyncDisposableStack();
    const { ban, pass } = await open(stack);
    const home = { domain: 'd', login: 'ann', address: '192.0.2.1' };
    const storm = async (): Promise<void> => {
      for (let n = 0; n < 50; n++) await ban.attempt({ ...home, address: `172.16.0.${n}` }, wrong);
    };
    assert.equal(await statusOf(ban.attempt(home, right)), 200);
    pass(30 * DAY_MS - 1);
    await storm();
    assert.equal(await statusOf(ban.attempt({ ...home, address: '192.0.2.2' }, right)), 429, 'an address never seen');
    pass(1);
    assert.equal(await statusOf(ban.attempt(home, right)), 429, 'the thirty days are over');
  });

  it('still spares it a moment before', async () => {
    await using stack = new AsyncDisposableStack();
    const { ban, pass } = await open(stack);
    const home = { domain: 'd', login: 'ann', address: '192.0.2.1' };
    await ban.attempt(home, right);
    pass(30 * DAY_MS - 1);
    for (let n = 0; n < 50; n++) await ban.attempt({ ...home, address: `172.16.0.${n}` }, wrong);
    assert.equal(await statusOf(ban.attempt(home, right)), 200);
  });

  it('lets 256 wait for one key, and tells the next to come again', async () => {
    await using stack = new AsyncDisposableStack();
    const { ban } = await open(stack);
    const who = { domain: 'd', login: 'bob', address: '192.0.2.3' };
    const checks = Promise.withResolvers<void>();
    let running = 0;
    const slow = async () => {
      running += 1;
      await checks.promise;
      return { ok: true };
    };
    const attempts = Array.from({ length: 5 + 256 }, () => statusOf(ban.attempt(who, slow)));
    // Those under way are five; an attempt for another account shows that all before it have come to wait.
    while (running < 5) await ban.attempt({ ...who, login: 'other', address: '192.0.2.4' }, right);
    await ban.attempt({ ...who, login: 'other', address: '192.0.2.4' }, right);
    assert.equal(await statusOf(ban.attempt(who, right)), 503);
    checks.resolve();
    assert.ok((await Promise.all(attempts)).every((status) => status === 200));
    assert.equal(running, 5 + 256);
  });
});

describe('the book that processes share', () => {
  it('counts an attempt again that another process overtook', async () => {
    await using database = await createSqliteDatabase();
    const store = await database.open();
    await using one = openSharedBanLedger(store, systemClock);
    await using other = openSharedBanLedger(store, systemClock);
    for (let n = 0; n < 20; n++) {
      const key = { key: `key-${n}`, limit: 1, windowMs: 60_000 };
      // Both read the row before either has written it.
      const states = (await Promise.all([one.take(key), other.take(key)])).map(({ state }) => state);
      assert.deepEqual(states.sort(), ['full', 'taken']);
    }
  });
});
