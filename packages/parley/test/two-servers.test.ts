/** Two servers of one site on one PostgreSQL: what becomes of a layer's service, and of a server that is ended, when one goes. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type PostgresServer, startPostgres } from '@parley/kit/testing/postgres-server.ts';
import { packLayer } from '@parley/platform/product-layer/pack.ts';
import { createLayerKey } from '@parley/platform/product-layer/signature.ts';
import { processesWith, treeOf } from '../../../tools/soak/process-tree.ts';
import { type Administrator, eventually, isAlive, type ParleyProcess, startParley } from './parley-process.ts';

const EXAMPLE = fileURLToPath(new URL('../../../examples/layer-hello', import.meta.url));
const NODES = 'master/nodes';
const LAYERS = 'domain/product_layer';
const LOOK_MS = 25;

type Item = { fullName: string; status: string; dtStart: string };
type Server = { readonly name: string; readonly folder: string; parley: ParleyProcess; admin: Administrator };

describe('two servers', () => {
  let postgres: PostgresServer;
  let place: string;
  let folder: string;
  /** Archives, and what is unpacked. */
  let layers: string;
  let publicKey: string;
  let home: Server;
  let other: Server;

  const launch = (name: string, dataDir: string): Promise<ParleyProcess> =>
    startParley(
      'platform',
      {
        'storage.url': place,
        'supervisor.server': name,
        'supervisor.supervised': 'true',
        'platform.product.dir': layers,
        'platform.product.vendor_keys': publicKey,
      },
      dataDir,
    );
  const start = async (name: string): Promise<Server> => {
    const dataDir = join(folder, name);
    const parley = await launch(name, dataDir);
    return { name, folder: dataDir, parley, admin: await parley.signIn() };
  };
  /** What starts the command again when it has ended, as systemd does. */
  const startAgain = async (server: Server): Promise<void> => {
    server.parley = await launch(server.name, server.folder);
    server.admin = await server.parley.signIn();
  };
  /** Processes of the service, whoever's. */
  const services = (): number[] => processesWith(layers, '/service/main.js');
  const runsAt = ({ parley }: Server): boolean => services().some((pid) => treeOf(parley.pid).includes(pid));
  const greeting = async ({ parley }: Server): Promise<string> => {
    const answer = await fetch(await parley.url('hello'));
    return ((await answer.json()) as { hello: string }).hello;
  };
  const statusAt = async ({ admin }: Server, fullName: string): Promise<string | undefined> => {
    const { body } = await admin.call('GET', `${NODES}?mask=*`);
    return Array.isArray(body) ? body.find((item: Item) => item.fullName === fullName)?.status : 'no answer';
  };
  const isSeen = (witness: Server, fullName: string, wanted: string | undefined) =>
    eventually(
      () => statusAt(witness, fullName),
      (status) => status === wanted,
      `${fullName} to be ${wanted}`,
    );
  /** Counts the processes of the service while something happens; answers the most there were at once. */
  const mostDuring = async (happening: Promise<unknown>): Promise<number> => {
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, services().length);
    }, LOOK_MS);
    await happening.finally(() => clearInterval(timer));
    return Math.max(most, services().length);
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-two-'));
    layers = await mkdtemp(join(folder, 'layers-'));
    const key = createLayerKey();
    publicKey = key.publicKey;
    await packLayer(EXAMPLE, key.privateKey, layers);
    postgres = await startPostgres();
    place = await postgres.createDatabase();
    home = await start('a');
    other = await start('b');
  });
  after(async () => {
    await Promise.all([home, other].map((server) => server?.parley[Symbol.asyncDispose]()));
    await postgres?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('run the service of a layer once', async () => {
    const { status, body } = await home.admin.call('POST', LAYERS, { prefix: 'hello' });
    assert.equal(status, 200, JSON.stringify(body));
    const running = eventually(services, (pids) => pids.length > 0, 'the service to run');
    assert.equal(await mostDuring(running), 1);
    // Either may have carried the order out.
    if (runsAt(other)) [home, other] = [other, home];
    await isSeen(other, `hello_1@${home.name}.default`, 'active');
    assert.equal(await greeting(home), 'master');
    await isSeen(other, `hello_1@${other.name}.default`, undefined);
  });

  it('take the service over when the whole server that ran it is killed, and go on answering', async () => {
    const reads: number[] = [];
    let isOver = false;
    const reading = (async () => {
      while (!isOver) reads.push((await other.admin.call('GET', 'iam/sessions/current')).status);
    })();
    for (const pid of treeOf(home.parley.pid)) process.kill(pid, 'SIGKILL');
    const most = await mostDuring(isSeen(other, `hello_1@${other.name}.default`, 'active'));
    isOver = true;
    await reading;
    assert.equal(most, 1);
    assert.ok(reads.length > 0 && reads.every((status) => status === 200));
    assert.equal(await greeting(other), 'master');
    await isSeen(other, `${home.name}@${home.name}.default`, 'inactive');
  });

  it('give it back when that server is there again, and never run it twice', async () => {
    await home.parley[Symbol.asyncDispose]();
    const back = (async () => {
      await startAgain(home);
      await isSeen(other, `hello_1@${home.name}.default`, 'active');
      await isSeen(home, `hello_1@${other.name}.default`, undefined);
    })();
    assert.equal(await mostDuring(back), 1);
    assert.deepEqual([runsAt(home), runsAt(other)], [true, false]);
  });

  it('end a whole server that the other is asked to end, which is then started again', async () => {
    const pids = treeOf(home.parley.pid);
    assert.ok(pids.length >= 3);
    const root = `${home.name}@${home.name}.default`;
    const { dtStart } = (await other.admin.call('GET', `${NODES}/${home.name}`)).body as Item;
    assert.equal((await other.admin.call('DELETE', `${NODES}/${encodeURIComponent(root)}`)).status, 204);
    assert.equal(await home.parley.ended, 0);
    assert.deepEqual(pids.filter(isAlive), []);
    await isSeen(other, root, undefined);
    await isSeen(other, `hello_1@${other.name}.default`, 'active');
    assert.equal((await other.admin.call('DELETE', `${NODES}/${home.name}`)).status, 404);
    await startAgain(home);
    const again = async () => (await other.admin.call('GET', `${NODES}/${home.name}`)).body as Item;
    const item = await eventually(again, ({ status }) => status === 'active', 'the server to be there again');
    assert.ok(item.dtStart > dtStart);
    await isSeen(other, `hello_1@${home.name}.default`, 'active');
    assert.equal(services().length, 1);
  });
});
