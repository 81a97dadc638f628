import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLocks } from './locks.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('locks', () => {
  const track = () => {
    const log: string[] = [];
    const gates = new Map<string, () => void>();
    const task = (name: string) => async (): Promise<string> => {
      log.push(`+${name}`);
      await new Promise<void>((resolve) => gates.set(name, resolve));
      log.push(`-${name}`);
      return name;
    };
    const end = async (name: string): Promise<void> => {
      gates.get(name)!();
      await settle();
    };
    return { log, task, end };
  };

  it('queue writes to one entity and let others pass', async () => {
    const { log, task, end } = track();
    const locks = createLocks();
    const all = [locks.entity('x', task('x1')), locks.entity('x', task('x2')), locks.entity('y', task('y1'))];
    await settle();
    assert.deepEqual(log, ['+x1', '+y1']);
    await end('x1');
    assert.deepEqual(log, ['+x1', '+y1', '-x1', '+x2']);
    await end('y1');
    await end('x2');
    assert.deepEqual(await Promise.all(all), ['x1', 'x2', 'y1']);
  });

  it('let an exclusive write be alone, in the order of coming', async () => {
    const { log, task, end } = track();
    const locks = createLocks();
    const first = locks.entity('x', task('x'));
    await settle();
    const all = [first, locks.exclusive(task('alone')), locks.entity('y', task('y'))];
    await settle();
    assert.deepEqual(log, ['+x']);
    await end('x');
    assert.deepEqual(log, ['+x', '-x', '+alone']);
    await end('alone');
    assert.deepEqual(log, ['+x', '-x', '+alone', '-alone', '+y']);
    await end('y');
    await Promise.all(all);
  });

  it('go on after a task that failed', async () => {
    const locks = createLocks();
    const fail = async (): Promise<never> => {
      throw new Error('no');
    };
    await assert.rejects(locks.entity('x', fail));
    await assert.rejects(locks.exclusive(fail));
    assert.equal(await locks.entity('x', async () => 1), 1);
    assert.equal(await locks.exclusive(async () => 2), 2);
  });
});
