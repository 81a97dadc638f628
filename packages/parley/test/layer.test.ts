/** The example layer from the maker's command line into a running server: its service is a node, and ends with it. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processesWith, rolesOf } from '../../../tools/soak/process-tree.ts';
import type { CommandContext } from '../src/command.ts';
import { layerCommand } from '../src/commands/layer.ts';
import { type Administrator, eventually, type ParleyProcess, startParley } from './parley-process.ts';

const EXAMPLE = fileURLToPath(new URL('../../../examples/layer-hello', import.meta.url));
const LAYERS = 'domain/product_layer';

const run = async (...args: string[]): Promise<string> => {
  let said = '';
  const out = {
    write: (text: string) => {
      said += text;
    },
  };
  await layerCommand.run(args, { line: {}, out, signal: new AbortController().signal } as unknown as CommandContext);
  return said.trim();
};

describe('the example layer', () => {
  let folder: string;
  let parley: ParleyProcess;
  let admin: Administrator;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-layer-'));
    const publicKey = await run('keys', join(folder, 'key.json'));
    await run('pack', EXAMPLE, '--key', join(folder, 'key.json'), '--out', folder);
    parley = await startParley('platform', {
      'platform.product.dir': folder,
      'platform.product.vendor_keys': publicKey,
      'supervisor.server': 'main',
    });
    admin = await parley.signIn();
  });
  after(async () => {
    await parley?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const nodes = async (): Promise<{ name: string; status: string }[]> =>
    (await admin.call('GET', 'master/nodes?mask=name,status,roles')).body;
  const attempt = async (operation: string): Promise<{ status: string; trace: string }> => {
    const { body } = await admin.call('POST', LAYERS, { prefix: 'hello', operation });
    return eventually(
      async () =>
        (await admin.call('GET', LAYERS)).body.find(
          (each: { kind: string; order: number }) => each.kind === 'attempt' && each.order === body.order,
        ),
      (each) => each !== undefined && each.status !== 'registered',
      `${operation} to be through`,
    );
  };

  it('is packed, installed, runs as a node without our secrets, and is gone after delete', async () => {
    const { status, trace } = await attempt('install');
    assert.equal(status, 'installed', trace);
    await eventually(
      nodes,
      (all) => all.some((node) => node.name === 'hello_1' && node.status === 'active'),
      'its service to serve',
    );
    const url = await parley.url('hello');
    const said = (await (await fetch(url)).json()) as object;
    assert.deepEqual(said, { hello: 'master', layer: 'hello', version: '1.0.0' });
    const { dtStart } = (await admin.call('GET', 'master/nodes/hello_1')).body;
    assert.equal((await admin.call('DELETE', 'master/nodes/hello_1')).status, 204);
    await eventually(
      async () => (await admin.call('GET', 'master/nodes/hello_1')).body,
      (node) => node.status === 'active' && node.dtStart > dtStart,
      'its service to serve again',
    );
    for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
      const [pid] = processesWith(folder, '/service/main.js');
      process.kill(pid!, signal);
      const told = async () => (await admin.call('GET', 'master/nodes/hello_1')).body.status;
      await eventually(told, (status) => status === 'inactive', `${signal} to be told`);
      await eventually(told, (status) => status === 'active', `its service to serve after ${signal}`);
      assert.notEqual(processesWith(folder, '/service/main.js')[0], pid);
    }
    assert.equal((await attempt('delete')).status, 'installed');
    await eventually(nodes, (all) => all.every(({ name }) => name !== 'hello_1'), 'its service to go');
    await assert.rejects(fetch(url));
    assert.deepEqual(processesWith(folder, '/service/main.js'), []);
  });

  it('goes on being installed when the process that does it is killed', async () => {
    const { body } = await admin.call('POST', LAYERS, { prefix: 'hello' });
    const platform = rolesOf(parley.pid).find(({ role, pid }) => role === 'platform' && pid !== parley.pid);
    process.kill(platform!.pid, 'SIGKILL');
    // Nobody listens until it is started again.
    const asked = async (path: string) => (await admin.call('GET', path).catch(() => undefined))?.body ?? [];
    const through = await eventually(
      async () =>
        (await asked(LAYERS)).find(
          (each: { kind: string; order: number }) => each.kind === 'attempt' && each.order === body.order,
        ),
      (each) => each !== undefined && each.status !== 'registered',
      'the order to be through',
    );
    assert.equal(through.status, 'installed', through.trace);
    assert.equal((await asked('domain/roles?filter={"name":"hello_reader|hello_writer"}')).length, 2);
  });

  it('is not packed without a key, twice, or from a folder that is none', async () => {
    await assert.rejects(run('pack', EXAMPLE), /needs --key/);
    await assert.rejects(run('pack', EXAMPLE, '--key', join(folder, 'key.json'), '--out', folder), /EEXIST/);
    await assert.rejects(run('pack', join(folder, 'none'), '--key', join(folder, 'key.json')), /ENOENT/);
    await assert.rejects(run('keys', join(folder, 'key.json')), /EEXIST/);
    await assert.rejects(run('burn'), /wants one of/);
  });
});
