/** What outlives the process, and what happens while the database is away. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { openStore } from '@parley/kit/store/open.ts';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import { PLATFORM_SETTINGS } from '../src/settings.ts';
import { type RunningPlatform, startPlatform } from '../src/start.ts';
import { ADMIN_PASSWORD, startTestPlatform } from './start-test-platform.ts';

const start = (folder: string, more: Record<string, string> = {}): Promise<RunningPlatform> => {
  const flags = { data_dir: folder, 'platform.port': '0', ...more };
  return startPlatform(readSettings(PLATFORM_SETTINGS, { section: 'platform', env: {}, flags }), createSilentLog());
};

const withFolder = async (use: (folder: string) => Promise<void>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-platform-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const signIn = async (url: string, pwd: string): Promise<Record<string, string>> => {
  const answer = await fetch(`${url}/rest/v1/iam/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login: 'admin', pwd, session_type: 'token' }),
  });
  assert.equal(answer.status, 200);
  const { session_token } = (await answer.json()) as { session_token: string };
  return { authorization: `Bearer ${session_token}`, 'content-type': 'application/json' };
};

describe('a start on the rows of an older platform', () => {
  it('gives the built-in classes the properties they lack, and keeps the rest', () =>
    withFolder(async (folder) => {
      await (await start(folder))[Symbol.asyncDispose]();
      const store = await openStore(join(folder, 'platform.sqlite'), createSilentLog());
      const rows = await store.query<{ classname: string; properties: { name: string }[] }>('master', 'class', {});
      const { id, data } = rows.find((row) => row.data.classname === 'oauth/Requests')!;
      const older = data.properties.filter(({ name }) => name !== 'browser_hash');
      assert.equal(older.length, data.properties.length - 1);
      await store.commit('master', [{ op: 'put', kind: 'class', id, data: { ...data, properties: older } }]);
      await store[Symbol.asyncDispose]();
      await using platform = await start(folder);
      const [, pwd = ''] = (await readFile(join(folder, 'admin-password.txt'), 'utf8')).split('\n');
      const headers = await signIn(platform.url, pwd);
      const answer = await fetch(`${platform.url}/rest/v1/design/classes/${id}`, { headers });
      const { properties } = (await answer.json()) as typeof data;
      assert.deepEqual(
        properties.map(({ name }) => name),
        [...older.map(({ name }) => name), 'browser_hash'],
      );
    }));
});

describe('the first start', () => {
  it('makes a random password, once, in a file that only the owner reads', () =>
    withFolder(async (folder) => {
      const file = join(folder, 'admin-password.txt');
      {
        await using platform = await start(folder);
        const [login, pwd] = (await readFile(file, 'utf8')).trim().split('\n');
        assert.equal(login, 'admin');
        assert.ok(pwd!.length >= 24);
        await signIn(platform.url, pwd!);
      }
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      assert.equal((await stat(join(folder, 'secret.key'))).mode & 0o777, 0o600);
      await rm(file);
      await using _again = await start(folder, { admin_password: 'another-one' });
      assert.equal((await readdir(folder)).includes('admin-password.txt'), false);
      await assert.rejects(signIn(_again.url, 'another-one'), 'the password of a user that is there stays');
    }));
});

describe('a restart', () => {
  it('finds everything again, secrets sealed on disk', () =>
    withFolder(async (folder) => {
      const params = { bucket: 'b', secretKey: 'hidden-in-the-file' };
      let made: { id: string };
      {
        await using platform = await start(folder, { admin_password: ADMIN_PASSWORD });
        const headers = await signIn(platform.url, ADMIN_PASSWORD);
        const body = JSON.stringify({ instance: 's', type: 's3', params });
        made = (await (
          await fetch(`${platform.url}/rest/v1/domain/storages`, { method: 'POST', headers, body })
        ).json()) as { id: string };
      }
      await using platform = await start(folder);
      const headers = await signIn(platform.url, ADMIN_PASSWORD);
      const read = await (await fetch(`${platform.url}/rest/v1/domain/storages/${made.id}`, { headers })).json();
      assert.deepEqual(read, made);
      for (const name of await readdir(folder)) {
        if (!name.startsWith('platform.sqlite')) continue;
        const content = await readFile(join(folder, name));
        assert.equal(content.includes('hidden-in-the-file'), false, name);
        assert.equal(content.includes(ADMIN_PASSWORD), false, name);
      }
    }));
});

describe('files and rows of classes', () => {
  it('go where their storages say', () =>
    withFolder(async (folder) => {
      await using postgres = await openPostgresDriver();
      await using database = await postgres.createDatabase();
      await using platform = await startTestPlatform(undefined, { 'platform.files.roots': folder });
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      const post = async (path: string, body: object) => admin.call('POST', path, { body });
      const outside = await post('domain/storages', { instance: 'out', type: 'fs', params: { prefix: '/etc' } });
      assert.deepEqual([outside.status, outside.body.error_details.field], [422, 'params.prefix']);
      assert.equal(
        (await post('domain/storages', { instance: 'up', type: 'fs', params: { prefix: '../..' } })).status,
        422,
      );
      assert.equal(
        (await post('domain/storages', { instance: 'disk', type: 'fs', params: { prefix: join(folder, 'deep') } }))
          .status,
        200,
      );
      const url = new URL(database.place);
      const params = {
        host: url.searchParams.get('host') ?? url.hostname,
        port: Number(url.port || 5432),
        login: url.username,
        pwd: url.password,
        database: url.pathname.slice(1),
      };
      await post('domain/storages', { instance: 'pg', type: 'postgresql', params });
      const opts = { filestorage_instance: 'disk', storage_instance: 'pg' };
      const made = await post('design/classes', {
        classname: 'Far',
        properties: [
          { name: 'doc', data_type: 'attachment' },
          { name: 'a', data_type: 'string' },
        ],
        opts,
      });
      assert.equal(made.status, 200, made.text);
      const { id } = (await post('model/Far', { a: 'x' })).body;
      assert.equal((await admin.call('GET', 'model/Far?filter={"a":"x"}&mask=id')).body[0].id, id);
      const put = await admin.call('PUT', `model/Far/${id}/doc`, {
        body: 'content',
        headers: { 'content-type': 'application/octet-stream' },
      });
      assert.equal(put.status, 200, put.text);
      assert.equal((await readdir(join(folder, 'deep'))).length, 1);
      assert.equal((await admin.call('GET', `model/Far/${id}/doc`)).text, 'content');
      const refused = await post('design/classes', { classname: 'Gone', opts: { storage_instance: 'nowhere' } });
      assert.equal(refused.status, 422);
      await post('domain/storages', {
        instance: 'dead',
        type: 'postgresql',
        params: { host: '127.0.0.1', port: 1, login: 'x', database: 'x' },
      });
      const dead = await post('design/classes', { classname: 'Dead', opts: { storage_instance: 'dead' } });
      assert.deepEqual([dead.status, dead.body.error_details.field], [422, 'opts.storage_instance']);
      assert.equal(
        (
          await admin.call(
            'DELETE',
            `domain/storages/${(await admin.call('LOOKUP', 'domain/storages', { body: 'disk' })).body[0]}`,
          )
        ).status,
        422,
      );
    }));
});

describe('a database that goes away', () => {
  it('leaves reads to memory, answers writes with 503, and loses nothing', async () => {
    await using postgres = await openPostgresDriver();
    await using database = await postgres.createDatabase();
    await using platform = await startTestPlatform(database.place);
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const { body: user } = await admin.call('POST', 'iam/users', { body: { login: 'before' } });
    const server = postgres.postgres()!;
    await server.stop('SIGINT');
    assert.equal((await admin.call('GET', `iam/users/${user.id}`)).status, 200);
    const refused = await admin.call('PATCH', `iam/users/${user.id}`, { body: { name: 'Lost' } });
    assert.deepEqual([refused.status, refused.body.error_code], [503, 1503]);
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await platform.guest.call('GET', '/readyz')).status, 503);
    assert.equal((await platform.guest.call('GET', '/healthz')).status, 200);
    assert.equal((await admin.call('GET', `iam/users/${user.id}`)).body.name, 'before');
    await server.start();
    let patched = await admin.call('PATCH', `iam/users/${user.id}`, { body: { name: 'Kept' } });
    for (let tries = 0; tries < 200 && patched.status === 503; tries++)
      patched = await admin.call('PATCH', `iam/users/${user.id}`, { body: { name: 'Kept' } });
    assert.deepEqual([patched.status, patched.body.name], [200, 'Kept']);
    assert.equal((await platform.guest.call('GET', '/readyz')).status, 200);
  });
});
