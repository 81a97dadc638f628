import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Recognizer } from '../recognizer/recognizer.ts';
import { createScheduler, type Ticket, ticketOf } from './scheduler.ts';

const recognizer = {} as Recognizer;
const never = new AbortController().signal;

const ticket = (requestId: string, keyId = 'k', priority: Ticket['priority'] = 'batch'): Ticket => ({
  requestId,
  keyId,
  priority,
});

/** A scheduler whose work ends when the test says so; `order` holds the names in the order they started. */
const bench = (slots: number) => {
  const scheduler = createScheduler(() => slots);
  const order: string[] = [];
  const endings: (() => void)[] = [];
  const submit = (name: string, by: Ticket, signal = never) =>
    scheduler.submit(
      recognizer,
      by,
      () => {
        order.push(name);
        return new Promise<string>((resolve) => endings.push(() => resolve(name)));
      },
      signal,
    );
  const endOne = async (): Promise<void> => {
    endings.shift()?.();
    await new Promise(setImmediate);
  };
  return { scheduler, order, submit, endOne };
};

describe('scheduler', () => {
  it('goes round the requests, so a long one does not hold back the others', async () => {
    const { order, submit, endOne } = bench(1);
    for (const n of [1, 2, 3]) void submit(`a${n}`, ticket('a'));
    for (const n of [1, 2]) void submit(`b${n}`, ticket('b'));
    // a1 holds the slot, b1 the express slot; then turns alternate.
    for (let turn = 0; turn < 5; turn += 1) await endOne();
    assert.deepEqual(order, ['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it('goes round the keys before the requests of one key', async () => {
    const { order, submit, endOne } = bench(1);
    void submit('hold', ticket('h', 'hold'));
    void submit('hold2', ticket('h2', 'hold'));
    for (const n of [1, 2, 3]) void submit(`many${n}`, ticket(`m${n}`, 'many'));
    void submit('single', ticket('s', 'single'));
    for (let turn = 0; turn < 6; turn += 1) await endOne();
    assert.ok(order.indexOf('single') <= 3, order.join());
  });

  it('serves interactive first and still lets batch through', async () => {
    const { order, submit, endOne } = bench(1);
    void submit('first', ticket('b', 'k3'));
    for (let n = 0; n < 20; n += 1) void submit(`i${n}`, ticket('i', 'k2', 'interactive'));
    void submit('batch', ticket('b', 'k3'));
    for (let turn = 0; turn < 22; turn += 1) await endOne();
    assert.equal(order[1], 'i0');
    assert.ok(order.indexOf('batch') >= 2 && order.indexOf('batch') < 12, order.join());
  });

  it('keeps one slot for a request that has nothing in flight', () => {
    const { order, submit } = bench(2);
    for (const n of [1, 2, 3, 4]) void submit(`long${n}`, ticket('long'));
    void submit('short', ticket('short'));
    assert.deepEqual(order, ['long1', 'long2', 'short']);
  });

  it('keeps that slot free of work that can wait, and lets all of it have its turns', async () => {
    const { order, submit, endOne } = bench(2);
    for (const n of [1, 2, 3]) {
      for (const job of ['a', 'b', 'c']) void submit(`${job}${n}`, { ...ticket(job), canWait: true });
    }
    assert.deepEqual(order, ['a1', 'b1']);
    void submit('short', ticket('short'));
    assert.deepEqual(order, ['a1', 'b1', 'short']);
    for (let turn = 0; turn < 9; turn += 1) await endOne();
    assert.deepEqual(order.slice(3), ['c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
  });

  it('lets a job wait, and an upload that has had its first half minute', () => {
    const upload = ticket('upload');
    assert.equal(ticketOf(upload, 0, false).canWait, false);
    assert.equal(ticketOf(upload, 29, false).canWait, false);
    assert.equal(ticketOf(upload, 30, false).canWait, true);
    assert.equal(ticketOf(upload, 0, true).canWait, true);
  });

  it('drops a waiting segment when its request is aborted', async () => {
    const { scheduler, order, submit, endOne } = bench(1);
    const controller = new AbortController();
    void submit('one', ticket('a'));
    void submit('two', ticket('b'));
    const third = submit('three', ticket('c'), controller.signal);
    controller.abort(new Error('gone'));
    await assert.rejects(third, /gone/);
    await endOne();
    await endOne();
    assert.deepEqual(order, ['one', 'two']);
    assert.equal(scheduler.waiting(), 0);
  });

  it('frees the slot of work that fails', async () => {
    const scheduler = createScheduler(() => 1);
    const failing = () => Promise.reject(new Error('no'));
    await assert.rejects(scheduler.submit(recognizer, ticket('a'), failing, never), /no/);
    assert.equal(await scheduler.submit(recognizer, ticket('a'), async () => 'yes', never), 'yes');
  });
});
