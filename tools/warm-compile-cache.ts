/**
 * Makes the compile cache of an installation, so that its very first start is as quick as any other: starts the
 * platform once on an empty folder. Run by `npm ci`; whatever goes wrong here only costs the first start some time.
 */
import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INSTALLED_CACHE } from '../packages/kit/src/compile-cache.ts';

const MAX_START_MS = 60_000;

/** Starts the platform and ends it as soon as it is ready. Rejects when it does not come to that. */
const startOnce = (dataDir: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const program = fileURLToPath(new URL('../packages/platform/src/main.ts', import.meta.url));
    const settings = {
      data_dir: dataDir,
      'platform.port': '0',
      'platform.log.level': 'silent',
      admin_password: 'unused-1',
    };
    const args = Object.entries(settings).map(([key, value]) => `--set=${key}=${value}`);
    const child = fork(program, args, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), MAX_START_MS);
    child.on('message', (message: { type?: string }) => {
      if (message.type === 'ready') child.send({ type: 'stop' });
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(timer);
      if (code === 0) resolve();
      else reject(new Error(`the platform ended with ${code}`));
    });
  });

const folder = mkdtempSync(join(tmpdir(), 'parley-warm-'));
try {
  rmSync(INSTALLED_CACHE, { recursive: true, force: true });
  mkdirSync(INSTALLED_CACHE, { recursive: true, mode: 0o700 });
  await startOnce(folder);
} catch (thrown) {
  process.stderr.write(`No compile cache was made (${thrown}); the first start will take longer.\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
