/** A service as a real process: how it starts, how it ends, what it says to a parent. */
import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const MODULE = fileURLToPath(new URL('fixtures/service.ts', import.meta.url));
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

const startAlone = (...args: string[]): ChildProcess => {
  const child = spawn(process.execPath, [MODULE, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  return child;
};

const startChild = (...args: string[]): ChildProcess => {
  const child = fork(MODULE, ['sample', ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
  });
  children.push(child);
  return child;
};

/** Resolves with the output once it holds the words. */
const seen = (stream: NodeJS.ReadableStream, words: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = '';
    stream.on('data', (chunk) => {
      text += chunk;
      if (text.includes(words)) resolve(text);
    });
    stream.on('end', () => reject(new Error(`ended without ${words}: ${text}`)));
  });

const exitOf = async (child: ChildProcess): Promise<[number | null, string | null]> =>
  (await once(child, 'exit')) as [number | null, string | null];

describe('a service on its own', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`is disposed and ends with 0 on ${signal}`, async () => {
      const child = startAlone();
      const disposed = seen(child.stdout!, 'disposed');
      await seen(child.stderr!, '"msg":"ready"');
      child.kill(signal);
      assert.deepEqual(await exitOf(child), [0, null]);
      await disposed;
    });
  }

  it('says in one sentence that its port is in use', async () => {
    const other = createServer();
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const child = startAlone('--set', `sample.port=${port}`);
    const said = seen(child.stderr!, '"level":60');
    assert.deepEqual(await exitOf(child), [1, null]);
    other.close();
    const line = (await said).split('\n').find((each) => each.includes('"level":60'));
    const { msg, err } = JSON.parse(line!);
    assert.match(
      msg,
      new RegExp(`^127\\.0\\.0\\.1:${port} is in use: .* The settings host and port choose another\\.$`),
    );
    assert.equal(err, undefined);
  });

  it('ends at once on a second signal', async () => {
    const child = startAlone('--set', 'sample.mood=stuck');
    const disposing = seen(child.stdout!, 'disposed');
    await seen(child.stderr!, '"msg":"ready"');
    child.kill('SIGTERM');
    await disposing;
    child.kill('SIGTERM');
    assert.deepEqual(await exitOf(child), [143, null]);
  });

  it('ends with 78 when its settings cannot be used, naming them', async () => {
    const child = startAlone('--set', 'sample.port=many', '--set', 'sample.mood=bad');
    const [text, exit] = await Promise.all([seen(child.stderr!, 'mood'), exitOf(child)]);
    assert.match(text, /port must be a number/);
    assert.deepEqual(exit, [78, null]);
  });

  it('ends with 1 when it cannot start', async () => {
    assert.deepEqual(await exitOf(startAlone('--set', 'sample.mood=broken')), [1, null]);
  });
});

describe('a service with a parent', () => {
  it('says where it serves, answers a ping, ignores signals and ends on stop', async () => {
    const child = startChild();
    const [ready] = (await once(child, 'message')) as [{ type: string; url: string }];
    assert.equal(ready.type, 'ready');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    child.send({ type: 'ping' });
    const [pong] = (await once(child, 'message')) as [{ type: string; rssBytes: number }];
    assert.equal(pong.type, 'pong');
    assert.ok(pong.rssBytes > 2 ** 20);
    assert.deepEqual(await (await fetch(ready.url)).json(), { aborted: false });
    child.send({ type: 'stop' });
    assert.deepEqual(await exitOf(child), [0, null]);
  });

  it('ends when the parent is gone', async () => {
    const child = startChild();
    await once(child, 'message');
    child.disconnect();
    assert.deepEqual(await exitOf(child), [0, null]);
  });
});
