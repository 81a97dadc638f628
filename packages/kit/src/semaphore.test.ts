import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSemaphore } from './semaphore.ts';

describe('a semaphore', () => {
  it('lets n in, the rest in the order they came', async () => {
    const semaphore = createSemaphore(2);
    const order: string[] = [];
    const gates = new Map<string, PromiseWithResolvers<void>>();
    const runs = ['a', 'b', 'c', 'd'].map((name) => {
      const gate = Promise.withResolvers<void>();
      gates.set(name, gate);
      return semaphore.run(async () => {
        order.push(name);
        await gate.promise;
      });
    });
    await Promise.resolve();
    assert.deepEqual([order.join(''), semaphore.held, semaphore.waiting], ['ab', 2, 2]);
    gates.get('b')!.resolve();
    await runs[1];
    gates.get('c')!.resolve();
    await runs[2];
    assert.equal(order.join(''), 'abcd');
    for (const gate of gates.values()) gate.resolve();
    await Promise.all(runs);
    assert.deepEqual([semaphore.held, semaphore.waiting], [0, 0]);
  });

  it('gives the permit back when the work fails, and only once', async () => {
    const semaphore = createSemaphore(1);
    await assert.rejects(semaphore.run(() => Promise.reject(new Error('no'))));
    const permit = await semaphore.acquire();
    permit.release();
    permit.release();
    assert.equal(semaphore.held, 0);
  });

  it('lets go who gives up, without losing a permit or the order', async () => {
    const semaphore = createSemaphore(1);
    const first = await semaphore.acquire();
    const controller = new AbortController();
    const second = semaphore.acquire(controller.signal);
    const third = semaphore.acquire();
    controller.abort(new Error('gone'));
    await assert.rejects(second, /gone/);
    await assert.rejects(semaphore.acquire(AbortSignal.abort(new Error('before'))), /before/);
    first.release();
    (await third).release();
    assert.equal(semaphore.held, 0);
  });
});
