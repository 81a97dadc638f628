/** `master/nodes` of a platform that runs alone: one process, no supervisor. The whole of it is tested with the parley command. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const PATH = 'master/nodes';

describe('nodes of a platform without a supervisor', () => {
  let platform: TestPlatform;
  let admin: Client;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
  });
  after(() => platform?.[Symbol.asyncDispose]());

  it('are the process itself and its root', async () => {
    const { status, body } = await admin.call('GET', PATH);
    assert.equal(status, 200);
    assert.deepEqual(body.map(({ type, isSystem, status: state }: never) => [type, isSystem, state]).sort(), [
      ['role', false, 'active'],
      ['supervisor', true, 'active'],
    ]);
    const node = body.find(({ type }: { type: string }) => type === 'role');
    assert.deepEqual(Object.keys(node).sort(), [
      ...['dtStart', 'fullName', 'ipAddress', 'isSystem', 'maxLogLevel', 'name', 'roles', 'server', 'site'],
      ...['status', 'type', 'upTimeSec'],
    ]);
    assert.match(node.dtStart, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const one = await admin.call('GET', `${PATH}/platform_1`);
    assert.deepEqual([one.body.srvIdx, one.body.roles], [1, ['platform']]);
    assert.deepEqual((await admin.call('GET', `${PATH}/${encodeURIComponent(node.fullName)}`)).body.name, 'platform_1');
  });

  it('take the parameters of lists', async () => {
    const get = async (query: string) => (await admin.call('GET', `${PATH}?${query}`)).body;
    assert.deepEqual(await get('countonly=true'), { count: 2 });
    assert.deepEqual(await get('limit=0&filter={"isSystem":"TRUE"}'), { count: 1 });
    assert.deepEqual(await get('filter={"roles":["platform"]}&mask=name,srvIdx'), [{ name: 'platform_1', srvIdx: 1 }]);
    assert.deepEqual(await get('order=[{"type":"desc"}]&mask=type&limit=1'), [{ type: 'supervisor' }]);
    assert.deepEqual(await get('filter={"upTimeSec":"0~100000"}&order=type&offset=1&mask=type'), [
      { type: 'supervisor' },
    ]);
    assert.equal((await admin.call('GET', `${PATH}?filter={"pid":1}`)).status, 400);
    assert.equal((await admin.call('GET', `${PATH}?order=nothing`)).status, 400);
  });

  it('have a log level that can be set by name and by number', async () => {
    const set = async (body: unknown) => {
      const answer = await admin.call('PATCH', `${PATH}/platform_1`, { body });
      return answer.status === 200 ? answer.body.maxLogLevel : `${answer.status} ${answer.body.error_details?.field}`;
    };
    assert.equal(await set({ maxLogLevel: 2 }), 'error');
    assert.equal(await set({ maxLogLevel: 99 }), 'highest');
    assert.equal(await set({ maxLogLevel: 'debug' }), 'debug');
    assert.equal(await set({}), 'debug');
    assert.equal(await set({ maxLogLevel: 'loud' }), '422 maxLogLevel');
    assert.equal(await set({ maxLogLevel: ['info'] }), '400 maxLogLevel');
    assert.equal(await set({ maxLogLevel: 'info', name: 'other' }), '422 name');
    assert.equal(await set({ maxLogLevel: 'info', persist: 'yes' }), '400 persist');
    const whole = (await admin.call('GET', `${PATH}/platform_1`)).body;
    assert.equal(await set({ ...whole, upTimeSec: 0, maxLogLevel: 'none' }), 'none');
    const posted = await admin.call('POST', `${PATH}/platform_1!patch`, { body: { maxLogLevel: '3' } });
    assert.equal(posted.body.maxLogLevel, 'warning');
  });

  it('cannot be ended where nothing would start them again', async () => {
    const ended = await admin.call('DELETE', `${PATH}/platform_1`);
    assert.deepEqual([ended.status, ended.body.error_code], [422, 1405]);
    assert.equal((await admin.call('DELETE', `${PATH}/platform_9`)).status, 404);
    assert.equal((await admin.call('GET', `${PATH}/platform_9`)).status, 404);
    assert.equal((await admin.call('PATCH', `${PATH}/platform_9`, { body: {} })).status, 404);
  });

  it('are the master’s to know, and a role’s', async () => {
    assert.equal((await platform.guest.call('GET', PATH)).status, 401);
    await admin.call('POST', 'iam/users', { body: { login: 'plain', pwd: 'Some-Pass-1' } });
    const plain = await platform.signIn('plain', 'Some-Pass-1', 'master');
    assert.equal((await plain.call('GET', PATH)).status, 403);
    await admin.call('POST', 'master/domains', { body: { name: 'work' } });
    const moved = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
    await moved.call('PATCH', 'iam/sessions/current', { body: { domain: 'work' } });
    const refused = await moved.call('GET', PATH);
    assert.deepEqual([refused.status, refused.body.error_details], [403, { domain_type: 'master' }]);
  });
});
