/** Nodes of a kind that something installed brings, beside a real platform node: what the interface says of each way to fail. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from '@parley/kit/command-line.ts';
import { createSilentLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { within } from '@parley/kit/testing/wait.ts';
import type { PlannedNode } from '@parley/platform/nodes/plan.ts';
import { SUPERVISOR_SETTINGS } from '../src/settings.ts';
import { SERVICE_MAKERS, type SpecMaker } from '../src/supervisor/kinds.ts';
import { type RunningServer, startServer } from '../src/supervisor/server.ts';
import { type Administrator, eventually, PASSWORD, signInAt } from './parley-process.ts';

const MODULE = fileURLToPath(new URL('fixtures/node.ts', import.meta.url));
const NODES = 'master/nodes';

/** The fixture does what the option `mode` says. */
const makeLayer: SpecMaker = async ({ name, role, kind, index, options }) => ({
  name,
  role,
  kind,
  index,
  module: MODULE,
  args: [name, String(options.mode ?? 'serve')],
  memoryLimitBytes: 256 * 2 ** 20,
});

const planned = (role: string): PlannedNode => ({ name: `${role}_1`, role, kind: 'layer', index: 1, options: {} });

describe('nodes of installed layers', () => {
  let folder: string;
  let server: RunningServer;
  let admin: Administrator;
  const installed: PlannedNode[] = [planned('shop')];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-layers-'));
    const flags = {
      data_dir: folder,
      'platform.port': '0',
      'platform.log.level': 'silent',
      admin_password: PASSWORD,
      'supervisor.server': 'main',
      'supervisor.heartbeat': '1s',
    };
    const line = readCommandLine(Object.entries(flags).map(([key, value]) => `--set=${key}=${value}`));
    const ready = Promise.withResolvers<string>();
    server = await startServer({
      settings: readSettings(SUPERVISOR_SETTINGS, { section: 'supervisor', ...line }).values,
      line,
      log: createSilentLog(),
      kinds: ['platform'],
      makers: { ...SERVICE_MAKERS, layer: makeLayer },
      installed: () => installed,
      onReady: ({ kind, url }) => {
        if (kind === 'platform') ready.resolve(url!);
      },
    });
    admin = await signInAt(await within(ready.promise, 'the platform to serve', 60_000));
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const node = async (name: string) => (await admin.call('GET', `${NODES}/${name}`)).body;
  const isSeen = (name: string, isWanted: (item: Awaited<ReturnType<typeof node>>) => boolean, what: string) =>
    eventually(() => node(name), isWanted, `${name} to ${what}`);
  const configure = async (roles: Record<string, string>): Promise<void> => {
    const layers = Object.keys(roles);
    const content = {
      sites: [{ name: 's' }],
      servers: [{ name: 'main', site: 's' }],
      roles: [
        { name: 'platform', kind: 'platform' },
        ...layers.map((name) => ({ name, kind: 'layer', options: { mode: roles[name] } })),
      ],
      structure: ['platform', ...layers].map((role) => ({ server: 'main', role, index: 1 })),
    };
    const made = await admin.call('POST', 'master/configurations', { name: `c-${Math.random()}`, content });
    assert.equal(made.body.state, 'valid', JSON.stringify(made.body.ext));
  };

  it('run without being named, and are ended by DELETE and started again', async () => {
    const { dtStart } = await isSeen('shop_1', ({ status }) => status === 'active', 'serve');
    assert.equal((await admin.call('DELETE', `${NODES}/shop_1`)).status, 204);
    await isSeen('shop_1', (item) => item.status === 'active' && item.dtStart > dtStart, 'serve again');
  });

  it('run with what a configuration says once it names their role', async () => {
    await configure({ shop: 'serve', leaky: 'leak', broken: 'early', mad: 'config', still: 'hang' });
    const first = await node('leaky_1');
    await isSeen(
      'leaky_1',
      ({ dtStart, status }) => status === 'active' && dtStart > (first.dtStart ?? ''),
      'be recycled',
    );
    await isSeen('broken_1', ({ reason }) => reason === 'ended with code 3 before it served', 'say why');
    await isSeen('mad_1', ({ reason }) => reason === 'ended with code 78 before it served', 'say why');
    const { dtStart } = await isSeen('still_1', (item) => item.dtStart !== null, 'start');
    await isSeen('still_1', (item) => item.status === 'inactive', 'be told as standing still');
    await isSeen('still_1', (item) => item.dtStart > dtStart, 'be started again');
    for (const name of ['broken_1', 'mad_1']) {
      const { status, upTimeSec } = await node(name);
      assert.deepEqual([status, upTimeSec], ['inactive', 0]);
    }
    for (const name of ['shop_1', 'platform_1']) assert.equal((await node(name)).status, 'active', name);
  });

  it('go when they are no longer named', async () => {
    await configure({ other: 'serve' });
    const names = async (): Promise<string> =>
      (await admin.call('GET', `${NODES}?mask=name&order=name`)).body.map(({ name }: { name: string }) => name).join();
    await eventually(names, (seen) => seen === 'main,other_1,platform_1,shop_1', 'the others to go');
  });
});
