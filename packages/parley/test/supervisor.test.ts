import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSilentLog } from '@parley/kit/log.ts';
import type { NodeSpec } from '../src/supervisor/child.ts';
import type { NodeRecord } from '../src/supervisor/node-state.ts';
import { startSupervisor } from '../src/supervisor.ts';

const MODULE = fileURLToPath(new URL('fixtures/node.ts', import.meta.url));
const log = createSilentLog();
const limits = { heartbeatMs: 100, firstBackOffMs: 10, lastBackOffMs: 20, stopGraceMs: 5000 };

const spec = (name: string, ...args: string[]): NodeSpec => ({
  name,
  role: name,
  kind: 'test',
  index: 1,
  module: MODULE,
  args: [name, ...args],
});

/** Ready messages as they come; `next` waits for one. */
const createReadyQueue = () => {
  const seen: NodeRecord[] = [];
  const waiters: ((record: NodeRecord) => void)[] = [];
  return {
    onReady: (record: NodeRecord): void => {
      const waiter = waiters.shift();
      if (waiter) waiter(record);
      else seen.push(record);
    },
    next: (): Promise<NodeRecord> =>
      new Promise((resolve) => {
        const first = seen.shift();
        if (first) resolve(first);
        else waiters.push(resolve);
      }),
  };
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('supervisor', () => {
  it('starts a node, says when it serves, and stops it with a message', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-supervisor-'));
    try {
      const ready = createReadyQueue();
      const note = join(folder, 'note');
      const supervisor = startSupervisor([spec('one', 'serve', note)], { log, limits, onReady: ready.onReady });
      const record = await ready.next();
      assert.equal(record.url, 'http://one');
      assert.equal(record.status, 'active');
      await supervisor[Symbol.asyncDispose]();
      assert.equal(readFileSync(note, 'utf8'), 'stopped\n');
      assert.equal(isAlive(record.pid!), false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('starts a node again that was killed', async () => {
    const ready = createReadyQueue();
    await using supervisor = startSupervisor([spec('one')], { log, limits, onReady: ready.onReady });
    const first = await ready.next();
    process.kill(first.pid!, 'SIGKILL');
    const second = await ready.next();
    assert.notEqual(second.pid, first.pid);
    assert.equal(second.restarts, 1);
    assert.equal(supervisor.nodes()[0]?.status, 'active');
  });

  it('kills and starts again a node that gives no sign of life', async () => {
    const ready = createReadyQueue();
    await using _supervisor = startSupervisor([spec('one', 'hang')], { log, limits, onReady: ready.onReady });
    const first = await ready.next();
    const second = await ready.next();
    assert.notEqual(second.pid, first.pid);
    assert.equal(isAlive(first.pid!), false);
  });

  it('gives up at once on a node whose settings cannot be used', async () => {
    await using supervisor = startSupervisor([spec('one', 'config')], { log, limits });
    await assert.rejects(supervisor.failed, /one cannot use these settings/);
    assert.equal(supervisor.nodes()[0]?.status, 'inactive');
  });

  it('gives up on a node that ends before it ever served', async () => {
    await using supervisor = startSupervisor([spec('one', 'early')], { log, limits });
    await assert.rejects(supervisor.failed, /one ended with code 3 before it served/);
  });

  it('lets a node rest that crashes again and again', async () => {
    const inactive = Promise.withResolvers<void>();
    const watching = createSilentLog();
    await using supervisor = startSupervisor([spec('one', 'crash')], {
      log: Object.assign(watching, {
        error: () => {
          if (supervisor?.nodes()[0]?.status === 'inactive') inactive.resolve();
        },
      }),
      limits: { ...limits, crashLoopCount: 3 },
    });
    await inactive.promise;
    assert.equal(supervisor.nodes()[0]?.restarts, 4);
  });

  it('recycles a node that leaks, and lets the others be', async () => {
    const ready = createReadyQueue();
    const memoryLimitBytes = 256 * 2 ** 20;
    await using supervisor = startSupervisor(
      [
        { ...spec('leaky', 'leak'), memoryLimitBytes },
        { ...spec('tidy'), memoryLimitBytes },
      ],
      { log, limits: { ...limits, heartbeatMs: 30 }, onReady: ready.onReady },
    );
    const first = [await ready.next(), await ready.next()].find(({ name }) => name === 'leaky')!;
    const second = await ready.next();
    assert.deepEqual([second.name, second.restarts], ['leaky', 1]);
    assert.equal(isAlive(first.pid!), false);
    assert.equal(supervisor.nodes().find(({ name }) => name === 'tidy')?.restarts, 0);
  });

  it('starts a node again that is told to, and one that was stopped from outside', async () => {
    const ready = createReadyQueue();
    await using supervisor = startSupervisor([spec('one')], { log, limits, onReady: ready.onReady });
    const first = await ready.next();
    assert.equal(supervisor.restart('one'), true);
    assert.equal(supervisor.restart('two'), false);
    assert.equal(supervisor.nodes()[0]?.isActive, false);
    const second = await ready.next();
    assert.notEqual(second.pid, first.pid);
    process.kill(second.pid!, 'SIGSTOP');
    const third = await ready.next();
    assert.notEqual(third.pid, second.pid);
    assert.equal(isAlive(second.pid!), false);
  });

  it('changes what runs without touching what stays', async () => {
    const ready = createReadyQueue();
    const gone = Promise.withResolvers<void>();
    await using supervisor = startSupervisor([spec('stays'), spec('goes')], {
      log,
      limits,
      onReady: ready.onReady,
      onChange: () => {
        if (supervisor?.nodes().every(({ name }) => name !== 'goes')) gone.resolve();
      },
    });
    const started = [await ready.next(), await ready.next()];
    const pidOf = (name: string) => [...started, ...supervisor.nodes()].find((each) => each.name === name)?.pid;
    const goes = pidOf('goes');
    await supervisor.apply([spec('stays'), spec('comes')]);
    assert.equal((await ready.next()).name, 'comes');
    await gone.promise;
    assert.equal(isAlive(goes!), false);
    assert.deepEqual(
      supervisor.nodes().map(({ name, restarts }) => [name, restarts]),
      [
        ['stays', 0],
        ['comes', 0],
      ],
    );
    assert.equal(supervisor.nodes()[0]?.pid, pidOf('stays'));
  });

  it('goes back to the options a node served with when it cannot start with others', async () => {
    const ready = createReadyQueue();
    await using supervisor = startSupervisor([spec('one')], { log, limits, onReady: ready.onReady });
    await ready.next();
    const bad = [spec('one', 'config')];
    await supervisor.apply(bad);
    const again = await ready.next();
    assert.deepEqual(
      [again.status, again.reason],
      ['active', 'cannot use these settings; it runs with its earlier options'],
    );
    await supervisor.apply(bad);
    assert.equal(supervisor.nodes()[0]?.pid, again.pid, 'what was refused is not tried again and again');
    await supervisor.apply([spec('one')]);
    assert.deepEqual([supervisor.nodes()[0]?.pid, supervisor.nodes()[0]?.reason], [again.pid, '']);
  });

  it('goes on when one of several nodes cannot start, and says why it does not run', async () => {
    const ready = createReadyQueue();
    const inactive = Promise.withResolvers<void>();
    await using supervisor = startSupervisor([spec('good')], {
      log,
      limits,
      onReady: ready.onReady,
      onChange: () => {
        if (supervisor?.nodes().some(({ status }) => status === 'inactive')) inactive.resolve();
      },
    });
    supervisor.failed.catch(inactive.reject);
    await ready.next();
    await supervisor.apply([spec('good'), spec('bad', 'early')]);
    await inactive.promise;
    const bad = supervisor.nodes().find(({ name }) => name === 'bad');
    assert.deepEqual([bad?.isActive, bad?.reason], [false, 'ended with code 3 before it served']);
  });

  it('ends nodes that hang when it stops', async () => {
    const ready = createReadyQueue();
    const supervisor = startSupervisor([spec('one', 'hang')], {
      log,
      limits: { ...limits, heartbeatMs: 60_000, stopGraceMs: 200 },
      onReady: ready.onReady,
    });
    const record = await ready.next();
    await supervisor[Symbol.asyncDispose]();
    assert.equal(isAlive(record.pid!), false);
  });
});
