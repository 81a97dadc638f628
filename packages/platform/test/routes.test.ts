/** Rights by routes through the whole service: default is no, the effective method counts, one path has one form. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const PWD = 'Right-pass-1';

describe('routes', () => {
  let platform: TestPlatform;
  let admin: Client;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
  });
  after(() => platform[Symbol.asyncDispose]());

  let made = 0;
  type Rule = { methods: string[]; url: string };
  const createRole = async (routes: Rule[], more: object = {}): Promise<{ id: string; name: string }> => {
    made += 1;
    const { status, body, text } = await admin.call('POST', 'domain/roles', {
      body: { name: `role-${made}`, routes, ...more },
    });
    assert.equal(status, 200, text);
    return body;
  };
  const createUser = async (...roles: string[]): Promise<{ id: string; login: string; client: Client }> => {
    made += 1;
    const login = `user-${made}`;
    const { status, body, text } = await admin.call('POST', 'iam/users', {
      body: { login, pwd: PWD, opts: { roles } },
    });
    assert.equal(status, 200, text);
    return { id: body.id, login, client: await platform.signIn(login, PWD) };
  };
  const holderOf = async (...routes: Rule[]): Promise<Client> =>
    (await createUser((await createRole(routes)).name)).client;
  const statusOf = async (client: Client, method: string, path: string, body?: unknown): Promise<number> =>
    (await client.call(method, path, body === undefined ? {} : { body })).status;

  it('are needed for everything but the own account', async () => {
    const { client, id } = await createUser();
    for (const [method, path] of [
      ['GET', 'iam/users'],
      ['GET', `iam/users/${id}`],
      ['PATCH', `iam/users/${id}`],
      ['DELETE', 'iam/users/current'],
      ['PUT', 'iam/users/current'],
      ['POST', 'iam/users'],
      ['GET', 'domain/roles'],
      ['GET', 'nothing/here'],
    ] as const) {
      assert.equal(await statusOf(client, method, path), 403, `${method} ${path}`);
      assert.equal(await statusOf(platform.guest, method, path), 401, `${method} ${path}`);
    }
    for (const path of ['iam/users/current', 'iam/sessions/current', 'user/info', 'user/ext', 'iam/sessions']) {
      assert.equal(await statusOf(client, 'GET', path), 200, path);
      assert.equal(await statusOf(client, 'HEAD', path), 200, path);
      assert.equal(await statusOf(platform.guest, 'GET', path), 401, path);
    }
    assert.equal(await statusOf(client, 'GET', 'service/integration_tokens/x'), 404);
  });

  it('say what exists only to who may ask', async () => {
    assert.equal(await statusOf(admin, 'GET', 'nothing/here'), 404);
    assert.equal(await statusOf(admin, 'GET', `iam/users/${'0'.repeat(8)}-0000-0000-0000-000000000001`), 404);
    const answer = await admin.call('PUT', 'iam/users');
    assert.deepEqual([answer.status, answer.body.error_code], [405, 1401]);
    assert.deepEqual(answer.headers.get('allow')?.split(', ').sort(), ['GET', 'HEAD', 'LOOKUP', 'POST']);
    for (const method of ['QUERY', 'SEARCH']) assert.equal(await statusOf(admin, method, 'iam/users', '"admin"'), 405);
  });

  it('go by the effective method: POST gives no DELETE, and DELETE needs no POST', async () => {
    const victim = await createUser();
    const poster = await holderOf({ methods: ['POST'], url: '/iam/users*' });
    const path = `iam/users/${victim.id}`;
    for (const suffix of ['!delete', '!patch', '!put', '!head']) {
      assert.equal(await statusOf(poster, 'POST', `${path}${suffix}`, {}), 403, suffix);
    }
    assert.equal(await statusOf(poster, 'POST', 'iam/users!lookup', victim.login), 403);
    const deleter = await holderOf({ methods: ['DELETE'], url: '/iam/users/*' });
    assert.equal(await statusOf(deleter, 'POST', `${path}!delete`), 204);
    assert.equal(await statusOf(admin, 'GET', path), 404);
  });

  it('keep LOOKUP apart from GET, and HEAD with it', async () => {
    const getter = await holderOf({ methods: ['GET'], url: '/iam/users*' });
    const looker = await holderOf({ methods: ['LOOKUP'], url: '/iam/users' });
    for (const [method, path] of [
      ['LOOKUP', 'iam/users'],
      ['POST', 'iam/users!lookup'],
    ] as const) {
      assert.equal(await statusOf(getter, method, path, 'admin'), 403);
      assert.equal(await statusOf(looker, method, path, 'admin'), 200);
    }
    assert.equal(await statusOf(getter, 'HEAD', 'iam/users'), 200);
    assert.equal(await statusOf(looker, 'GET', 'iam/users'), 403);
  });

  it('come from parents too, and from groups', async () => {
    const base = await createRole([{ methods: ['GET'], url: '/iam/users' }]);
    const middle = await createRole([], { parent_id: base.id });
    const child = await createRole([{ methods: ['GET'], url: '/domain/projects' }], { parent_id: middle.id });
    const { client, id } = await createUser(child.name);
    assert.equal(await statusOf(client, 'GET', 'iam/users'), 200);
    assert.equal(await statusOf(client, 'GET', 'domain/projects'), 200);
    assert.equal(await statusOf(client, 'GET', 'domain/roles'), 403);
    const readers = await createRole([{ methods: ['GET'], url: '/domain/roles' }]);
    const group = { code: 'readers', opts: { users: [id], roles: [readers.name] } };
    assert.equal(await statusOf(admin, 'POST', 'iam/groups', group), 200);
    assert.equal(await statusOf(client, 'GET', 'domain/roles'), 200);
  });

  it('change with the next request', async () => {
    const role = await createRole([]);
    const { client, id } = await createUser(role.name);
    assert.equal(await statusOf(client, 'GET', 'domain/projects'), 403);
    const routes = [{ methods: ['get'], url: 'domain/projects' }];
    assert.equal(await statusOf(admin, 'PATCH', `domain/roles/${role.id}`, { routes }), 200);
    assert.equal(await statusOf(client, 'GET', 'domain/projects'), 200);
    assert.equal(await statusOf(admin, 'PATCH', `iam/users/${id}`, { opts: { roles: [] } }), 200);
    assert.equal(await statusOf(client, 'GET', 'domain/projects'), 403);
  });

  it('give nobody more than who gives them has', async () => {
    const manager = await createUser(
      (
        await createRole([
          { methods: ['*'], url: '/iam/*' },
          { methods: ['*'], url: '/domain/roles*' },
        ])
      ).name,
    );
    const { client } = manager;
    const small = await createRole([{ methods: ['GET'], url: '/iam/users/*' }]);
    const large = await createRole([{ methods: ['GET'], url: '/domain/storages' }]);
    const victim = await createUser(large.name);
    for (const [method, path, body] of [
      ['PATCH', `iam/users/${manager.id}`, { opts: { roles: ['admin'] } }],
      ['PATCH', 'iam/users/current', { opts: { roles: ['admin'] } }],
      ['PATCH', 'iam/users/current', { 'opts.roles': ['admin'] }],
      ['POST', 'iam/users', { login: 'mallory', pwd: PWD, opts: { roles: ['admin'] } }],
      ['POST', 'iam/groups', { code: 'g', opts: { users: [manager.id], roles: [large.name] } }],
      ['POST', 'domain/roles', { name: 'mine', routes: [{ methods: ['*'], url: '*' }] }],
      ['POST', 'domain/roles', { name: 'mine', routes: [], parent_id: large.id }],
      ['PATCH', `domain/roles/${small.id}`, { routes: [{ methods: ['GET'], url: '/domain/*' }] }],
      ['PATCH', `iam/users/${victim.id}`, { pwd: 'Taken-over-1' }],
      ['PATCH', `iam/users/${victim.id}`, { login: 'taken' }],
      ['PATCH', `iam/users/${victim.id}`, { ext: { email: 'me@evil.example' } }],
      ['DELETE', `iam/users/${victim.id}`, undefined],
    ] as const) {
      assert.equal(await statusOf(client, method, path, body), 403, `${method} ${path} ${JSON.stringify(body)}`);
    }
    assert.equal(await statusOf(client, 'POST', 'iam/users', { login: 'bob', opts: { roles: [small.name] } }), 200);
    const routes = [{ methods: ['GET', 'PATCH'], url: '/rest/v1/iam/users/*' }];
    assert.equal(await statusOf(client, 'POST', 'domain/roles', { name: 'mine', routes }), 200);
  });

  it('see one form of a path; every other spelling is refused', async () => {
    const getter = await holderOf({ methods: ['GET'], url: '/iam/users/*' }, { methods: ['GET'], url: '/iam/users' });
    const { hostname, port } = new URL(platform.url);
    /** The status of a request whose target is sent as it is. */
    const raw = async (client: Client, target: string): Promise<number> => {
      const socket = net.connect(Number(port), hostname);
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: ${client.headers.authorization}\r\n\r\n`,
      );
      let got = '';
      socket.on('data', (data) => {
        got += data.toString();
      });
      await once(socket, 'close');
      return Number(got.slice(9, 12));
    };
    for (const target of [
      '/rest/v1/iam/users/../../domain/roles',
      '/rest/v1/iam/users/%2e%2e/%2e%2e/domain/roles',
      '/rest/v1/iam/users%2f..%2f..%2fdomain/roles',
      '/rest/v1//iam/users',
      '/rest/v1/./iam/users',
      '/rest/v1/iam/users/%00',
      '/rest/v1/iam/users/%ff',
      '/rest/v1/domain/roles#/rest/v1/iam/users/x',
      '/rest/v1/iam/users\\..\\roles',
    ]) {
      for (const client of [getter, admin]) assert.equal(await raw(client, target), 400, target);
    }
    for (const target of ['/rest/v1/iam/users/', '/rest/v1/i%61m/users', 'http://x/rest/v1/iam/users']) {
      assert.equal(await raw(getter, target), 200, target);
    }
    for (const target of ['/rest/v1/domain/%72oles', '/rest/v1/IAM/users', '/rest/v1/domain/roles?x=/iam/users/']) {
      assert.equal(await raw(getter, target), 403, target);
    }
  });

  it('leave these open to everybody', async () => {
    for (const path of ['/healthz', '/readyz']) assert.equal(await statusOf(platform.guest, 'GET', path), 200);
    assert.equal(await statusOf(platform.guest, 'DELETE', 'iam/sessions/current'), 204);
  });
});
