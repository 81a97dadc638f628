import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createBatcher } from './batcher.ts';

/** A batcher whose batches end when the test says so. */
const createHeld = () => {
  const batches: { requests: readonly number[]; end: PromiseWithResolvers<readonly string[]> }[] = [];
  const begun: (() => void)[] = [];
  const batcher = createBatcher<number, string>((requests) => {
    const end = Promise.withResolvers<readonly string[]>();
    batches.push({ requests, end });
    begun.shift()?.();
    return end.promise;
  });
  const nextBatch = (): Promise<void> =>
    new Promise((resolve) => {
      begun.push(resolve);
    });
  const answer = (index: number): void => {
    const { requests, end } = batches[index]!;
    end.resolve(requests.map((each) => `r${each}`));
  };
  return { batcher, batches, nextBatch, answer };
};

it('puts what waits while a batch runs into the next one, and gives each its own outcome', async () => {
  const { batcher, batches, nextBatch, answer } = createHeld();
  const first = batcher.submit(1);
  await nextBatch();
  const rest = Promise.all([batcher.submit(2), batcher.submit(3), batcher.submit(4)]);
  answer(0);
  assert.equal(await first, 'r1');
  await nextBatch();
  answer(1);
  assert.deepEqual(await rest, ['r2', 'r3', 'r4']);
  assert.deepEqual(
    batches.map((each) => each.requests),
    [[1], [2, 3, 4]],
  );
});

it('rejects every request of a batch that failed, and goes on with the next', async () => {
  const { batcher, batches, nextBatch, answer } = createHeld();
  const failed = Promise.allSettled([batcher.submit(1), batcher.submit(2)]);
  await nextBatch();
  const next = batcher.submit(3);
  batches[0]!.end.reject(new Error('gone'));
  assert.deepEqual(
    (await failed).map((each) => each.status),
    ['rejected', 'rejected'],
  );
  await nextBatch();
  answer(1);
  assert.equal(await next, 'r3');
});

it('is drained when nothing waits and nothing runs', async () => {
  const { batcher, nextBatch, answer } = createHeld();
  await batcher.drained();
  const order: string[] = [];
  const one = batcher.submit(1).then((outcome) => order.push(outcome));
  const drained = batcher.drained().then(() => order.push('drained'));
  await nextBatch();
  answer(0);
  await Promise.all([one, drained]);
  assert.deepEqual(order, ['r1', 'drained']);
});
