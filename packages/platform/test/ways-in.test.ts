/** What the page of sign-in and the console ask beforehand: the ways into a domain, and what a session may do. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chain, createScripts } from './run-script.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

describe('ways in, and what a session may do', () => {
  let platform: TestPlatform;
  let admin: Client;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
  });
  after(() => platform?.[Symbol.asyncDispose]());

  const waysInto = async (domain: string) => (await platform.guest.call('GET', `iam/ways_in?domain=${domain}`)).body;

  it('names no way where there is none, and begins nothing to find out', async () => {
    assert.deepEqual(await waysInto(''), { external: false, providers: [] });
    assert.deepEqual(await waysInto('no.such.domain'), { external: false, providers: [] });
  });

  it('names the scenario of the domain, else of the master, and providers that are switched on here', async () => {
    assert.equal((await admin.call('POST', 'master/domains', { body: { name: 'north' } })).status, 200);
    await createScripts(admin).save(chain({ oType: 151, message: 'No.' }), { code: 'enter' });
    const body = { value: { value: 'enter' } };
    assert.equal((await admin.call('PATCH', 'domain/settings/iam_external_svcscript_code', { body })).status, 200);
    const providers = [
      { code: 'b', name: 'Beta', client_secret: 'secret-1' },
      { code: 'a' },
      { code: 'off', enabled: false },
      { code: 'far', site: 'elsewhere' },
    ];
    for (const each of providers) {
      assert.equal((await admin.call('POST', 'model/oauth/Providers', { body: each })).status, 200);
    }
    for (const domain of ['', 'master', 'north']) {
      assert.deepEqual(await waysInto(domain), {
        external: true,
        providers: [
          { code: 'a', name: 'a' },
          { code: 'b', name: 'Beta' },
        ],
      });
    }
  });

  it('tells the routes of the roles of a session, those of parents included, where the session is', async () => {
    const routesOf = async (client: Client) => (await client.call('GET', 'iam/sessions/current/routes')).body;
    assert.deepEqual(await routesOf(admin), [{ methods: ['*'], url: '*' }]);
    const parent = { methods: ['GET'], url: '/rest/v1/iam/users*' };
    const own = { methods: ['*'], url: '/rest/v1/addressbook/*' };
    const made = await admin.call('POST', 'domain/roles', { body: { name: 'parent', routes: [parent] } });
    const body = { name: 'child', parent_id: made.body.id, routes: [own] };
    assert.equal((await admin.call('POST', 'domain/roles', { body })).status, 200);
    const user = { login: 'kim', pwd: 'Kim-Password-1', opts: { roles: ['child'] } };
    assert.equal((await admin.call('POST', 'iam/users', { body: user })).status, 200);
    assert.deepEqual(await routesOf(await platform.signIn('kim', 'Kim-Password-1', 'master')), [own, parent]);
    assert.equal((await platform.guest.call('GET', 'iam/sessions/current/routes')).status, 401);
  });
});
