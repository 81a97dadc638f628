/** Sessions as a client sees them: cookie, token, clone, precedence, rebinding, ends; on both drivers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { ADMIN_PASSWORD, type Answer, cookieIn, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const PWD = 'Right-pass-1';
const CURRENT = 'iam/sessions/current';

eachStore((driver) => {
  describe('sessions', () => {
    let database: TestDatabase;
    let platform: TestPlatform;
    before(async () => {
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place, { 'platform.session.max_per_user': '5' });
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      for (const name of ['east', 'west', 'north'])
        assert.equal((await admin.call('POST', 'master/domains', { body: { name } })).status, 200);
      assert.equal((await admin.call('PATCH', CURRENT, { body: { domain: 'east' } })).status, 204);
      const boss = { login: 'boss', pwd: PWD, opts: { roles: ['admin'] } };
      assert.equal((await admin.call('POST', 'iam/users', { body: boss })).status, 200);
    });
    after(async () => {
      await platform[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    });

    let users = 0;
    /** A user of the master domain that no other test knows. */
    const createUser = async (opts: object = {}): Promise<{ login: string; id: string; address: string }> => {
      users += 1;
      const login = `user-${users}`;
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      const { status, body, text } = await admin.call('POST', 'iam/users', { body: { login, pwd: PWD, opts } });
      assert.equal(status, 200, text);
      return { login, id: body.id, address: `10.1.${users >> 8}.${users & 255}` };
    };
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const tokenOf = async (login: string): Promise<string> => {
      const client = await platform.signIn(login, PWD);
      return client.headers.authorization!.slice('Bearer '.length);
    };

    it('begin with a cookie and an empty 204', async () => {
      const { login } = await createUser();
      const answer = await platform.guest.call('POST', 'iam/sessions', { body: { domain: 'master', login, pwd: PWD } });
      assert.deepEqual([answer.status, answer.text], [204, '']);
      const [cookie = ''] = answer.headers.getSetCookie();
      assert.match(cookie, /^RSession=rs1_[\w-]{43}; Path=\/; Expires=[^;]+ GMT; HttpOnly; SameSite=Strict$/);
      const minutes = (Date.parse(/Expires=([^;]+)/.exec(cookie)![1]!) - Date.now()) / 60_000;
      assert.ok(minutes > 58 && minutes < 61, `${minutes}`);
      const session = await platform.as({ cookie: cookieIn(answer) }).call('GET', CURRENT);
      assert.equal(session.status, 200);
      assert.equal(session.body.login, login);
    });

    it('are Secure behind TLS', async () => {
      const headers = { 'x-forwarded-proto': 'https' };
      const body = { login: 'admin', pwd: ADMIN_PASSWORD };
      const answer = await platform.guest.call('POST', 'iam/sessions', { body, headers });
      assert.match(answer.headers.getSetCookie()[0]!, /; Secure$/);
    });

    it('begin with a token in the body and no cookie', async () => {
      const { login } = await createUser();
      const body = { login: login.toUpperCase(), pwd: PWD, session_type: 'token' };
      const answer = await platform.guest.call('POST', 'iam/sessions', { body });
      assert.equal(answer.status, 200);
      assert.match(answer.body.session_token, /^rt1_[\w-]{43}$/);
      assert.deepEqual(answer.headers.getSetCookie(), []);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal((await platform.as(bearer(answer.body.session_token)).call('GET', CURRENT)).status, 200);
    });

    it('clone the session of the cookie, and nothing else', async () => {
      const { login, address } = await createUser();
      const cookie = await platform.cookieOf(login, PWD);
      const body = { session_type: 'token_clone_cookie', domain: 'none', login: 'nobody', pwd: 'no' };
      const cloned = await platform.as({ cookie }).call('POST', 'iam/sessions', { body });
      assert.equal(cloned.status, 200);
      const session = await platform.as(bearer(cloned.body.session_token)).call('GET', CURRENT);
      assert.equal(session.body.login, login);
      for (const headers of [{}, { cookie: 'RSession=deleted' }, bearer(await tokenOf(login))])
        assert.equal((await platform.as(headers).call('POST', 'iam/sessions', { body, address })).status, 401);
    });

    it('are refused alike for a wrong password, login and domain', async () => {
      const { login, address } = await createUser();
      const texts = new Set<string>();
      for (const body of [
        { domain: 'master', login, pwd: 'wrong' },
        { domain: 'master', login: 'nobody', pwd: PWD },
        { domain: 'nowhere', login, pwd: PWD },
        { domain: 'east', login, pwd: PWD },
        { domain: 'master', login, pwd: 'x'.repeat(300) },
      ]) {
        const answer = await platform.guest.call('POST', 'iam/sessions', { body, address });
        assert.equal(answer.status, 401);
        assert.equal(answer.headers.get('www-authenticate'), null);
        texts.add(answer.text);
      }
      assert.equal(texts.size, 1);
      assert.match([...texts][0]!, /"error_code":1401/);
    });

    it('need text in their fields and a known type', async () => {
      const good = { login: 'admin', pwd: ADMIN_PASSWORD };
      for (const body of [
        {},
        { ...good, login: 5 },
        { ...good, pwd: ['x'] },
        { ...good, domain: {} },
        { ...good, session_type: 'cookie' },
        { ...good, session_type: 1 },
        [],
        'text',
      ]) {
        const answer = await platform.guest.call('POST', 'iam/sessions', { body });
        assert.deepEqual([answer.status, answer.body.error_code], [400, 1400], JSON.stringify(body));
      }
      const headers = { 'content-type': 'text/plain' };
      assert.equal((await platform.guest.call('POST', 'iam/sessions', { body: 'x', headers })).status, 415);
    });

    it('say who and where one is', async () => {
      const { id, login } = await createUser({ domains: ['west', 'east'], tags: ['t'], roles: ['user'] });
      const session = await (await platform.signIn(login, PWD)).call('GET', CURRENT);
      assert.deepEqual(session.body, {
        domain: 'master',
        domain_is_master: true,
        domains: [
          { domain: 'master', is_master: true },
          { domain: 'east', is_master: false },
          { domain: 'west', is_master: false },
        ],
        login,
        name: login,
        name_login: `${login} (${login})`,
        roles: ['user'],
        solution: '',
        tags: ['t'],
        user_id: id,
        webapps: [],
      });
    });

    it('prefer a valid token to the cookie, and the cookie to an invalid token', async () => {
      const [one, two] = [await createUser(), await createUser()];
      const cookie = await platform.cookieOf(one.login, PWD);
      const token = await tokenOf(two.login);
      const both = await platform.as({ cookie, ...bearer(token) }).call('GET', CURRENT);
      assert.equal(both.body.login, two.login);
      for (const authorization of ['Bearer rt1_x', 'Basic abc', 'Bearer', `Bearer ${cookie.slice(9)}`]) {
        const answer = await platform.as({ cookie, authorization }).call('GET', CURRENT, { address: one.address });
        assert.equal(answer.body.login, one.login, authorization);
      }
      const refused = await platform.guest.call('GET', CURRENT, { headers: { authorization: 'Bearer' } });
      assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [401, 'Bearer']);
      assert.equal((await platform.guest.call('GET', CURRENT)).headers.get('www-authenticate'), null);
    });

    it('move to a reachable domain: the cookie under a new id, the token as it is', async () => {
      const { login } = await createUser({ domains: ['east'], roles: ['admin'] });
      const cookie = await platform.cookieOf(login, PWD);
      const body = { domain: 'EAST' };
      const moved = await platform.as({ cookie }).call('PATCH', CURRENT, { body });
      assert.deepEqual([moved.status, moved.text], [204, '']);
      const fresh = cookieIn(moved);
      assert.match(fresh, /^RSession=rs1_/);
      assert.notEqual(fresh, cookie);
      assert.equal((await platform.as({ cookie }).call('GET', CURRENT)).status, 401);
      const session = await platform.as({ cookie: fresh }).call('GET', CURRENT);
      assert.deepEqual(
        [session.body.domain, session.body.domain_is_master, session.body.roles],
        ['east', false, ['admin']],
      );
      const users = await platform.as({ cookie: fresh }).call('GET', 'iam/users');
      assert.deepEqual(
        users.body.map(({ login: each }: { login: string }) => each),
        ['boss'],
      );

      const client = await platform.signIn(login, PWD);
      const answer = await client.call('PATCH', CURRENT, { body });
      assert.deepEqual([answer.status, answer.headers.getSetCookie()], [204, []]);
      assert.equal((await client.call('GET', CURRENT)).body.domain, 'east');
      assert.equal((await client.call('PATCH', CURRENT, { body: { domain: 'master' } })).status, 204);
      assert.equal((await client.call('GET', CURRENT)).body.domain, 'master');
    });

    it('move nowhere else, and not by the cookie when a token is given', async () => {
      const { login, address } = await createUser({ domains: ['east'] });
      const cookie = await platform.cookieOf(login, PWD);
      const client = platform.as({ cookie });
      for (const domain of ['west', 'nowhere', 'constructor'])
        assert.equal((await client.call('PATCH', CURRENT, { body: { domain } })).status, 403, domain);
      for (const body of [{}, { domain: 1 }, { domain: '' }])
        assert.equal((await client.call('PATCH', CURRENT, { body })).status, 400);
      const strict = platform.as({ cookie, ...bearer('rt1_wrong') });
      assert.equal((await strict.call('PATCH', CURRENT, { body: { domain: 'east' }, address })).status, 401);
      assert.equal((await client.call('GET', CURRENT)).body.domain, 'master');
    });

    it('whose domain is taken away are over', async () => {
      const { login, id } = await createUser({ domains: ['north'] });
      const client = await platform.signIn(login, PWD);
      assert.equal((await client.call('PATCH', CURRENT, { body: { domain: 'north' } })).status, 204);
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      await admin.call('PATCH', `iam/users/${id}`, { body: { opts: { domains: [] } } });
      assert.equal((await client.call('GET', CURRENT)).status, 401);
    });

    it('end by what they came with', async () => {
      const { login } = await createUser();
      const [cookie, token] = [await platform.cookieOf(login, PWD), await tokenOf(login)];
      const byToken = await platform.as({ cookie, ...bearer(token) }).call('DELETE', CURRENT);
      assert.deepEqual([byToken.status, byToken.text, byToken.headers.getSetCookie()], [204, '', []]);
      assert.equal((await platform.as(bearer(token)).call('GET', CURRENT)).status, 401);
      assert.equal((await platform.as({ cookie }).call('GET', CURRENT)).status, 200);
      const byCookie = await platform.as({ cookie }).call('DELETE', CURRENT);
      assert.equal(byCookie.status, 204);
      assert.match(byCookie.headers.getSetCookie()[0]!, /^RSession=deleted; Path=\/; Expires=Thu, 01 Jan 1970/);
      assert.equal((await platform.as({ cookie }).call('GET', CURRENT)).status, 401);
      const again = await platform.as({ cookie }).call('POST', `${CURRENT}!delete`);
      assert.deepEqual([again.status, cookieIn(again)], [204, 'RSession=deleted']);
      assert.equal((await platform.guest.call('DELETE', CURRENT)).status, 204);
      const other = await platform.as(bearer(await tokenOf(login))).call('DELETE', CURRENT);
      assert.equal(cookieIn(other), 'RSession=deleted');
    });

    it('that ended are no guesses, however often they are sent', async () => {
      const { login, address } = await createUser();
      const token = await tokenOf(login);
      await platform.as(bearer(token)).call('DELETE', CURRENT);
      for (let i = 0; i < 8; i++)
        assert.equal((await platform.as(bearer(token)).call('GET', CURRENT, { address })).status, 401);
    });

    it('never issued are guesses: the sixth is refused with 429, and so are sign-ins from there', async () => {
      const { login, address } = await createUser();
      const client = await platform.signIn(login, PWD);
      const statuses: number[] = [];
      for (let i = 0; i < 6; i++) {
        const headers = i % 2 ? { cookie: `RSession=guess-${i}` } : bearer(`rt1_${'A'.repeat(42)}${i}`);
        statuses.push((await platform.as(headers).call('GET', 'iam/users', { address })).status);
      }
      assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429]);
      const banned = await platform.guest.call('POST', 'iam/sessions', { body: { login, pwd: PWD }, address });
      assert.deepEqual([banned.status, banned.body.error_code], [429, 1429]);
      const wait = Number(banned.headers.get('retry-after'));
      assert.ok(wait > 150 && wait <= 180, `${wait}`);
      assert.equal(banned.body.error_details.retry_after, wait);
      assert.equal((await client.call('GET', CURRENT, { address })).status, 200);
      assert.equal((await platform.guest.call('GET', CURRENT, { address })).status, 401);
    });

    it('with the right password begin forty at once; the sixth wrong one is refused, in parallel too', async () => {
      const { login, address } = await createUser();
      // Whoever waits longer than 5 s is told to come again: where the processors are busy elsewhere that happens.
      const send = async (pwd: string): Promise<Answer> => {
        const body = { login, pwd, session_type: 'token' };
        const answer = await platform.guest.call('POST', 'iam/sessions', { body, address });
        return answer.status === 503 && answer.headers.has('retry-after') ? send(pwd) : answer;
      };
      const rights = await Promise.all(Array.from({ length: 40 }, () => send(PWD)));
      assert.deepEqual([...new Set(rights.map(({ status }) => status))], [200]);
      const wrongs = (await Promise.all(Array.from({ length: 20 }, () => send('wrong')))).map(({ status }) => status);
      assert.deepEqual([wrongs.filter((s) => s === 401).length, wrongs.filter((s) => s === 429).length], [5, 15]);
      assert.equal((await send(PWD)).status, 429);
    });

    it('of one user are limited, though they are made at once', async () => {
      const { login } = await createUser();
      const clients = await Promise.all(Array.from({ length: 12 }, () => platform.signIn(login, PWD)));
      const answers = await Promise.all(clients.map((client) => client.call('GET', CURRENT)));
      assert.equal(answers.filter(({ status }) => status === 200).length, 5);
    });

    it('of one user are limited: the oldest ends', async () => {
      const { login } = await createUser();
      const tokens: string[] = [];
      for (let i = 0; i < 6; i++) tokens.push(await tokenOf(login));
      const statuses = await Promise.all(
        tokens.map(async (token) => (await platform.as(bearer(token)).call('GET', CURRENT)).status),
      );
      assert.deepEqual(statuses, [401, 200, 200, 200, 200, 200]);
    });

    it('end with a new password, but for the one that changed it', async () => {
      const { login, id } = await createUser();
      const [own, other] = [await platform.signIn(login, PWD), await platform.signIn(login, PWD)];
      const changed = await own.call('PATCH', 'iam/users/current', { body: { pwd: 'Changed-pass-2' } });
      assert.equal(changed.status, 200, changed.text);
      assert.equal(changed.body.pwd, '*****');
      assert.deepEqual(
        [(await own.call('GET', CURRENT)).status, (await other.call('GET', CURRENT)).status],
        [200, 401],
      );
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      assert.equal((await admin.call('PATCH', `iam/users/${id}`, { body: { name: 'Renamed' } })).status, 200);
      assert.equal((await own.call('GET', CURRENT)).body.name, 'Renamed');
      assert.equal((await admin.call('PATCH', `iam/users/${id}`, { body: { pwd: PWD } })).status, 200);
      assert.equal((await own.call('GET', CURRENT)).status, 401);
    });

    it('end with their user', async () => {
      const { login, id } = await createUser();
      const client = await platform.signIn(login, PWD);
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      assert.equal((await admin.call('DELETE', `iam/users/${id}`)).status, 204);
      assert.equal((await client.call('GET', CURRENT)).status, 401);
      await assert.rejects(platform.signIn(login, PWD), /401/);
    });

    it('are listed and ended by their owner, and by who has a route for it', async () => {
      const { login, id } = await createUser();
      const [here, there] = [await platform.signIn(login, PWD), await platform.signIn(login, PWD)];
      const listed = await here.call('GET', 'iam/sessions');
      assert.deepEqual(
        listed.body.map(({ current }: { current: boolean }) => current),
        [true, false],
      );
      assert.equal(JSON.stringify(listed.body).includes('rt1_'), false);
      const [, second] = listed.body;
      const stranger = await platform.signIn((await createUser()).login, PWD);
      assert.equal((await stranger.call('GET', `iam/sessions?user_id=${id}`)).status, 403);
      assert.equal((await stranger.call('DELETE', `iam/sessions/${second.id}`)).status, 404);
      const boss = await platform.signIn('boss', PWD, 'east');
      assert.equal((await boss.call('DELETE', `iam/sessions/${second.id}`)).status, 404);
      assert.equal((await boss.call('GET', `iam/sessions?user_id=${id}`)).status, 404);
      assert.equal((await here.call('DELETE', `iam/sessions/${second.id}`)).status, 204);
      assert.equal((await there.call('GET', CURRENT)).status, 401);
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      assert.equal((await admin.call('GET', `iam/sessions?user_id=${id}`)).body.length, 1);
      assert.equal((await admin.call('POST', `iam/sessions!delete?user_id=${id}`)).status, 204);
      assert.equal((await here.call('GET', CURRENT)).status, 401);
      assert.equal((await admin.call('GET', CURRENT)).status, 200);
    });

    it('hold in a second process, and end in both', { skip: driver.name === 'sqlite' }, async () => {
      await using second = await startTestPlatform(database.place);
      const { login } = await createUser();
      const token = await tokenOf(login);
      const elsewhere = second.as(bearer(token));
      // The second process learns of the new user through the feed.
      while ((await elsewhere.call('GET', CURRENT)).status !== 200)
        await new Promise((resolve) => setTimeout(resolve, 20));
      await platform.as(bearer(token)).call('DELETE', CURRENT);
      while ((await elsewhere.call('GET', CURRENT)).status !== 401)
        await new Promise((resolve) => setTimeout(resolve, 20));
    });
  });
});
