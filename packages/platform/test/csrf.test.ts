/** Requests that a page of another site makes a browser send. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN_PASSWORD, type Answer, cookieIn, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

describe('a request of another site', () => {
  let platform: TestPlatform;
  let cookie: string;
  let token: Readonly<Record<string, string>>;
  before(async () => {
    platform = await startTestPlatform();
    cookie = await platform.cookieOf('admin', ADMIN_PASSWORD);
    token = (await platform.signIn('admin', ADMIN_PASSWORD)).headers;
  });
  after(() => platform[Symbol.asyncDispose]());

  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { origin: 'nonsense' },
    { origin: 'http://127.0.0.1:1' },
    { origin: 'http://127.0.0.1.evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  ];
  const own = (): Record<string, string>[] => [
    {},
    { origin: platform.url },
    { origin: platform.url.replace('http:', 'https:') },
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { origin: platform.url, 'sec-fetch-site': 'cross-site' },
  ];
  const change = (headers: Record<string, string>, suffix = ''): Promise<Answer> =>
    suffix === ''
      ? platform.as(headers).call('PATCH', 'user/ext', { body: { a: 1 } })
      : platform.as(headers).call('POST', `user/ext${suffix}`, {
          body: 'data=%7B%22a%22%3A1%7D',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        });

  it('is refused when it acts by cookie and changes something, in either form of the method', async () => {
    for (const headers of foreign) {
      for (const suffix of ['', '!patch', '!put']) {
        const { status, body } = await change({ cookie, ...headers }, suffix);
        assert.deepEqual([status, body.error_code], [403, 1401], JSON.stringify(headers));
      }
    }
  });

  it('is let through from this site, and from what is no browser', async () => {
    for (const headers of own()) {
      for (const suffix of ['', '!patch']) assert.equal((await change({ cookie, ...headers }, suffix)).status, 200);
    }
  });

  it('may read, which changes nothing', async () => {
    for (const headers of foreign) {
      assert.equal((await platform.as({ cookie, ...headers }).call('GET', 'user/ext')).status, 200);
    }
  });

  it('may act by token, which no browser adds by itself', async () => {
    for (const headers of foreign) assert.equal((await change({ ...token, ...headers })).status, 200);
  });

  it('comes after the question who is asking', async () => {
    for (const headers of foreign) assert.equal((await change(headers)).status, 401);
  });

  it('neither signs in nor out, nor moves a session', async () => {
    const body = { login: 'admin', pwd: ADMIN_PASSWORD };
    for (const headers of foreign) {
      assert.equal((await platform.as(headers).call('POST', 'iam/sessions', { body })).status, 403);
      const client = platform.as({ cookie, ...headers });
      assert.equal((await client.call('DELETE', 'iam/sessions/current')).status, 403);
      assert.equal((await client.call('PATCH', 'iam/sessions/current', { body: { domain: 'master' } })).status, 403);
    }
    assert.equal((await platform.as({ cookie }).call('GET', 'iam/sessions/current')).status, 200);
    for (const headers of own()) {
      assert.equal((await platform.as(headers).call('POST', 'iam/sessions', { body })).status, 204);
    }
  });

  it('is told by public_url where there is one', async () => {
    await using other = await startTestPlatform(undefined, { 'platform.public_url': 'https://phone.example/app' });
    const session = { cookie: await other.cookieOf('admin', ADMIN_PASSWORD) };
    const statusOf = async (origin: string) =>
      (await other.as({ ...session, origin }).call('PATCH', 'user/ext', { body: { a: 1 } })).status;
    assert.equal(await statusOf('https://phone.example'), 200);
    for (const origin of [other.url, 'http://phone.example', 'https://phone.example:444']) {
      assert.equal(await statusOf(origin), 403, origin);
    }
    const admin = other.as({ ...session, origin: 'https://phone.example' });
    const setting = { value: { value: 'https://new.example' } };
    assert.equal((await admin.call('PATCH', 'domain/settings/public_url', { body: setting })).status, 200);
    assert.deepEqual([await statusOf('https://new.example'), await statusOf('https://phone.example')], [200, 403]);
  });

  it('is none of the addresses of a domain or of its master', async () => {
    await using other = await startTestPlatform(undefined, { 'platform.public_url': 'https://main.example' });
    const origin = { origin: 'https://east.example' };
    const admin = await other.signIn('admin', ADMIN_PASSWORD);
    for (const name of ['east', 'west']) await admin.call('POST', 'master/domains', { body: { name } });
    await admin.call('PATCH', 'iam/sessions/current', { body: { domain: 'east' } });
    const setting = { value: { value: 'https://east.example/' } };
    assert.equal((await admin.call('PATCH', 'domain/settings/public_url', { body: setting })).status, 200);
    const boss = { login: 'boss', pwd: 'Right-pass-1' };
    assert.equal((await admin.call('POST', 'iam/users', { body: boss })).status, 200);
    const signIn = (body: object) => other.as(origin).call('POST', 'iam/sessions', { body });
    const answer = await signIn({ ...boss, domain: 'EAST' });
    assert.equal(answer.status, 204);
    assert.equal((await signIn({ ...boss, domain: 'west' })).status, 403);
    assert.equal((await signIn({ login: 'admin', pwd: ADMIN_PASSWORD })).status, 403);
    const session = { cookie: cookieIn(answer) };
    for (const [from, status] of [
      ['https://east.example', 200],
      ['https://main.example', 200],
      ['https://west.example', 403],
    ] as const) {
      const client = other.as({ ...session, origin: from });
      assert.equal((await client.call('PATCH', 'user/ext', { body: { a: 1 } })).status, status, from);
    }
  });

  it('does not choose its own host through a proxy that nobody trusts', async () => {
    await using other = await startTestPlatform(undefined, { trusted_proxies: '192.0.2.1' });
    const session = { cookie: await other.cookieOf('admin', ADMIN_PASSWORD) };
    const statusOf = async (at: TestPlatform, by: Record<string, string>) => {
      const headers = { ...by, origin: 'https://phone.example', 'x-forwarded-host': 'phone.example' };
      return (await at.as(headers).call('PATCH', 'user/ext', { body: { a: 1 } })).status;
    };
    assert.equal(await statusOf(other, session), 403);
    assert.equal(await statusOf(platform, { cookie }), 200);
  });
});
