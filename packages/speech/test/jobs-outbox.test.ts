/** What becomes of a delivery under way when its process is stopped, or so slow that another takes it over. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { eachStore } from '@parley/kit/testing/each-store.ts';
import { createLatch, eventually } from '@parley/kit/testing/wait.ts';
import { type CallbackParts, oweDelivery, startCallbacks } from '../src/jobs/callback.ts';
import type { JobRow } from '../src/jobs/job.ts';
import { CALLBACK_QUEUE, DOMAIN, KIND } from '../src/jobs/records.ts';
import { owedJob } from './owed-job.ts';

const JOB = owedJob();

/** A job that is over and owes its delivery. */
const oweOne = (store: Store) =>
  store.commit(DOMAIN, [
    { op: 'put', kind: KIND.job, id: JOB.id, data: JOB, expect: 0 },
    ...oweDelivery(Date.now)(JOB),
  ]);

const partsOf = (store: Store, owner: string, post: CallbackParts['post']): CallbackParts => ({
  store,
  owner,
  post,
  render: (job) => job,
  secrets: [],
  log: createSilentLog(),
  now: Date.now,
});

const callbackOf = async (store: Store) => (await store.get<JobRow>(DOMAIN, KIND.job, JOB.id))?.data.callback;
const claimNow = (store: Store) =>
  store.claim(DOMAIN, CALLBACK_QUEUE, { owner: 'next', leaseMs: 60_000, limit: 10, nowMs: Date.now() });

eachStore((driver) => {
  describe('the outbox', () => {
    it('writes down an answer that comes while it is being stopped', async () => {
      await using database = await driver.createDatabase();
      const store = await database.open();
      await oweOne(store);
      const stopped = createLatch('the stop');
      const loop = startCallbacks(
        partsOf(store, 'first', async (_url, _headers, _body, signal) => {
          void loop[Symbol.asyncDispose]().then(stopped.open);
          assert.ok(signal.aborted);
          return { status: 204, retryAfterSec: undefined };
        }),
      );
      await stopped.opened();
      assert.equal(await store.count(DOMAIN, KIND.delivery), 0);
      const { status, attempts, last_status } = (await callbackOf(store))!;
      assert.deepEqual([status, attempts, last_status], ['delivered', 1, 204]);
      assert.deepEqual(await claimNow(store), []);
    });

    it('leaves a delivery that was stopped in the middle to whoever comes next, at once', async () => {
      await using database = await driver.createDatabase();
      const store = await database.open();
      await oweOne(store);
      const begun = createLatch('the attempt');
      const loop = startCallbacks(
        partsOf(store, 'first', async (_url, _headers, _body, signal) => {
          begun.open();
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          return { fault: 'stopped' };
        }),
      );
      await begun.opened();
      await loop[Symbol.asyncDispose]();
      assert.equal((await callbackOf(store))?.attempts, 0);
      assert.equal((await claimNow(store)).length, 1);
    });

    it('leaves a delivery that another process has claimed to that one, whatever its own late attempt brings', async () => {
      for (const status of [204, 404, 503]) {
        await using database = await driver.createDatabase();
        const store = await database.open();
        await oweOne(store);
        const begun = createLatch('the slow attempt');
        const answered = createLatch('the slow answer');
        const written = createLatch('what the slow one writes');
        const watched: Store = { ...store, commit: (...change) => store.commit(...change).finally(written.open) };
        await using _slow = startCallbacks({
          ...partsOf(watched, 'slow', async () => {
            begun.open();
            await answered.opened();
            return { status, retryAfterSec: undefined };
          }),
          limits: { leaseMs: 60_000 },
        });
        await begun.opened();
        const afterLease = { owner: 'next', leaseMs: 3_600_000, limit: 10, nowMs: Date.now() + 120_000 };
        assert.equal((await store.claim(DOMAIN, CALLBACK_QUEUE, afterLease)).length, 1);
        answered.open();
        await written.opened();
        const { status: told, attempts, last_status } = (await callbackOf(store))!;
        assert.deepEqual([told, attempts, last_status], ['pending', 0, null], String(status));
        assert.equal(await store.count(DOMAIN, KIND.delivery), 1);
      }
    });

    it('does not bring back a delivery that another process has taken over and made', async () => {
      await using database = await driver.createDatabase();
      const store = await database.open();
      await oweOne(store);
      const [begun, answered] = [createLatch('the slow attempt'), createLatch('the slow answer')];
      const written = createLatch('what the slow one writes');
      const watched: Store = {
        ...store,
        commit: (...change) => store.commit(...change).finally(written.open),
      };
      const slow = startCallbacks({
        ...partsOf(watched, 'slow', async () => {
          begun.open();
          await answered.opened();
          return { status: 503, retryAfterSec: undefined };
        }),
        limits: { leaseMs: 1, atOnce: 1 },
      });
      await begun.opened();
      const quick = startCallbacks({
        ...partsOf(store, 'quick', async () => ({ status: 204, retryAfterSec: undefined })),
        limits: { lookMs: 10 },
      });
      await eventually('the quick delivery', async () => (await callbackOf(store))?.status === 'delivered');
      await quick[Symbol.asyncDispose]();
      answered.open();
      await written.opened();
      await slow[Symbol.asyncDispose]();
      assert.equal((await callbackOf(store))?.status, 'delivered');
      assert.equal(await store.count(DOMAIN, KIND.delivery), 0);
    });
  });
});
