/** The whole house as a stranger runs it: `npm start`, a round trip on each service, every way of ending. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { rolesOf, treeOf } from '../tools/soak/process-tree.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const KEY = 'sk-house-0123456789abcdef';

type House = {
  readonly npm: ChildProcess;
  readonly urls: ReadonlyMap<string, string>;
  readonly ended: Promise<number | null>;
  again(name: string): Promise<void>;
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Resolves when none of them lives any more; npm itself may be gone a moment before the last of them. */
const allGone = async (pids: readonly number[]): Promise<void> => {
  while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 20));
};

/** Starts both services on ports of their own and waits until each says that it serves. */
const startHouse = async (dataDir: string): Promise<House> => {
  const settings = [
    'speech.server.port=0',
    'platform.port=0',
    'speech.registry.first_start=demo',
    'speech.log.level=error',
  ];
  const npm = spawn(
    'npm',
    ['start', '--silent', '--', `--data-dir=${dataDir}`, ...settings.map((one) => `--set=${one}`)],
    {
      cwd: ROOT,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, PARLEY_SPEECH_ADMIN_KEY: KEY, PARLEY_ADMIN_PASSWORD: 'a long enough password' },
    },
  );
  const urls = new Map<string, string>();
  const waiters = new Map<string, () => void>();
  const both = Promise.withResolvers<void>();
  let text = '';
  npm.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    const lines = text.split('\n');
    text = lines.pop()!;
    for (const line of lines) {
      const [, name, url, again] = /^(\w+) +(http\S+) {2}ready( again)?$/.exec(line) ?? [];
      if (name === undefined || url === undefined) continue;
      urls.set(name, url);
      if (again) waiters.get(name)?.();
      if (urls.size === 2) both.resolve();
    }
  });
  const ended = new Promise<number | null>((resolve) => npm.once('exit', (code) => resolve(code)));
  void ended.then(() => both.reject(new Error('the house ended before it served')));
  await both.promise;
  return {
    npm,
    urls,
    ended,
    again: (name) => new Promise((resolve) => waiters.set(name, resolve)),
  };
};

const transcribe = async (url: string): Promise<string> => {
  const form = new FormData();
  form.append(
    'file',
    new File([new Uint8Array(await readFile(join(ROOT, 'testdata/speech/transfer-digits.wav')))], 'a.wav'),
  );
  const response = await fetch(`${url}/api/v1/transcribe`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${KEY}` },
  });
  assert.equal(response.status, 200, await response.clone().text());
  return ((await response.json()) as { text: string }).text;
};

describe('the house', () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'parley-house-'));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  it('serves both services, starts one again that is killed, and ends cleanly when only npm is told', async () => {
    const house = await startHouse(dataDir);
    const pids = treeOf(house.npm.pid!);
    assert.equal(await transcribe(house.urls.get('speech')!), 'transfer three five seven nine');
    for (const name of ['speech', 'platform']) {
      for (const path of ['/healthz', '/readyz']) {
        assert.equal((await fetch(`${house.urls.get(name)}${path}`)).status, 200, `${name}${path}`);
      }
    }
    const speech = rolesOf(house.npm.pid!).find(({ role }) => role === 'speech')!;
    const again = house.again('speech');
    process.kill(speech.pid, 'SIGKILL');
    await again;
    assert.equal(await transcribe(house.urls.get('speech')!), 'transfer three five seven nine');
    pids.push(...treeOf(house.npm.pid!));
    house.npm.kill('SIGTERM');
    await house.ended;
    await allGone(pids);
  });

  it('ends cleanly on Ctrl-C, which reaches the whole process group', async () => {
    const house = await startHouse(dataDir);
    const pids = treeOf(house.npm.pid!);
    process.kill(-house.npm.pid!, 'SIGINT');
    await house.ended;
    await allGone(pids);
  });

  it('leaves no process behind when the supervisor is killed', async () => {
    const house = await startHouse(dataDir);
    const tree = treeOf(house.npm.pid!);
    const supervisor = tree.find(
      (pid) => pid !== house.npm.pid && rolesOf(house.npm.pid!).some((one) => one.pid === pid && one.role === ''),
    )!;
    process.kill(supervisor, 'SIGKILL');
    await house.ended;
    await allGone(tree);
  });
});
