/** The small install: every node a unit of one process, the same interface. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rolesOf } from '../../../tools/soak/process-tree.ts';
import { eventually, isWell, startParley } from './parley-process.ts';

const NODES = 'master/nodes';

describe('nodes in one process', () => {
  it('are told of, set and ended like processes, and end with it', async () => {
    await using parley = await startParley('start', {
      'supervisor.one_process': 'true',
      'supervisor.server': 'small',
      'supervisor.supervised': 'true',
    });
    const admin = await parley.signIn();
    const speechUrl = await parley.url('speech');
    const services = rolesOf(parley.pid).filter(({ role }) => ['platform', 'speech'].includes(role));
    assert.deepEqual(services, [], 'no service has a process of its own');
    const node = async (name: string) => (await admin.call('GET', `${NODES}/${name}`)).body;
    const isAgain = (name: string, since: string) =>
      eventually(
        () => node(name),
        ({ status, dtStart }) => status === 'active' && dtStart > since,
        `${name} to serve again`,
      );
    assert.deepEqual(
      (await admin.call('GET', `${NODES}?order=name&mask=name,status`)).body,
      ['platform_1', 'small', 'speech_1'].map((name) => ({ name, status: 'active' })),
    );
    const platform = await node('platform_1');
    assert.equal((await admin.call('DELETE', `${NODES}/platform_1`)).status, 204);
    assert.equal((await admin.call('GET', NODES)).status, 200, 'the connection waits at the front');
    await isAgain('platform_1', platform.dtStart);
    const speech = await node('speech_1');
    assert.equal((await admin.call('DELETE', `${NODES}/speech_1`)).status, 204);
    await isAgain('speech_1', speech.dtStart);
    assert.equal(await isWell(speechUrl), true);
    const set = await admin.call('PATCH', `${NODES}/speech_1`, { maxLogLevel: 'error' });
    assert.equal(set.body.maxLogLevel, 'error');
    const bad = {
      roles: [
        { name: 'platform', kind: 'platform' },
        { name: 'speech', kind: 'speech', options: { 'audio.max_duration': 'long' } },
      ],
      sites: [{ name: 's' }],
      servers: [{ name: 'small', site: 's' }],
      structure: [
        { server: 'small', role: 'platform', index: 1 },
        { server: 'small', role: 'speech', index: 1 },
      ],
    };
    assert.equal(
      (await admin.call('POST', 'master/configurations', { name: 'bad', content: bad })).body.state,
      'valid',
    );
    await eventually(
      () => node('speech_1'),
      ({ reason, status }) => status === 'active' && reason,
      'the earlier options',
    );
    assert.equal((await admin.call('DELETE', `${NODES}/small`)).status, 204);
    assert.equal(await parley.ended, 0);
  });
});
