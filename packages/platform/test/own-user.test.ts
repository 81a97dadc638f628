/** What people see and keep of themselves, tokens of integration points, and the SIP sections. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '@parley/kit/testing/wait.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const PWD = 'Right-pass-1';

describe('own user', () => {
  let platform: TestPlatform;
  let admin: Client;
  let id: string;
  let client: Client;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const body = {
      login: 'ann',
      pwd: PWD,
      name: 'Ann',
      opts: { roles: ['user'], title: 'Dr' },
      ext: { email: 'ann@example.com' },
    };
    const made = await admin.call('POST', 'iam/users', { body });
    assert.equal(made.status, 200, made.text);
    id = made.body.id;
    client = await platform.signIn('ann', PWD, 'master');
  });
  after(() => platform[Symbol.asyncDispose]());

  it('sees itself with groups and roles, direct and cascaded', async () => {
    const inner = { code: 'inner', description: 'Inner', opts: { title: 'In', users: [id], roles: ['admin'] } };
    const { body: innerGroup } = await admin.call('POST', 'iam/groups', { body: inner });
    const outer = { code: 'outer', opts: { groups: [innerGroup.id] } };
    const { body: outerGroup } = await admin.call('POST', 'iam/groups', { body: outer });
    const { status, body } = await client.call('GET', 'user/info');
    assert.equal(status, 200);
    const groups = body.groups.toSorted((a: { code: string }, b: { code: string }) => (a.code < b.code ? -1 : 1));
    assert.deepEqual(groups, [
      { id: innerGroup.id, code: 'inner', description: 'Inner', opts: { title: 'In' } },
      { id: outerGroup.id, code: 'outer', description: '', opts: { title: '' } },
    ]);
    assert.deepEqual(
      { ...body, groups: [] },
      {
        id,
        domain: 'master',
        login: 'ann',
        name: 'Ann',
        email: 'ann@example.com',
        avatar: false,
        avatar_info: false,
        groups: [],
        roles: ['admin', 'user'],
        sip_accounts: [],
      },
    );
    for (const { id: group } of [outerGroup, innerGroup]) await admin.call('DELETE', `iam/groups/${group}`);
  });

  it('changes its name, and nothing else that way', async () => {
    const answer = await client.call('PATCH', 'user/info', {
      body: { name: 'Ann B.', login: 'root', roles: ['admin'] },
    });
    assert.deepEqual([answer.status, answer.body], [200, { name: 'Ann B.' }]);
    assert.equal(answer.headers.get('x-ignored-fields'), 'login, roles');
    const { body } = await admin.call('GET', `iam/users/${id}`);
    assert.deepEqual([body.name, body.login, body.opts.roles], ['Ann B.', 'ann', ['user']]);
    for (const bad of [{}, { name: '' }, { name: 5 }, { name: 'x'.repeat(129) }, { name: 'a\u0007' }, []]) {
      assert.equal((await client.call('PATCH', 'user/info', { body: bad })).status, 400, JSON.stringify(bad));
    }
  });

  it('replaces its ext: nulls are not kept, stamps are not touched', async () => {
    for (const path of ['user/ext', 'user/info']) {
      const body = { a: 1, b: null, c: { d: null, e: [null] }, ct: 'x', lwt: 'y' };
      const answer = await client.call('PUT', path, { body });
      assert.deepEqual([answer.status, answer.body], [200, { a: 1, c: { e: [null] } }]);
      assert.deepEqual((await client.call('GET', 'user/ext')).body, { a: 1, c: { e: [null] } });
      const { body: whole } = await admin.call('GET', `iam/users/${id}`);
      assert.match(whole.ext.ct, /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/);
      assert.match(whole.ext.lwt, /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/);
    }
  });

  it('merges into its ext: null removes, the whole comes back', async () => {
    await client.call('PUT', 'user/ext', { body: { a: 1, c: { d: 1, e: 2 } } });
    const answer = await client.call('PATCH', 'user/ext', { body: { a: null, c: { d: null }, f: true, ct: 'x' } });
    assert.deepEqual([answer.status, answer.body], [200, { c: { e: 2 }, f: true }]);
    const form = {
      body: `data=${encodeURIComponent('{"f":null}')}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
    assert.deepEqual((await client.call('POST', 'user/ext!patch', form)).body, { c: { e: 2 } });
  });

  it('keeps at most 64 KiB and eight levels in its ext', async () => {
    await client.call('PUT', 'user/ext', { body: { kept: true } });
    const deep = (n: number): object => (n === 1 ? { end: 1 } : { x: deep(n - 1) });
    for (const body of [{ a: 'x'.repeat(65_536) }, deep(9), 'text', [1]]) {
      for (const method of ['PUT', 'PATCH'])
        assert.equal((await client.call(method, 'user/ext', { body })).status, 400);
    }
    assert.deepEqual((await client.call('GET', 'user/ext')).body, { kept: true });
    assert.equal((await client.call('PUT', 'user/ext', { body: deep(8) })).status, 200);
  });

  it('places a picture of itself, known by its bytes alone', async () => {
    const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100, 1)]);
    const put = (payload: Buffer, type: string) =>
      fetch(`${platform.url}/rest/v1/user/avatar`, {
        method: 'PUT',
        headers: { ...client.headers, 'content-type': type },
        body: new Uint8Array(payload),
      });
    assert.equal((await client.call('GET', 'user/avatar')).status, 404);
    assert.equal((await client.call('DELETE', 'user/avatar')).status, 404);
    for (const [payload, status] of [
      [Buffer.from('<svg onload="alert(1)"/>'), 415],
      [Buffer.alloc(0), 400],
      [Buffer.concat([png, Buffer.alloc(1_048_576)]), 413],
    ] as const) {
      assert.equal((await put(payload, 'image/png')).status, status);
    }
    const placed = await put(png, 'application/octet-stream');
    assert.equal(placed.status, 200);
    const { body } = await client.call('GET', 'user/info');
    assert.deepEqual(Object.keys(body.avatar).sort(), ['hasha', 'mtime', 'name', 'size']);
    assert.deepEqual([body.avatar.name, body.avatar.size, body.avatar_info], ['avatar.png', 108, body.avatar]);
    const shown = await fetch(`${platform.url}/rest/v1/user/avatar`, { headers: client.headers });
    assert.deepEqual(Buffer.from(await shown.arrayBuffer()), png);
    assert.equal(shown.headers.get('content-type'), 'image/png');
    assert.match(shown.headers.get('content-security-policy')!, /^sandbox/);
    const saved = await client.call('GET', 'user/avatar?attachment=1');
    assert.match(saved.headers.get('content-disposition')!, /^attachment; filename="avatar.png"/);
    const avatar = { name: 'x', size: 1, mtime: 'x', hasha: '../../../../etc/passwd' };
    await admin.call('PATCH', `iam/users/${id}`, { body: { opts: { avatar } } });
    assert.equal((await client.call('GET', 'user/avatar')).status, 404);
    assert.equal((await client.call('GET', 'user/info')).body.avatar, false);
    assert.equal((await put(png, 'image/png')).status, 200);
    assert.equal((await client.call('DELETE', 'user/avatar')).status, 204);
    assert.equal((await client.call('GET', 'user/info')).body.avatar, false);
  });

  it('takes its picture with it when it is removed', async () => {
    const made = await admin.call('POST', 'iam/users', { body: { login: 'leaving', pwd: 'Leaving-user-1' } });
    const leaving = await platform.signIn('leaving', 'Leaving-user-1');
    const picture = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(10)]);
    const placed = await fetch(`${platform.url}/rest/v1/user/avatar`, {
      method: 'PUT',
      headers: { ...leaving.headers, 'content-type': 'image/png' },
      body: new Uint8Array(picture),
    });
    assert.equal(placed.status, 200);
    const folder = join(platform.folder, 'files', 'master', 'user', made.body.id);
    assert.equal(existsSync(folder), true);
    assert.equal((await admin.call('DELETE', `iam/users/${made.body.id}`)).status, 204);
    await eventually('the picture to be gone', () => !existsSync(folder));
  });

  it('loses no write of many at once', async () => {
    await client.call('PUT', 'user/ext', { body: {} });
    const patch = (i: number) => client.call('PATCH', 'user/ext', { body: { [`k${i}`]: i } });
    await Promise.all(Array.from({ length: 20 }, (_, i) => patch(i)));
    assert.equal(Object.keys((await client.call('GET', 'user/ext')).body).length, 20);
  });

  it('stays the same account in another domain', async () => {
    const domain = { name: 'south' };
    assert.equal((await admin.call('POST', 'master/domains', { body: domain })).status, 200);
    await admin.call('PATCH', `iam/users/${id}`, { body: { opts: { domains: ['south'] } } });
    const guest = await platform.signIn('ann', PWD, 'master');
    await guest.call('PATCH', 'iam/sessions/current', { body: { domain: 'south' } });
    assert.deepEqual((await guest.call('PATCH', 'user/info', { body: { name: 'Ann C.' } })).body, { name: 'Ann C.' });
    assert.equal((await guest.call('GET', 'user/info')).body.domain, 'master');
    assert.equal((await guest.call('GET', 'iam/users/current')).body.name, 'Ann C.');
    assert.deepEqual((await guest.call('GET', 'user/sip')).body, ['accounts', 'calls', 'conferences']);
    for (const section of ['accounts', 'calls', 'conferences']) {
      assert.deepEqual((await guest.call('GET', `user/sip/${section}`)).body, []);
    }
    const refused = await client.call('GET', 'user/sip');
    assert.deepEqual([refused.status, refused.body.error_code], [403, 1401]);
  });

  it('finds whose a token is in its own domain, at once after a change', async () => {
    const point = { code: 'web', type: 'public' };
    const made = await admin.call('POST', 'service/integration_points', { body: point });
    assert.equal(made.status, 200, made.text);
    const { token_local: token, id: pointId } = made.body;
    const path = `service/integration_tokens/${token}`;
    const href = `/rest/v1/service/integration_points/${pointId}`;
    const found = await client.call('GET', path);
    assert.deepEqual(found.body, { domain: 'master', integration_point: { id: pointId, _links: { self: { href } } } });
    assert.equal((await admin.call('GET', href)).status, 200);
    const second = await admin.call('POST', 'service/integration_points', { body: { code: 'two', type: 'email' } });
    assert.equal((await client.call('GET', `service/integration_tokens/${second.body.token_local}`)).status, 200);
    const elsewhere = await platform.signIn('ann', PWD, 'master');
    await elsewhere.call('PATCH', 'iam/sessions/current', { body: { domain: 'south' } });
    assert.equal((await elsewhere.call('GET', path)).status, 404);
    assert.equal((await admin.call('DELETE', `service/integration_points/${pointId}`)).status, 204);
    const gone = await client.call('GET', path);
    assert.deepEqual([gone.status, gone.body], [404, { error_code: 1404, error_message: 'Token not found' }]);
  });
});
