/** Rows of sign-ins under way, on every driver: waiting runs, one-time codes and counters, each good once. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Clock, systemClock } from '@parley/kit/clock.ts';
import { Problem } from '@parley/kit/problem.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { type Ban, createBan, WINDOW_MS } from '../src/auth/ban.ts';
import { openBanLedger } from '../src/auth/ban-ledger.ts';
import { openSharedBanLedger } from '../src/auth/shared-ban-ledger.ts';
import { openSecretBox } from '../src/domains/secrets.ts';
import { SYSTEM_SPACE } from '../src/domains/types.ts';
import { createScriptCodes } from '../src/scripts/codes.ts';
import { createScriptCounters } from '../src/scripts/counters.ts';
import type { RunState } from '../src/scripts/outcome.ts';
import { createWaitingRuns, WAIT_MS } from '../src/scripts/waiting-runs.ts';

const secrets = openSecretBox('00'.repeat(32), '');
const state = (runId: string): RunState => ({
  version: 1,
  runId,
  frames: [],
  form: { step: 1, fields: [] },
  entered: {},
});
const statusOf = (error: unknown): number => (error instanceof Problem ? error.status : 0);

eachStore((driver) => {
  describe('sign-ins under way', () => {
    let database: TestDatabase;
    let store: Store;
    let ban: Ban;
    let now = 1_800_000_000_000;
    const clock: Clock = { ...systemClock, now: () => now };
    const open: AsyncDisposable[] = [];
    before(async () => {
      database = await driver.createDatabase();
      store = await database.open();
      const ledger = driver.name === 'sqlite' ? await openBanLedger(store, clock) : openSharedBanLedger(store, clock);
      open.push(ledger);
      ban = createBan({ ledger, store, clock, maxWaitMs: 60_000 });
    });
    after(async () => {
      for (const each of open) await each[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    });
    const rows = (kind: string) => store.count(SYSTEM_SPACE, kind);

    it('give a run that waits to the first who takes it, for ten minutes', async () => {
      const waiting = createWaitingRuns({ store, secrets, clock });
      const ctx = await waiting.keep({ domain: 'd', state: state('r') });
      assert.match(ctx, /^[A-Za-z0-9_-]{22}$/);
      assert.deepEqual(await waiting.peek(ctx), { domain: 'd', state: state('r') });
      const taken = await Promise.all(Array.from({ length: 10 }, () => waiting.take(ctx)));
      assert.equal(taken.filter((each) => each !== undefined).length, 1);
      assert.equal(await waiting.peek(ctx), undefined);
      const late = await waiting.keep({ domain: 'd', state: state('r') });
      now += WAIT_MS;
      assert.equal(await waiting.take(late), undefined);
      now += 1;
      await waiting.sweep();
      assert.equal(await rows('waiting-run'), 0);
      const huge = { ...state('r'), entered: { 1: { text: 'x'.repeat(300_000) } } };
      await assert.rejects(waiting.keep({ domain: 'd', state: huge }), { status: 422 });
    });

    const wish = { digits: 6, ttlMs: 60_000, tries: 5 };
    it('take a right code once, and not after its time', async () => {
      const codes = createScriptCodes({ store, secrets, clock, ban });
      const key = { runId: 'run-1', domain: 'd', purpose: 'p-1' };
      const code = await codes.make(key, wish);
      assert.match(code, /^\d{6}$/);
      assert.equal(await codes.check({ ...key, runId: 'another' }, code), false);
      const checks = await Promise.all(
        Array.from({ length: 4 }, () => codes.check(key, ` ${code.slice(0, 3)} ${code.slice(3)}`)),
      );
      assert.deepEqual(checks.sort(), [false, false, false, true]);
      now += WINDOW_MS;
      const late = await codes.make(key, wish);
      now += wish.ttlMs;
      assert.equal(await codes.check(key, late), false);
      now += 1;
      await codes.sweep();
      assert.equal(await rows('script-code'), 0);
    });

    it('spend a code by its tries, and its purpose by five wrong ones over all runs', async () => {
      const codes = createScriptCodes({ store, secrets, clock, ban });
      const few = { runId: 'run-2', domain: 'd', purpose: 'p-2' };
      const code = await codes.make(few, { ...wish, tries: 2 });
      const wrong = code === '000000' ? '000001' : '000000';
      assert.deepEqual([await codes.check(few, wrong), await codes.check(few, wrong)], [false, false]);
      assert.equal(await codes.check(few, code), false, 'its tries are used');
      const keys = Array.from({ length: 10 }, (_, n) => ({ runId: `run-3-${n}`, domain: 'd', purpose: 'p-3' }));
      const made = await Promise.all(keys.map((key) => codes.make(key, wish)));
      const miss = [
        '000000',
        '111111',
        '222222',
        '333333',
        '444444',
        '555555',
        '666666',
        '777777',
        '888888',
        '999999',
        '123456',
      ];
      const other = miss.find((each) => !made.includes(each))!;
      const checks = await Promise.all(
        Array.from({ length: 30 }, (_, n) => codes.check(keys[n % 10]!, other).catch(statusOf)),
      );
      assert.deepEqual(
        [checks.filter((each) => each === false).length, checks.filter((each) => each === 429).length],
        [5, 25],
      );
      assert.equal(await codes.check(keys[9]!, made[9]!).catch(statusOf), 429);
    });

    it('count what a script says is wrong, however many runs check at once', async () => {
      const counters = createScriptCounters(ban);
      const counter = { name: ['script', 'd', 'k'], limit: 5, windowMs: WINDOW_MS };
      const { signal } = new AbortController();
      const guess = async (n: number): Promise<boolean> => {
        const runId = `guess-${n}`;
        const isFree = await counters.check(runId, counter, signal);
        if (isFree) await counters.fail(runId, counter);
        await counters.release(runId);
        return isFree;
      };
      const guesses = await Promise.all(Array.from({ length: 40 }, (_, n) => guess(n)));
      assert.equal(guesses.filter(Boolean).length, 5);
      assert.equal(await counters.check('late', counter, signal), false);
      assert.equal(await counters.check('other', { ...counter, name: ['script', 'd', 'other'] }, signal), true);
      await counters.clear('late', counter);
      assert.equal(await counters.check('late', counter, signal), true);
      await counters.release('late');
      // Runs that end without a word were no failures.
      for (let n = 0; n < 10; n++) {
        assert.equal(await counters.check(`quiet-${n}`, counter, signal), true);
        await counters.release(`quiet-${n}`);
      }
      now += WINDOW_MS;
    });
  });
});
