/** What a domain sets for its own sign-ins, over HTTP: the ban, lifetimes; and accounts and tokens that count no more. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

describe('sign-in as a domain sets it', () => {
  let platform: TestPlatform;
  let admin: Client;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
  });
  after(() => platform?.[Symbol.asyncDispose]());

  const set = async (key: string, value: object): Promise<void> => {
    const { status, text } = await admin.call('PATCH', `domain/settings/${key}`, { body: { value } });
    assert.equal(status, 200, text);
  };
  const makeUser = async (login: string, roles: readonly string[] = []): Promise<string> => {
    const body = { login, pwd: 'Some-Pass-1', opts: { roles } };
    const { status, body: made, text } = await admin.call('POST', 'iam/users', { body });
    assert.equal(status, 200, text);
    return made.id;
  };

  it('bans after as many failures, and for as long, as iam_ban says', async () => {
    const guest = platform.as({ 'x-forwarded-for': '192.0.2.77' });
    const attempt = (pwd: string) =>
      guest.call('POST', 'iam/sessions', { body: { domain: 'master', login: 'nobody-here', pwd } });
    await set('iam_ban', { limit: 2, window_sec: 60 });
    assert.deepEqual([(await attempt('a')).status, (await attempt('b')).status], [401, 401]);
    const banned = await attempt('c');
    assert.equal(banned.status, 429);
    const waitSec = Number(banned.headers.get('retry-after'));
    assert.ok(waitSec > 0 && waitSec <= 60, `${waitSec} s`);
    await set('iam_ban', { limit: 5, window_sec: 180 });
    assert.equal((await attempt('d')).status, 401, 'two of five');
  });

  it('lets sessions live as long as iam_session says', async () => {
    await makeUser('short');
    /** Milliseconds until the cookie of a fresh session is over. */
    const endsIn = async (): Promise<number> => {
      const body = { domain: 'master', login: 'short', pwd: 'Some-Pass-1' };
      const answer = await platform.guest.call('POST', 'iam/sessions', { body });
      const until = /Expires=([^;]+)/.exec(answer.headers.getSetCookie()[0]!)![1]!;
      return Date.parse(until) - Date.now();
    };
    assert.ok((await endsIn()) > 3_500_000);
    await set('iam_session', { cookie_idle_sec: 600 });
    const idle = await endsIn();
    assert.ok(idle > 500_000 && idle <= 601_000, `${idle} ms`);
    await set('iam_session', { cookie_idle_sec: 600, cookie_max_sec: 120 });
    const capped = await endsIn();
    assert.ok(capped > 60_000 && capped <= 121_000, `${capped} ms`);
    const refused = await admin.call('PATCH', 'domain/settings/iam_session', {
      body: { value: { cookie_idle_sec: 0 } },
    });
    assert.equal(refused.status, 400);
  });

  it('takes a token in the header and a cookie as the cookie, neither for the other', async () => {
    await makeUser('two-ways');
    const cookie = await platform.cookieOf('two-ways', 'Some-Pass-1');
    const body = { domain: 'master', login: 'two-ways', pwd: 'Some-Pass-1', session_type: 'token' };
    const token = (await platform.guest.call('POST', 'iam/sessions', { body })).body.session_token as string;
    const own = (headers: Record<string, string>) =>
      platform.as({ 'x-forwarded-for': '192.0.2.78', ...headers }).call('GET', 'iam/users/current');
    assert.equal((await own({ cookie })).status, 200);
    assert.equal((await own({ authorization: `Bearer ${token}` })).status, 200);
    assert.equal((await own({ authorization: `Bearer ${cookie.slice('RSession='.length)}` })).status, 401);
    assert.equal((await own({ cookie: `RSession=${token}` })).status, 401);
  });

  it('ends for an account that switches itself off, its own session too', async () => {
    const id = await makeUser('leaving', ['admin']);
    const own = await platform.signIn('leaving', 'Some-Pass-1');
    assert.equal((await own.call('GET', 'iam/users/current')).status, 200);
    const off = await own.call('PATCH', `iam/users/${id}`, { body: { opts: { disabled: true } } });
    assert.equal(off.status, 200, off.text);
    assert.equal((await own.call('GET', 'iam/users/current')).status, 401);
    const again = { domain: 'master', login: 'leaving', pwd: 'Some-Pass-1' };
    assert.equal((await platform.guest.call('POST', 'iam/sessions', { body: again })).status, 401);
  });

  it('keeps the account that asks: nobody removes himself, though another administrator is there', async () => {
    const id = await makeUser('second-admin', ['admin']);
    const own = await platform.signIn('second-admin', 'Some-Pass-1');
    const refused = await own.call('DELETE', `iam/users/${id}`);
    assert.deepEqual([refused.status, refused.body.error_details.field], [422, 'id']);
    assert.equal((await own.call('GET', 'iam/users/current')).status, 200);
    assert.equal((await admin.call('DELETE', `iam/users/${id}`)).status, 204);
  });
});
