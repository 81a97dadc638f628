/** Which domain a sign-in means that names none: what the host stands for, else the only working one, else the master. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN_PASSWORD, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const PWD = 'Right-pass-1';

describe('a sign-in without a domain', () => {
  let platform: TestPlatform;
  before(async () => {
    platform = await startTestPlatform();
  });
  after(() => platform[Symbol.asyncDispose]());

  /** An account that exists in this domain alone. */
  const createDomain = async (name: string): Promise<void> => {
    const admin = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
    assert.equal((await admin.call('POST', 'master/domains', { body: { name } })).status, 200);
    await admin.call('PATCH', 'iam/sessions/current', { body: { domain: name } });
    assert.equal((await admin.call('POST', 'iam/users', { body: { login: `of-${name}`, pwd: PWD } })).status, 200);
  };
  const statusOf = async (login: string, pwd: string, host?: string): Promise<number> => {
    const headers = host === undefined ? {} : { 'x-forwarded-host': host };
    const body = { login, pwd, session_type: 'token' };
    return (await platform.guest.call('POST', 'iam/sessions', { body, headers, address: `10.9.0.${login.length}` }))
      .status;
  };

  it('means the master while there is no other', async () => {
    assert.equal(await statusOf('admin', ADMIN_PASSWORD), 200);
  });

  it('means the only working domain', async () => {
    await createDomain('one');
    assert.deepEqual([await statusOf('of-one', PWD), await statusOf('admin', ADMIN_PASSWORD)], [200, 401]);
  });

  it('means the master among several, but for a host that has an alias', async () => {
    await createDomain('other');
    assert.deepEqual([await statusOf('of-one', PWD), await statusOf('admin', ADMIN_PASSWORD)], [401, 200]);
    const admin = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
    const list = await admin.call('GET', 'master/configurations');
    const path = `master/configurations/${list.body[0].id}`;
    const { body } = await admin.call('GET', path);
    const content = {
      ...body.content,
      domains: [{ name: 'one' }, { name: 'other' }],
      aliases: { 'one.example': 'one' },
    };
    const changed = await admin.call('PATCH', path, { body: { content } });
    assert.deepEqual([changed.status, changed.body?.state], [200, 'valid'], changed.text);
    assert.equal(await statusOf('of-one', PWD, 'ONE.example:8080'), 200);
    assert.equal(await statusOf('of-one', PWD, 'two.example'), 401);
    await admin.call('POST', 'master/configurations', { body: { name: 'older' } });
    await admin.call('PATCH', path, { body: { opts: { title: 'active again' } } });
    const broken = await admin.call('PATCH', path, { body: { content: { sites: 'none' } } });
    assert.deepEqual([broken.status, broken.body?.state], [200, 'initial'], broken.text);
    assert.equal(await statusOf('of-one', PWD, 'one.example'), 200, 'an invalid edit changes nothing that runs');
  });
});
