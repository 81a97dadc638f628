/**
 * kill -9 of the platform within an order of a product layer, at each change it makes. Afterwards the layer is as it was,
 * or as the order would have it, or the order failed with a trace; nothing half-made lies about; the next orders end well.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODES_TOPIC, type ToPlatform } from '../src/nodes/messages.ts';
import { fullNameOf, type NodeFacts, SUPERVISOR_KIND } from '../src/nodes/node.ts';
import { membersOf, order, put, toTar, VENDOR } from './layer-archives.ts';
import { type Client, createClient } from './start-test-platform.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const HOOK = new URL('fixtures/kill-at-step.ts', import.meta.url).href;
const PASSWORD = 'Kill-test-1';
const LAYERS = 'domain/product_layer';

const FILES = {
  'apps/shop.json': '{"description":"The shop"}',
  'web/a.html': '<h1>a</h1>',
  'web/b.html': '<h1>b</h1>',
};
const script = (code: string): object => ({
  code,
  scriptdata: {
    objects: [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 103 },
    ],
    variables: [],
  },
});
const FIRST = {
  classes: [{ classname: 'shop/Greetings', properties: [{ name: 'text', data_type: 'string' }] }],
  roles: [{ name: 'shop_reader' }, { name: 'shop_writer', parent: 'shop_reader' }],
  svcscripts: [script('shop_hello')],
  webapps: [{ name: 'shop', file: 'apps/shop.json', roles: ['shop_reader', 'user'] }],
};
const SECOND = { ...FIRST, version: '2.0.0', roles: [{ name: 'shop_reader' }], svcscripts: [script('shop_bye')] };

export const OPERATIONS = ['install', 'update', 'delete', 'clear'] as const;
export type Operation = (typeof OPERATIONS)[number];

const NODE: NodeFacts = {
  name: 'platform_1',
  server: 'main',
  site: 'default',
  address: '127.0.0.1',
  kind: 'platform',
  role: 'platform',
  index: 1,
  isActive: true,
  startedAtMs: 0,
  logLevel: 'none',
  url: null,
  pid: null,
  reason: '',
};
const ROOT: NodeFacts = { ...NODE, name: 'main', kind: SUPERVISOR_KIND, role: null, index: null };
const STANDING: ToPlatform = { type: 'nodes', nodes: [ROOT, NODE], self: fullNameOf(NODE) };

type Node = { readonly child: ChildProcess; readonly admin: Client };
type Place = { readonly folder: string; readonly layers: string };
/** Everything of the layer that can be seen, rows and files. */
type Seen = Readonly<Record<string, unknown>>;

const placeIn = (folder: string): Place => ({ folder, layers: join(folder, 'layers') });

const startNode = async ({ folder, layers }: Place): Promise<Node> => {
  const env = {
    ...process.env,
    PARLEY_DATA_DIR: folder,
    PARLEY_PLATFORM_PORT: '0',
    PARLEY_ADMIN_PASSWORD: PASSWORD,
    PARLEY_PLATFORM_LOG_LEVEL: 'fatal',
    PARLEY_PLATFORM_PRODUCT_DIR: layers,
    PARLEY_PLATFORM_PRODUCT_VENDOR_KEYS: VENDOR.publicKey,
  };
  const child = fork(MAIN, [], { env, execArgv: ['--import', HOOK], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the platform ended with ${code}`)));
    child.on('message', (message: { type: string; url: string }) => {
      if (message.type === 'ready') resolve(message.url);
      // Whoever has a parent waits to hear from it where it stands.
      if (message.type === 'note') child.send({ type: 'note', topic: NODES_TOPIC, body: STANDING });
    });
  });
  const body = { login: 'admin', pwd: PASSWORD, session_type: 'token' };
  const signedIn = await createClient(url, {}).call('POST', 'iam/sessions', { body });
  return { child, admin: createClient(url, { authorization: `Bearer ${signedIn.body.session_token}` }) };
};

const end = async ({ child }: Node, how: 'stop' | 'kill'): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  if (how === 'stop') child.send({ type: 'stop' });
  else child.kill('SIGKILL');
  await gone;
};

const steps = async ({ child }: Node, message: object): Promise<number> => {
  const told = new Promise<number>((resolve) => {
    const hear = ({ type, count }: { type: string; count: number }): void => {
      if (type !== 'steps') return;
      child.off('message', hear);
      resolve(count);
    };
    child.on('message', hear);
  });
  child.send(message);
  return await told;
};

const look = async ({ admin }: Node, { layers }: Place): Promise<Seen> => {
  const list = async (path: string, filter: object): Promise<Record<string, unknown>[]> =>
    (await admin.call('GET', `${path}?mask=*&filter=${encodeURIComponent(JSON.stringify(filter))}`)).body;
  const names = async (path: string, field: string) =>
    (await list(path, { [field]: '/reg/^shop' })).map((each) => each[field]).sort();
  const current = (await list(LAYERS, { kind: 'current' })).map(({ status, file, md5 }) => ({ status, file, md5 }));
  const [user] = await list('domain/roles', { name: 'user' });
  return {
    roles: await names('domain/roles', 'name'),
    scripts: await names('service/svcscripts', 'code'),
    classes: await names('design/classes', 'classname'),
    rows: (await admin.call('GET', 'model/shop/Greetings')).body.length,
    apps: user!.webapps,
    current,
    files: (await readdir(layers, { recursive: true })).sort(),
  };
};

/** What an operation is given: the folder it starts from, and what was seen before, after, and after it once more. */
type Case = { readonly base: Place; readonly before: Seen; readonly after: Seen; readonly steps: number };

/** Carries the operation out undisturbed, to know what is right and of how many steps it is made. */
const rehearse = async (base: Place, operation: Operation, scratch: string): Promise<Case> => {
  const place = placeIn(join(scratch, `rehearsal-${operation}`));
  await cp(base.folder, place.folder, { recursive: true, verbatimSymlinks: true });
  if (operation === 'update') await put(place.layers, 'shop-2.tar.gz', await toTar(membersOf(SECOND, FILES)));
  const given = placeIn(`${place.folder}-given`);
  await cp(place.folder, given.folder, { recursive: true, verbatimSymlinks: true });
  const node = await startNode(place);
  try {
    const before = await look(node, place);
    await steps(node, { arm: -1 });
    const done = await order(node.admin, { prefix: 'shop', operation });
    assert.equal(done.status, 'installed', done.trace);
    const count = await steps(node, { count: true });
    return { base: given, before, after: await settled(node, place), steps: count };
  } finally {
    await end(node, 'stop');
  }
};

/** An order more, which fails: what no installed layer needs is swept away by it. */
const settled = async (node: Node, place: Place): Promise<Seen> => {
  await order(node.admin, { prefix: 'none', operation: 'delete' });
  return await look(node, place);
};

export type LayerKill = { readonly operation: Operation; readonly step: number; readonly outcome: string };

const tryKill = async (known: Case, operation: Operation, step: number, scratch: string): Promise<LayerKill> => {
  const place = placeIn(join(scratch, `${operation}-${step}`));
  await cp(known.base.folder, place.folder, { recursive: true, verbatimSymlinks: true });
  const what = `${operation} killed at step ${step} of ${known.steps}`;
  let node = await startNode(place);
  try {
    await steps(node, { arm: step });
    await order(node.admin, { prefix: 'shop', operation }).catch(() => undefined);
    await end(node, 'kill');
    node = await startNode(place);
    const outcome = await through(node, operation);
    const seen = await settled(node, place);
    if (outcome.status === 'failed') assert.notEqual(outcome.trace, '', what);
    assert.deepEqual(seen, outcome.status === 'installed' ? known.after : known.before, `${what}: ${outcome.trace}`);
    const isGone = outcome.status === 'installed' && (operation === 'delete' || operation === 'clear');
    const again = await order(node.admin, { prefix: 'shop', operation });
    const wanted = isGone ? 'failed' : outcome.status === 'installed' ? 'identical' : 'installed';
    assert.equal(again.status, wanted, `${what}: again ${again.trace}`);
    assert.deepEqual(await settled(node, place), known.after, `${what}: again`);
    const last = await order(node.admin, { prefix: 'shop' });
    assert.ok(['installed', 'identical'].includes(last.status), `${what}: ${last.trace}`);
    return { operation, step, outcome: outcome.status };
  } finally {
    await end(node, 'kill');
    await rm(place.folder, { recursive: true, force: true });
  }
};

/** The order when it is through; `none` when it was never taken. */
const through = async ({ admin }: Node, operation: Operation): Promise<{ status: string; trace: string }> => {
  while (true) {
    const { body } = await admin.call('GET', LAYERS);
    const found = body.find((each: Record<string, unknown>) => each.kind === 'attempt' && each.operation === operation);
    if (found?.status !== 'registered') return found ?? { status: 'none', trace: '' };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

/** A folder without the layer, and one with it and a row of it. */
const prepare = async (scratch: string): Promise<{ without: Place; installed: Place }> => {
  const without = placeIn(join(scratch, 'without'));
  await mkdir(without.layers, { recursive: true });
  await put(without.layers, 'shop-1.tar.gz', await toTar(membersOf(FIRST, FILES)));
  await end(await startNode(without), 'stop');
  const installed = placeIn(join(scratch, 'installed'));
  await cp(without.folder, installed.folder, { recursive: true });
  const node = await startNode(installed);
  const { status, trace } = await order(node.admin, { prefix: 'shop' });
  assert.equal(status, 'installed', trace);
  assert.equal((await node.admin.call('POST', 'model/shop/Greetings', { body: { text: 'hi' } })).status, 200);
  await end(node, 'stop');
  return { without, installed };
};

/** Kills each operation at the steps chosen of all it has, some tries at a time; throws when one is not as it should be. */
export const runLayerKills = async (
  choose: (operation: Operation, steps: number) => readonly number[],
  atOnce: number,
  tell: (done: LayerKill) => void = () => undefined,
): Promise<LayerKill[]> => {
  const scratch = await mkdtemp(join(tmpdir(), 'parley-layer-kill-'));
  try {
    const { without, installed } = await prepare(scratch);
    const tries: (() => Promise<LayerKill>)[] = [];
    for (const operation of OPERATIONS) {
      const known = await rehearse(operation === 'install' ? without : installed, operation, scratch);
      for (const step of choose(operation, known.steps)) {
        tries.push(() => tryKill(known, operation, step, scratch));
      }
    }
    const done: LayerKill[] = [];
    const work = async (): Promise<void> => {
      for (let next = tries.shift(); next; next = tries.shift()) {
        const each = await next();
        tell(each);
        done.push(each);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return done;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};
