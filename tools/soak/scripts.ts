/**
 * Ten hostile scripts at once, and what others notice of them: `npm run soak -- scripts [ROUNDS]`. Rounds of GETs
 * without and with the scripts take turns, so that a noisy machine disturbs both alike.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../packages/platform/src/main.ts', import.meta.url));
const PASSWORD = 'Soak-test-1';
const DEFAULT_ROUNDS = 10;
const GETS = 2000;
const AT_ONCE = 4;

const code = (source: string) => [
  { oId: 1, oType: 101, transfer: 2 },
  { oId: 2, oType: 190, source },
];
const round = (expr: string) => [
  { oId: 1, oType: 101, transfer: 2 },
  { oId: 2, oType: 110, assign: [{ name: 'x', expr }], transfer: 2 },
];

const HOSTILE: readonly (readonly object[])[] = [
  code('for (;;);'),
  code('/(a+)+$/.test("a".repeat(40) + "b")'),
  code('function f() { try { f() } finally { f() } } f()'),
  code('const all = []; for (;;) all.push(all.slice())'),
  code('let s = "x"; for (;;) s += s.slice(0, 1000)'),
  code('let o = []; for (let i = 0; i < 1e5; i++) o = [o]; return o'),
  round('"x".repeat(1000000)'),
  round('Array.from({ length: 20000 }, (_, i) => ({ i }))'),
  round('(() => { const end = Date.now() + 400; while (Date.now() < end); return 1; })()'),
  round('1'),
];

type Node = { readonly child: ChildProcess; readonly url: string };

const startNode = (folder: string): Promise<Node> =>
  new Promise((resolve, reject) => {
    const flags = {
      data_dir: folder,
      'platform.port': '0',
      admin_password: PASSWORD,
      'platform.scripts.code': 'true',
      'platform.log.level': 'error',
    };
    const args = Object.entries(flags).map(([key, value]) => `--set=${key}=${value}`);
    const child = fork(MAIN, ['platform', ...args], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    child.once('error', reject);
    child.once('exit', (status) => reject(new Error(`the platform ended with ${status}`)));
    child.on('message', (message: { type: string; url: string }) => {
      if (message.type === 'ready') resolve({ child, url: message.url });
    });
  });

const createClient = (url: string) => {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}/rest/v1/${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: answer.status, body: JSON.parse((await answer.text()) || 'null') };
  };
  return {
    call,
    signIn: async (): Promise<void> => {
      const { body } = await call('POST', 'iam/sessions', { login: 'admin', pwd: PASSWORD, session_type: 'token' });
      headers.authorization = `Bearer ${body.session_token}`;
    },
  };
};

/** Milliseconds of each of many GETs. */
const measure = async (get: () => Promise<unknown>): Promise<number[]> => {
  const taken: number[] = [];
  const lane = async (): Promise<void> => {
    while (taken.length < GETS) {
      const began = performance.now();
      await get();
      taken.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return taken;
};

const percentile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;

const rssOf = (pid: number): string => /VmRSS:\s+(.*)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '?';

export const runScripts = async ([rounds]: readonly string[]): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-scripts-'));
  const { child, url } = await startNode(folder);
  const client = createClient(url);
  await client.signIn();
  const me = (await client.call('GET', 'iam/users/current')).body.id;
  const get = () => client.call('GET', `iam/users/${me}`);
  const ids: string[] = [];
  for (const [at, objects] of HOSTILE.entries()) {
    const body = { code: `hostile${at}`, scriptdata: { objects, variables: [] } };
    ids.push((await client.call('POST', 'service/svcscripts', body)).body.id);
  }
  await measure(get);
  const [quiet, disturbed, reasons] = [[] as number[], [] as number[], new Map<string, number>()];
  process.stdout.write(`rss before the first script ${rssOf(child.pid!)}\n`);
  for (let n = 0; n < Number(rounds ?? DEFAULT_ROUNDS); n++) {
    quiet.push(...(await measure(get)));
    let isOver = false;
    const hostile = ids.map(async (id) => {
      while (!isOver) {
        const { body } = await client.call('POST', `service/svcscripts/${id}/run`, {});
        const how = body?.error?.reason ?? body?.ended ?? 'no answer';
        reasons.set(how, (reasons.get(how) ?? 0) + 1);
      }
    });
    disturbed.push(...(await measure(get)));
    isOver = true;
    await Promise.all(hostile);
  }
  const row = (name: string, values: readonly number[]): string =>
    `${name}: p50 ${percentile(values, 0.5).toFixed(2)} ms, p99 ${percentile(values, 0.99).toFixed(2)} ms\n`;
  process.stdout.write(row('idle', quiet) + row('ten hostile scripts', disturbed));
  process.stdout.write(`p99 ratio ${(percentile(disturbed, 0.99) / percentile(quiet, 0.99)).toFixed(2)}\n`);
  process.stdout.write(`ends ${JSON.stringify(Object.fromEntries(reasons))}, rss ${rssOf(child.pid!)}\n`);
  child.removeAllListeners('exit');
  child.send({ type: 'stop' });
  await new Promise((resolve) => child.once('exit', resolve));
  await rm(folder, { recursive: true, force: true });
};
