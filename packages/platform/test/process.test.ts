/** The platform as a process of its own: what it leaves in its data folder, and that a restart takes it up. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Starts the process, asks it once, and ends it as its parent would. */
const runOnce = async (folder: string): Promise<void> => {
  const child = fork(
    MAIN,
    [
      '--data-dir',
      folder,
      '--set',
      'platform.port=0',
      '--set',
      'platform.log.level=error',
      '--set',
      'platform.admin_password=Administrator-1',
    ],
    { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  );
  const ended = once(child, 'exit');
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [{ type?: string; url?: string }];
  assert.equal(message.type, 'ready');
  assert.equal((await fetch(`${message.url}/healthz`)).status, 200);
  child.send({ type: 'stop' });
  assert.deepEqual(await ended, [0, null]);
};

/** Everything in the compile cache, by name and time of writing. */
const cacheOf = async (folder: string): Promise<string[]> => {
  const entries = await readdir(join(folder, 'compile-cache'), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(files.sort().map(async (file) => `${file} ${(await stat(file)).mtimeMs}`));
};

describe('the process', () => {
  it('keeps what it compiled, its threads too, and compiles it once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-process-'));
    try {
      // The data folder is made by the first start, for its owner only.
      const data = join(folder, 'data');
      await runOnce(data);
      assert.equal((await stat(data)).mode & 0o777, 0o700);
      await runOnce(data);
      const kept = await cacheOf(data);
      assert.ok(kept.length > 100, `${kept.length} files`);
      await runOnce(data);
      assert.deepEqual(await cacheOf(data), kept, 'a further start writes nothing');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
