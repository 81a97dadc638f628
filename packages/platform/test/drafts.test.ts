/** What a body may say of a row: secrets that are empty, spellings that contradict, stamps that are not the caller's. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

describe('a body', () => {
  let platform: TestPlatform;
  let admin: Client;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
  });
  after(() => platform?.[Symbol.asyncDispose]());

  it('that announces more than 1 MiB is refused before any of it is sent', async () => {
    const { port, hostname } = new URL(platform.url);
    const socket = connect(Number(port), hostname);
    const head = (length: number): string =>
      `POST /rest/v1/iam/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
    socket.write(head(1_048_577));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    assert.match(answer.toString(), /^HTTP\/1\.1 413 /);
  });

  it('may hold empty secrets, which show as empty, and others, which never show', async () => {
    const params = { host: 'db.example.org', login: 'me', pwd: '', secretKey: 'a-secret' };
    const body = { instance: 'shop', type: 'postgresql', params };
    const made = await admin.call('POST', 'domain/storages', { body });
    assert.equal(made.status, 200, made.text);
    assert.deepEqual([made.body.params.pwd, made.body.params.secretKey, made.body.params.login], ['', '*****', 'me']);
    const [listed] = (await admin.call('GET', 'domain/storages?filter={"instance":"shop"}')).body;
    assert.deepEqual([listed.params.pwd, listed.params.secretKey], ['', '*****']);
    const set = await admin.call('PATCH', `domain/storages/${made.body.id}`, { body: { params: { pwd: 'now' } } });
    assert.equal(set.body.params.pwd, '*****');
    assert.ok(!`${made.text}${set.text}`.includes('a-secret'));
  });

  it('may spell a field in two ways as long as both say the same', async () => {
    const post = (more: object) =>
      admin.call('POST', 'service/integration_points', { body: { code: 'two', type: 'public', ...more } });
    assert.equal((await post({ tokenlocal: 'one', token_local: 'other' })).status, 400);
    const same = await post({ tokenlocal: 'one', token_local: 'one' });
    assert.equal(same.status, 200, same.text);
  });

  it('sets no stamps, and sent back with old ones changes nothing', async () => {
    const made = await admin.call('POST', 'addressbook/contacts', {
      body: {
        displayname: 'Ann',
        ext: { note: 'n', ct: '2001-01-01T00:00:00.000000Z', lwt: '2001-01-01T00:00:00.000000Z' },
      },
    });
    assert.equal(made.status, 200, made.text);
    const { id, ext } = made.body;
    assert.ok(ext.ct > '2026' && ext.lwt > '2026' && ext.note === 'n', made.text);
    const body = { ext: { note: 'n', ct: '2002-01-01T00:00:00.000000Z', lwt: '2002-01-01T00:00:00.000000Z' } };
    const patched = await admin.call('PATCH', `addressbook/contacts/${id}`, { body });
    assert.deepEqual([patched.status, patched.body.ext], [200, ext]);
    const { length } = (await admin.call('GET', `journal/changes?params={"objtype":"contact","objid":"${id}"}`)).body;
    assert.equal(length, 1, 'nothing was written the second time');
  });
});
