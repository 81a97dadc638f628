/** The platform as a process of its own: what it leaves in its data folder, and that a restart takes it up. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { placeOfCache } from '@parley/kit/compile-cache.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

const cacheBeside = (dataDir: string): string => `${dataDir}-compile-cache`;

/** Starts the process with a compile cache of its own, asks it once, and ends it as its parent would. */
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
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // The one of the installation is everybody's.
      env: { ...process.env, NODE_COMPILE_CACHE: cacheBeside(folder) },
    },
  );
  const ended = once(child, 'exit');
  try {
    const ready = new Promise<string>((resolve, reject) => {
      // It says other things to its parent too.
      child.on('message', ({ type, url }: { type?: string; url?: string }) => type === 'ready' && resolve(url!));
      child.once('exit', (code) => reject(new Error(`ended with ${code}`)));
    });
    assert.equal((await fetch(`${await ready}/healthz`)).status, 200);
    child.send({ type: 'stop' });
    assert.deepEqual(await ended, [0, null]);
  } finally {
    child.kill('SIGKILL');
  }
};

/** Everything in the compile cache, by name and time of writing. */
const cacheOf = async (folder: string): Promise<string[]> => {
  const entries = await readdir(cacheBeside(folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(files.sort().map(async (file) => `${file} ${(await stat(file)).mtimeMs}`));
};

describe('the process', () => {
  it('takes the compile cache of the installation only where nobody else could have written it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-cache-'));
    try {
      const installed = join(folder, 'installed');
      const own = join('data', 'compile-cache');
      assert.equal(placeOfCache('data', installed), own);
      await mkdir(installed, { mode: 0o700 });
      assert.equal(placeOfCache('data', installed), installed);
      await chmod(installed, 0o770);
      assert.equal(placeOfCache('data', installed), own);
      await rm(installed, { recursive: true });
      await symlink(folder, installed);
      await chmod(folder, 0o777);
      assert.equal(placeOfCache('data', installed), own);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

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
