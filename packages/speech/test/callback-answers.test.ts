/** Which answers to a delivery are final, which are tried again, and when. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { createSqliteDatabase } from '@parley/kit/testing/each-store.ts';
import { eventually } from '@parley/kit/testing/wait.ts';
import { type Attempt, oweDelivery, startCallbacks } from '../src/jobs/callback.ts';
import type { JobRow } from '../src/jobs/job.ts';
import { CALLBACK_QUEUE, DOMAIN, KIND } from '../src/jobs/records.ts';
import { owedJob } from './owed-job.ts';

const jobOf = (id: string): JobRow => owedJob(id, `https://example.org/${id}`);

/** Delivers one job to a receiver that answers so, one answer after the other. `attempts` holds when each was made. */
const open = async (stack: AsyncDisposableStack, answers: readonly Attempt[]) => {
  const store = await stack.use(await createSqliteDatabase()).open();
  let nowMs = 1_800_000_000_000;
  const startMs = nowMs;
  const attempts: number[] = [];
  const job = jobOf('job_0123456789abcdef0123456789abcdef');
  await store.commit(DOMAIN, [
    { op: 'put', kind: KIND.job, id: job.id, data: job, expect: 0 },
    ...oweDelivery(() => nowMs)(job),
  ]);
  const loop = stack.use(
    startCallbacks({
      store,
      post: async () => answers[attempts.push(nowMs - startMs) - 1] ?? { status: 200, retryAfterSec: undefined },
      render: () => ({}),
      secrets: [],
      log: createSilentLog(),
      now: () => nowMs,
      owner: 'me',
      limits: { lookMs: 5, scheduleMs: [1000, 1000] },
    }),
  );
  const told = async () => (await store.get<JobRow>(DOMAIN, KIND.job, job.id))?.data.callback;
  return {
    attempts,
    until: (count: number) => eventually(`attempt ${count}`, async () => (await told())?.attempts === count),
    told,
    /** How many deliveries fall due until that long after the start; they are taken from whoever would make them. */
    dueAfter: async (ms: number): Promise<number> => {
      const claims = { owner: 'another', leaseMs: 60_000, limit: 10, nowMs: startMs + ms };
      return (await store.claim(DOMAIN, CALLBACK_QUEUE, claims)).length;
    },
    pass: (ms: number) => {
      nowMs += ms;
      loop.ring();
    },
  };
};

const answer = (status: number, retryAfterSec?: number): Attempt => ({ status, retryAfterSec });

describe('an answer to a delivery', () => {
  it('is tried again where that makes sense', async () => {
    for (const first of [answer(408), answer(425), answer(429), answer(500), answer(503), { fault: 'gone' }]) {
      await using stack = new AsyncDisposableStack();
      const { until, told, pass } = await open(stack, [first]);
      await until(1);
      assert.equal((await told())?.status, 'pending', JSON.stringify(first));
      pass(1200);
      await until(2);
      assert.deepEqual([(await told())?.status, (await told())?.last_status], ['delivered', 200]);
    }
  });

  it('is final otherwise', async () => {
    for (const [status, outcome] of [
      [200, 'delivered'],
      [299, 'delivered'],
      [301, 'failed'],
      [400, 'failed'],
      [404, 'failed'],
      [410, 'failed'],
    ] as const) {
      await using stack = new AsyncDisposableStack();
      const { until, told } = await open(stack, [answer(status)]);
      await until(1);
      assert.deepEqual([(await told())?.status, (await told())?.last_status], [outcome, status]);
    }
  });

  it('fails when the last repetition failed too', async () => {
    await using stack = new AsyncDisposableStack();
    const { until, told, pass } = await open(stack, [answer(500), answer(500), answer(500)]);
    for (const count of [1, 2]) {
      await until(count);
      pass(1200);
    }
    await until(3);
    assert.deepEqual([(await told())?.status, (await told())?.attempts], ['failed', 3]);
  });

  it('is not followed by the next attempt before the pause it asks for, and not later', async () => {
    for (const [asked, pauseMs] of [
      [answer(503, 60), 60_000],
      [answer(429, 3599), 3_599_000],
      [answer(429, 1_000_000), 3_600_000],
    ] as const) {
      await using stack = new AsyncDisposableStack();
      const { until, dueAfter } = await open(stack, [asked]);
      await until(1);
      assert.equal(await dueAfter(pauseMs - 1), 0, JSON.stringify(asked));
      assert.equal(await dueAfter(pauseMs), 1, JSON.stringify(asked));
    }
  });

  it('may ask for a longer pause, up to an hour', async () => {
    await using stack = new AsyncDisposableStack();
    const { attempts, until, pass } = await open(stack, [answer(503, 60), answer(429, 1_000_000)]);
    await until(1);
    pass(59_999);
    pass(1);
    await until(2);
    pass(3_600_000);
    await until(3);
    assert.ok(attempts[1]! >= 60_000 && attempts[2]! - attempts[1]! >= 3_600_000, attempts.join());
  });
});
