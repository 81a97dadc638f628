/**
 * kill -9 under concurrent writes. The client keeps a log of its own: what it was about to ask, and what was
 * acknowledged. After each restart every acknowledged write must be there with its journal entry, and none half there.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const PASSWORD = 'Kill-test-1';
const WRITERS = 8;
const MAX_LIFE_MS = 600;
/** What a life has written at least, so that there is something to lose. */
const WRITES_OF_A_LIFE = 8;

export type KillReport = { kills: number; asked: number; acknowledged: number; unanswered: number };

/** What the client knows of one user: how many values it asked for, and which were acknowledged. */
type Known = {
  readonly id: string;
  readonly login: string;
  asked: number;
  readonly acknowledged: Set<number>;
  isMade: boolean;
};

type Node = { readonly child: ChildProcess; readonly url: string };

/** A generator of numbers between 0 and 1 (mulberry32), so that a failing seed can be run again. */
const createRandom = (seed: number) => {
  let state = seed >>> 0;
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const startNode = (folder: string, storageUrl: string): Promise<Node> =>
  new Promise((resolve, reject) => {
    const env = {
      ...process.env,
      PARLEY_DATA_DIR: folder,
      PARLEY_PLATFORM_PORT: '0',
      PARLEY_ADMIN_PASSWORD: PASSWORD,
      PARLEY_STORAGE_URL: storageUrl,
      PARLEY_PLATFORM_LOG_LEVEL: 'error',
      PARLEY_LOG_LEVEL: 'error',
    };
    const child = fork(MAIN, [], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the platform ended with ${code}`)));
    child.on('message', (message: { type: string; url: string }) => {
      if (message.type === 'ready') resolve({ child, url: message.url });
    });
  });

const killNode = async ({ child }: Node): Promise<void> => {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
};

type Ask = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Record<string, unknown> }>;

const signIn = async ({ url }: Node): Promise<Ask> => {
  const send = async (method: string, path: string, body: unknown, headers: Record<string, string>) => {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${url}/rest/v1/${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...json,
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
  };
  const { body } = await send('POST', 'iam/sessions', { login: 'admin', pwd: PASSWORD, session_type: 'token' }, {});
  const headers = { authorization: `Bearer ${String(body.session_token)}` };
  return (method, path, asked) => send(method, path, asked, headers);
};

/** Writes until the node is gone: makes users, and adds a value to each again and again. Returns whom it touched. */
const writeUntilGone = async (
  ask: Ask,
  known: Known[],
  random: () => number,
  report: KillReport,
  onWritten: () => void,
): Promise<Set<Known>> => {
  const touched = new Set<Known>();
  while (true) {
    const made = known.filter(({ isMade }) => isMade);
    const isNew = made.length === 0 || random() < 0.3;
    report.asked += 1;
    const user = isNew ? createKnown(report.asked) : made[Math.floor(random() * made.length)]!;
    if (isNew) known.push(user);
    const value = user.asked++;
    touched.add(user);
    const ext = { [`v${value}`]: true };
    try {
      const answer = isNew
        ? await ask('POST', 'iam/users', { id: user.id, login: user.login, ext })
        : await ask('PATCH', `iam/users/${user.id}`, { ext });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    } catch (thrown) {
      if (thrown instanceof assert.AssertionError) throw thrown;
      report.unanswered += 1;
      return touched;
    }
    report.acknowledged += 1;
    onWritten();
    user.isMade = true;
    user.acknowledged.add(value);
  }
};

const createKnown = (serial: number): Known => ({
  id: `00000000-0000-4000-8000-${String(serial).padStart(12, '0')}`,
  login: `kill-${serial}`,
  asked: 0,
  acknowledged: new Set(),
  isMade: false,
});

const byNumber = (left: number, right: number): number => left - right;

/** Everything acknowledged is there with its entry; what was not acknowledged is there whole or not at all. */
const check = async (ask: Ask, users: Iterable<Known>): Promise<void> => {
  for (const user of users) {
    const { status, body } = await ask('GET', `iam/users/${user.id}`);
    const params = encodeURIComponent(JSON.stringify({ objtype: 'user', objid: user.id }));
    const answer = await ask('GET', `journal/changes?params=${params}&limit=10000`);
    const entries = answer.body as unknown as { cmdtype: string; fields?: string }[];
    const found = await ask('LOOKUP', 'iam/users', user.login);
    if (status === 404) {
      assert.equal(user.acknowledged.size, 0, `${user.login} was acknowledged and is gone`);
      assert.deepEqual(entries, [], `${user.login} is not there but its journal is`);
      assert.equal(found.status, 404, `${user.login} is not there but its key is`);
      continue;
    }
    assert.deepEqual(found.body, [user.id], 'the key goes with the row');
    const written = Object.keys(body.ext as object)
      .filter((name) => /^v\d+$/.test(name))
      .map((name) => Number(name.slice(1)))
      .sort(byNumber);
    for (const value of user.acknowledged) assert.ok(written.includes(value), `${user.login} lost ${value}`);
    const journalled = entries
      .flatMap(({ cmdtype, fields }) =>
        cmdtype === 'create' ? [0] : [...(fields ?? '').matchAll(/ext\.v(\d+)/g)].map((match) => Number(match[1])),
      )
      .sort(byNumber);
    assert.deepEqual(journalled, written, `${user.login}: journal and row say the same`);
    user.isMade = true;
  }
};

/** `reached` resolves at the n-th count. */
const createCounter = (n: number) => {
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  let counted = 0;
  const count = (): void => {
    counted += 1;
    if (counted === n) resolve();
  };
  return { reached, count };
};

/** Starts, writes, kills, starts again and checks, so many times. */
export const runKills = async (kills: number, seed: number, storageUrl = ''): Promise<KillReport> => {
  const random = createRandom(seed);
  const report: KillReport = { kills: 0, asked: 0, acknowledged: 0, unanswered: 0 };
  const folder = await mkdtemp(join(tmpdir(), 'parley-kill-'));
  const known: Known[] = [];
  let node: Node | undefined;
  try {
    node = await startNode(folder, storageUrl);
    for (let round = 0; round < kills; round++) {
      const ask = await signIn(node);
      const begun = createCounter(WRITES_OF_A_LIFE);
      const writers = Array.from({ length: WRITERS }, () => writeUntilGone(ask, known, random, report, begun.count));
      await Promise.race([begun.reached, ...writers]);
      await new Promise((resolve) => setTimeout(resolve, random() * MAX_LIFE_MS));
      await killNode(node);
      const touched = new Set((await Promise.all(writers)).flatMap((users) => [...users]));
      report.kills += 1;
      node = await startNode(folder, storageUrl);
      await check(await signIn(node), touched);
    }
    await check(await signIn(node), known);
    return report;
  } finally {
    if (node) await killNode(node);
    await rm(folder, { recursive: true, force: true });
  }
};
