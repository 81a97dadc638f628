/** The real speech service as a process of its own, on a temporary folder with a fixture model. */
import { type ChildProcess, fork } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processEnvironment } from '@parley/kit/settings.ts';

export const KEY = 'sk-soak-0123456789abcdef';
const ROOT = new URL('../../', import.meta.url);
const MAIN = fileURLToPath(new URL('packages/speech/src/main.ts', ROOT));
export const testdata = (path: string): string => fileURLToPath(new URL(`testdata/${path}`, ROOT));

export type SoakService = { readonly url: string; readonly pid: number; kill(): Promise<void>; stop(): Promise<void> };

/** A data folder with fixture models in place, by their folders; `remove` deletes it. */
export const createDataDir = async (
  models: readonly string[] = ['offline-transducer'],
): Promise<{ path: string; remove(): Promise<void> }> => {
  const path = await mkdtemp(join(tmpdir(), 'parley-soak-'));
  await mkdir(join(path, 'models'));
  for (const model of models) {
    const from = testdata(`models/${model}`);
    const { id, revision }: { id: string; revision: string } = JSON.parse(
      await readFile(join(from, 'model.json'), 'utf8'),
    );
    await cp(from, join(path, 'models', `${id}@${revision}`), { recursive: true });
  }
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
};

/** Starts the service and waits until it serves; `env` is added to this process's own. */
export const startService = async (
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<SoakService> => {
  const flags = {
    data_dir: dataDir,
    'speech.server.port': '0',
    'speech.auth.admin_key': KEY,
    'speech.registry.first_start': 'demo',
    'speech.log.level': 'warn',
    ...settings,
  };
  const child = fork(MAIN, ['speech', ...Object.entries(flags).map(([key, value]) => `--set=${key}=${value}`)], {
    execPath: process.execPath,
    env: { ...processEnvironment(), ...env },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const url = await readyUrl(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    url,
    pid: child.pid!,
    kill: () => {
      child.kill('SIGKILL');
      return gone;
    },
    stop: () => {
      if (child.connected) child.send({ type: 'stop' });
      return gone;
    },
  };
};

const readyUrl = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    child.on('message', (message: { type: string; url?: string }) => {
      if (message.type === 'ready') resolve(message.url!);
    });
    child.once('exit', (code, signal) => reject(new Error(`the service ended (${code ?? signal}) before it served`)));
  });
