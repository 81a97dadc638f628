/** A server as a person runs it, both services under one supervisor: what happens to its nodes, and what the interface says of it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rolesOf, treeOf } from '../../../tools/soak/process-tree.ts';
import { type Administrator, eventually, isAlive, isWell, type ParleyProcess, startParley } from './parley-process.ts';

const NODES = 'master/nodes';

describe('the nodes of a server', () => {
  let parley: ParleyProcess;
  let admin: Administrator;
  before(async () => {
    parley = await startParley('start', { 'supervisor.server': 'main', 'supervisor.supervised': 'true' });
    admin = await parley.signIn();
    await parley.url('speech');
  });
  after(() => parley?.[Symbol.asyncDispose]());

  const node = async (name: string) => (await admin.call('GET', `${NODES}/${name}`)).body;
  const statusOf = async (name: string): Promise<string> => (await node(name)).status;
  const isAgain = (name: string, since: string) =>
    eventually(
      () => node(name),
      ({ status, dtStart }) => status === 'active' && dtStart > since,
      `${name} to serve again`,
    );
  const pidOf = (role: string): number => rolesOf(parley.pid).find((each) => each.role === role)!.pid;
  const speechAnswers = async (): Promise<boolean> => await isWell(await parley.url('speech'));

  it('are listed with what they are', async () => {
    const all = (await admin.call('GET', `${NODES}?order=name&mask=*`)).body;
    assert.deepEqual(
      all.map((each: Record<string, unknown>) => [
        each.fullName,
        each.type,
        each.isSystem,
        each.status,
        each.srvIdx,
        each.roles,
      ]),
      [
        ['main@main.default', 'supervisor', true, 'active', undefined, []],
        ['platform_1@main.default', 'role', false, 'active', 1, ['platform']],
        ['speech_1@main.default', 'role', false, 'active', 1, ['speech']],
      ],
    );
    assert.equal((await node('speech_1%40main.default')).name, 'speech_1');
  });

  it('are ended by DELETE and started again', async () => {
    const { dtStart } = await node('speech_1');
    assert.equal((await admin.call('DELETE', `${NODES}/speech_1`)).status, 204);
    assert.equal(await statusOf('speech_1'), 'inactive');
    await isAgain('speech_1', dtStart);
  });

  it('serve requests through the end of the one that answers it', async () => {
    const { dtStart } = await node('platform_1');
    assert.equal((await admin.call('DELETE', `${NODES}/platform_1`)).status, 204);
    // The connection waits in the socket that the supervisor holds.
    const { status, body } = await admin.call('GET', NODES);
    assert.deepEqual([status, body.length], [200, 3]);
    await isAgain('platform_1', dtStart);
  });

  it('are started again when they are killed or stand still', async () => {
    for (const [role, signal] of [
      ['speech', 'SIGKILL'],
      ['speech', 'SIGSTOP'],
      ['platform', 'SIGKILL'],
      ['platform', 'SIGSTOP'],
    ] as const) {
      const { dtStart } = await node(`${role}_1`);
      const pid = pidOf(role);
      process.kill(pid, signal);
      if (role === 'speech')
        await eventually(
          () => statusOf('speech_1'),
          (status) => status === 'inactive',
          signal,
        );
      await isAgain(`${role}_1`, dtStart);
      assert.equal(isAlive(pid), false);
    }
    await eventually(speechAnswers, (isThere) => isThere, 'speech to answer');
  });

  it('keep their log level over a restart', async () => {
    const set = await admin.call('PATCH', `${NODES}/speech_1`, { maxLogLevel: 0, persist: true });
    assert.deepEqual([set.status, set.body.maxLogLevel], [200, 'none']);
    await admin.call('PATCH', `${NODES}/platform_1`, { maxLogLevel: 'crash' });
    await admin.call('PATCH', `${NODES}/main`, { maxLogLevel: 'highest' });
    await admin.call('PATCH', `${NODES}/main`, { maxLogLevel: 'none' });
    const { dtStart } = await node('platform_1');
    await admin.call('DELETE', `${NODES}/platform_1`);
    await isAgain('platform_1', dtStart);
    const levels = (await admin.call('GET', `${NODES}?order=name&mask=maxLogLevel`)).body;
    assert.deepEqual(levels, [{ maxLogLevel: 'none' }, { maxLogLevel: 'crash' }, { maxLogLevel: 'none' }]);
  });

  it('go on with what served when a configuration cannot', async () => {
    const before_ = { platform: pidOf('platform'), since: (await node('speech_1')).dtStart };
    const content = {
      sites: [{ name: 'here' }],
      servers: [{ name: 'main', site: 'here' }],
      roles: [
        { name: 'platform', kind: 'platform' },
        { name: 'speech', kind: 'speech', options: { audio: { max_duration: 'no duration' } } },
        { name: 'shop', kind: 'layer' },
      ],
      structure: [
        { server: 'main', role: 'platform', index: 1 },
        { server: 'main', role: 'speech', index: 1 },
        { server: 'main', role: 'shop', index: 3 },
      ],
    };
    const made = await admin.call('POST', 'master/configurations', { name: 'bad', content });
    assert.equal(made.body.state, 'valid');
    const speech = await isAgain('speech_1', before_.since);
    assert.match(speech.reason, /cannot use these settings; it runs with its earlier options/);
    assert.equal(speech.site, 'here');
    assert.deepEqual(await eventually(speechAnswers, (isThere) => isThere, 'speech to answer'), true);
    const shop = await node('shop_3');
    assert.deepEqual([shop.status, shop.dtStart, shop.upTimeSec], ['inactive', null, 0]);
    assert.equal((await admin.call('DELETE', `${NODES}/shop_3`)).status, 404);
    const invalid = await admin.call('PATCH', `master/configurations/${made.body.id}`, {
      content: { structure: [], sites: 'none' },
    });
    assert.equal(invalid.body.state, 'initial');
    assert.equal(pidOf('platform'), before_.platform, 'what did not change goes on');
    const good = {
      ...content,
      roles: [content.roles[0], { name: 'speech', kind: 'speech', options: {} }],
      structure: content.structure.slice(0, 2),
    };
    const mended = await admin.call('PATCH', `master/configurations/${made.body.id}`, { content: good });
    assert.equal(mended.body.state, 'valid', JSON.stringify(mended.body.ext));
    await eventually(
      async () => (await admin.call('GET', NODES)).body.length,
      (count) => count === 3,
      'shop to go',
    );
    await eventually(
      () => node('speech_1'),
      ({ reason }) => reason === undefined,
      'the reason to go',
    );
    assert.equal(pidOf('platform'), before_.platform);
  });

  it('may be renamed, one after the other where they share a file', async () => {
    const { body } = await admin.call('GET', 'master/configurations?filter={"name":"bad"}&mask=id,content');
    const rename = (each: Record<string, unknown>) => ({ ...each, ...(each.role === 'platform' ? { index: 7 } : {}) });
    const content = { structure: body[0].content.structure.map(rename) };
    assert.equal((await admin.call('PATCH', `master/configurations/${body[0].id}`, { content })).body.state, 'valid');
    const names = async () => (await admin.call('GET', `${NODES}?mask=name,status&order=name`)).body;
    const wanted = ['main', 'platform_7', 'speech_1'].map((name) => ({ name, status: 'active' }));
    await eventually(names, (seen) => JSON.stringify(seen) === JSON.stringify(wanted), 'the new name');
  });

  it('end with their root node, which the interface may end where something starts it again', async () => {
    const pids = treeOf(parley.pid);
    assert.ok(pids.length >= 3);
    assert.equal((await admin.call('DELETE', `${NODES}/main`)).status, 204);
    assert.equal(await parley.ended, 0);
    await eventually(
      () => pids.filter(isAlive),
      (left) => left.length === 0,
      'every process to end',
    );
  });
});
