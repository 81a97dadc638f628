/** The ban, on the memory of one process and on the rows that two processes share. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Clock } from '@parley/kit/clock.ts';
import { systemClock } from '@parley/kit/clock.ts';
import { Problem } from '@parley/kit/problem.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { networkOf } from '../src/auth/address.ts';
import { type Ban, type BanScope, createBan, WINDOW_MS } from '../src/auth/ban.ts';
import { type BanLedger, openBanLedger } from '../src/auth/ban-ledger.ts';
import { openSharedBanLedger } from '../src/auth/shared-ban-ledger.ts';
import { SYSTEM_SPACE } from '../src/domains/types.ts';

const createTestClock = (): Clock & { pass(ms: number): void } => {
  let now = 1_800_000_000_000;
  return {
    ...systemClock,
    now: () => now,
    pass: (ms) => {
      now += ms;
    },
  };
};
type TestClock = ReturnType<typeof createTestClock>;

const wrong = async () => ({ ok: false });
const right = async () => ({ ok: true });
const statusOf = async (attempt: Promise<unknown>): Promise<number> => {
  try {
    await attempt;
    return 200;
  } catch (error) {
    if (error instanceof Problem) return error.status;
    throw error;
  }
};
/** Several times one after the other. */
const times = async (n: number, act: () => Promise<unknown>): Promise<number[]> => {
  const statuses: number[] = [];
  for (let i = 0; i < n; i++) statuses.push(await statusOf(act()));
  return statuses;
};
const count = (statuses: readonly number[], status: number) => statuses.filter((each) => each === status).length;

eachStore((driver) => {
  describe('the ban', () => {
    let database: TestDatabase;
    const open: AsyncDisposable[] = [];
    const stores: Store[] = [];
    before(async () => {
      database = await driver.createDatabase();
      stores.push(await database.open());
      if (driver.name === 'postgres') stores.push(await database.open());
    });
    after(async () => {
      for (const each of open.reverse()) await each[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    });

    type Started = { ban: Ban; ledger: BanLedger };
    const start = async (clock: TestClock, scope?: BanScope, store = stores[0]!): Promise<Started> => {
      const ledger = driver.name === 'sqlite' ? await openBanLedger(store, clock) : openSharedBanLedger(store, clock);
      open.push(ledger);
      return { ban: createBan({ ledger, store, clock, maxWaitMs: 60_000, ...(scope ? { scope } : {}) }), ledger };
    };
    let accounts = 0;
    /** An account that no other test has failed with. */
    const fresh = () => {
      accounts += 1;
      return { domain: 'd', login: `user-${accounts}`, address: `10.0.${accounts >> 8}.${accounts & 255}` };
    };

    it('refuses the sixth attempt after five failures without a check, until the window has passed', async () => {
      const clock = createTestClock();
      const { ban } = await start(clock);
      const who = fresh();
      assert.deepEqual(await times(5, () => ban.attempt(who, wrong)), [200, 200, 200, 200, 200]);
      let checks = 0;
      const check = async () => {
        checks += 1;
        return { ok: true };
      };
      clock.pass(60_000);
      await assert.rejects(ban.attempt(who, check), { status: 429, retryAfterSec: 120 });
      await assert.rejects(ban.attempt({ ...who, login: who.login.toUpperCase() }, check), { status: 429 });
      assert.equal(checks, 0);
      assert.equal(await statusOf(ban.attempt({ ...who, login: 'another' }, right)), 200);
      assert.equal(await statusOf(ban.attempt({ ...who, address: '192.0.2.1' }, right)), 200);
      clock.pass(WINDOW_MS - 60_000);
      assert.equal(await statusOf(ban.attempt(who, check)), 200);
      assert.equal(checks, 1);
    });

    it('slides: each failure counts for three minutes, and a success clears none', async () => {
      const clock = createTestClock();
      const { ban } = await start(clock);
      const who = fresh();
      for (let i = 0; i < 4; i++) {
        await ban.attempt(who, wrong);
        clock.pass(40_000);
      }
      assert.equal(await statusOf(ban.attempt(who, right)), 200);
      await ban.attempt(who, wrong);
      // The first of the five leaves 20 s from now.
      await assert.rejects(ban.attempt(who, right), { status: 429, retryAfterSec: 20 });
      clock.pass(20_000);
      assert.deepEqual(await times(2, () => ban.attempt(who, wrong)), [200, 429]);
    });

    it('lets exactly five of fifty wrong ones in parallel be checked', async () => {
      const { ban } = await start(createTestClock());
      const who = fresh();
      let checks = 0;
      const slow = async () => {
        checks += 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
        return { ok: false };
      };
      const statuses = await Promise.all(Array.from({ length: 50 }, () => statusOf(ban.attempt(who, slow))));
      assert.deepEqual([checks, count(statuses, 200), count(statuses, 429)], [5, 5, 45]);
    });

    it('lets fifty right ones in parallel through, at most five at once', async () => {
      const { ban } = await start(createTestClock());
      const who = fresh();
      let running = 0;
      let most = 0;
      const five = Promise.withResolvers<void>();
      const slow = async () => {
        running += 1;
        most = Math.max(most, running);
        // On a database the fifth may be let in later than a short check would take.
        if (running === 5) five.resolve();
        await five.promise;
        await new Promise((resolve) => setTimeout(resolve, 2));
        running -= 1;
        return { ok: true };
      };
      const statuses = await Promise.all(Array.from({ length: 50 }, () => statusOf(ban.attempt(who, slow))));
      assert.deepEqual([count(statuses, 200), most], [50, 5]);
    });

    it('counts an error of the check as neither', async () => {
      const { ban } = await start(createTestClock());
      const who = fresh();
      const broken = async () => {
        throw new Error('database away');
      };
      for (let i = 0; i < 10; i++) await assert.rejects(ban.attempt(who, broken), /database away/);
      assert.equal(await statusOf(ban.attempt(who, right)), 200);
    });

    it('bans an address after five unknown session ids, for sign-ins too', async () => {
      const clock = createTestClock();
      const { ban } = await start(clock);
      const who = fresh();
      assert.deepEqual(await times(6, () => ban.unknownSession(who.address)), [200, 200, 200, 200, 200, 429]);
      assert.equal(await statusOf(ban.attempt(who, right)), 429);
      assert.equal(await statusOf(ban.anonymous(who.address, right)), 429);
      clock.pass(WINDOW_MS);
      assert.equal(await statusOf(ban.attempt(who, right)), 200);
      const parallel = fresh().address;
      const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(ban.unknownSession(parallel))));
      assert.deepEqual([count(statuses, 200), count(statuses, 429)], [5, 15]);
    });

    it('bans an address after fifty failures over all logins, and no sooner', async () => {
      const { ban } = await start(createTestClock());
      const { address } = fresh();
      const spray = (i: number) => statusOf(ban.attempt({ domain: 'd', login: `spray-${i}`, address }, wrong));
      const statuses = await Promise.all(Array.from({ length: 60 }, (_, i) => spray(i)));
      assert.deepEqual([count(statuses, 200), count(statuses, 429)], [50, 10]);
      assert.equal(await statusOf(ban.unknownSession(address)), 429);
    });

    it('bans a login after fifty failures from anywhere, but not where it signed in lately', async () => {
      const clock = createTestClock();
      const { ban } = await start(clock);
      const who = fresh();
      assert.equal(await statusOf(ban.attempt(who, right)), 200);
      const from = (i: number) => ({ ...who, address: `172.16.0.${i}` });
      const statuses = await Promise.all(Array.from({ length: 60 }, (_, i) => statusOf(ban.attempt(from(i), wrong))));
      assert.deepEqual([count(statuses, 200), count(statuses, 429)], [50, 10]);
      assert.equal(await statusOf(ban.attempt(from(200), right)), 429);
      assert.equal(await statusOf(ban.attempt(who, right)), 200);
    });

    it('forgets after thirty days where a login signed in', async () => {
      const clock = createTestClock();
      const { ban } = await start(clock);
      const who = fresh();
      await ban.attempt(who, right);
      const rows = () => stores[0]!.count(SYSTEM_SPACE, 'signed-in-from');
      const before = await rows();
      await ban.sweep();
      assert.equal(await rows(), before);
      clock.pass(31 * 86_400_000);
      await ban.sweep();
      assert.equal(await rows(), 0);
    });

    it('can count by login or by address alone', async () => {
      const clock = createTestClock();
      const byLogin = (await start(clock, 'login')).ban;
      const one = fresh();
      await times(5, () => byLogin.attempt(one, wrong));
      assert.equal(await statusOf(byLogin.attempt({ ...one, address: '198.51.100.7' }, right)), 429);
      const byAddress = (await start(clock, 'address')).ban;
      const two = fresh();
      await times(5, () => byAddress.attempt(two, wrong));
      assert.equal(await statusOf(byAddress.attempt({ ...two, login: 'somebody else' }, right)), 429);
    });

    it('outlives a restart', async () => {
      const clock = createTestClock();
      const { ban, ledger } = await start(clock);
      const who = fresh();
      await times(5, () => ban.attempt(who, wrong));
      await ledger[Symbol.asyncDispose]();
      const { ban: again } = await start(clock);
      assert.equal(await statusOf(again.attempt(who, right)), 429);
    });

    it('is one for two processes, in parallel too', { skip: driver.name === 'sqlite' }, async () => {
      const clock = createTestClock();
      const bans = [(await start(clock)).ban, (await start(clock, undefined, stores[1])).ban];
      const who = fresh();
      let checks = 0;
      const slow = async () => {
        checks += 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
        return { ok: false };
      };
      const attempts = Array.from({ length: 40 }, (_, i) => statusOf(bans[i % 2]!.attempt(who, slow)));
      const statuses = await Promise.all(attempts);
      assert.deepEqual([checks, count(statuses, 200), count(statuses, 429)], [5, 5, 35]);
      const good = fresh();
      const rights = Array.from({ length: 40 }, (_, i) => statusOf(bans[i % 2]!.attempt(good, right)));
      assert.equal(count(await Promise.all(rights), 200), 40);
    });
  });
});

describe('a network', () => {
  it('is an IPv4 address or the /64 of an IPv6 one, in one spelling', () => {
    assert.equal(networkOf('192.0.2.1'), '192.0.2.1');
    assert.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1');
    for (const address of ['2001:db8:0:1::5', '2001:DB8::1:ffff:0:0:9', '2001:0db8:0000:0001:1:2:3:4%eth0'])
      assert.equal(networkOf(address), '2001:db8:0:1::/64');
    assert.equal(networkOf('::1'), '0:0:0:0::/64');
    assert.equal(networkOf('fe80::1'), networkOf('fe80::2'));
    assert.notEqual(networkOf('2001:db8:0:1::5'), networkOf('2001:db8:0:2::5'));
  });
});
