/**
 * The route table as a matrix: every operation that the description names, as guest, plain user, role holder and
 * administrator, in both kinds of domain, on both drivers (security lessons 7 and 8).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

type Operation = { method: string; path: string; access: string; domain: string };

const MISSING = '01020304-0000-7000-8000-000000000001';

const operationsOf = (api: { paths: Record<string, Record<string, Record<string, string>>> }): Operation[] =>
  Object.entries(api.paths).flatMap(([template, methods]) =>
    Object.values(methods).map((operation) => ({
      method: operation['x-method']!,
      path: template
        .replace('!lookup', '')
        .replace('/rest/v1/', '')
        .replace('{path}', `no/Such/${MISSING}`)
        .replaceAll(/\{[a-z]+\}/g, MISSING),
      access: operation['x-access']!,
      domain: operation['x-domain-type']!,
    })),
  );

/** What counts is whether the call was let in: anything but 401 and 403. */
const isLetIn = (status: number): boolean => status !== 401 && status !== 403;

eachStore((driver) =>
  describe('access', () => {
    let database: TestDatabase;
    let platform: TestPlatform;
    let operations: Operation[];
    let admin: Client;
    let plain: Client;
    let working: Client;

    before(async () => {
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place);
      admin = await platform.signIn('admin', ADMIN_PASSWORD);
      await admin.call('POST', 'master/domains', { body: { name: 'work' } });
      await admin.call('POST', 'iam/users', { body: { login: 'plain', pwd: 'plain-1' } });
      plain = await platform.signIn('plain', 'plain-1', 'master');
      working = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
      assert.equal((await working.call('PATCH', 'iam/sessions/current', { body: { domain: 'work' } })).status, 204);
      operations = operationsOf((await platform.guest.call('GET', '/rest/v1/openapi.json')).body);
    });
    after(async () => {
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    const isSession = ({ path }: Operation): boolean => path.startsWith('iam/sessions');
    /** An empty body, so that nothing is changed by who is let in. */
    const call = (client: Client, { method, path, access }: Operation) =>
      client.call(method, path, {
        ...(method === 'GET' || method === 'DELETE' ? {} : { body: [] }),
        // What is open counts guesses by address: they must not ban the rest of the test.
        ...(access === 'open' ? { address: '203.0.113.9' } : {}),
      });

    it('describes every operation with its access', () => {
      assert.ok(operations.length > 100);
      for (const { access } of operations) assert.match(access, /^(open|signed-in|route)$/);
      const open = operations.filter(({ access }) => access === 'open').map(({ method, path }) => `${method} ${path}`);
      assert.deepEqual(open.sort(), [
        'DELETE iam/sessions/current',
        `GET /oauth/enter/${MISSING}`,
        'GET /oauth/receiver',
        `GET /oauth/redirect/${MISSING}`,
        'GET iam/external',
        'GET iam/ways_in',
        'GET openapi.json',
        `PATCH iam/invites/${MISSING}`,
        `PATCH iam/pwd_reset_requests/${MISSING}`,
        'PATCH iam/sessions/current',
        'POST iam/external',
        'POST iam/sessions',
      ]);
    });

    it('lets no guest in where it is not open', async () => {
      for (const operation of operations.filter(({ access }) => access !== 'open')) {
        const answer = await call(platform.guest, operation);
        assert.deepEqual([answer.status, answer.body.error_code], [401, 1401], `${operation.method} ${operation.path}`);
      }
      for (const path of ['nope', 'iam/users/extra/deep', 'master']) {
        assert.equal((await platform.guest.call('GET', path)).status, 401, path);
      }
    });

    it('lets a plain account use its own things only', async () => {
      for (const operation of operations.filter((each) => !isSession(each))) {
        const answer = await call(plain, operation);
        const expected = operation.access !== 'route' && operation.domain !== 'working';
        assert.equal(
          isLetIn(answer.status),
          expected,
          `${operation.method} ${operation.path} answered ${answer.status}`,
        );
      }
      assert.equal((await plain.call('GET', 'nope')).status, 403, 'unknown paths tell nothing');
    });

    it('lets the administrator in wherever the domain is of the right kind', async () => {
      for (const operation of operations.filter((each) => !isSession(each))) {
        for (const [client, kind] of [
          [admin, 'master'],
          [working, 'working'],
        ] as const) {
          const answer = await call(client, operation);
          const isOpen = operation.access === 'open';
          const expected = isOpen || operation.domain === 'any' || operation.domain === kind;
          assert.equal(
            isLetIn(answer.status),
            expected,
            `${operation.method} ${operation.path} in ${kind}: ${answer.status}`,
          );
          if (!expected) assert.equal(answer.body.error_details.domain_type, operation.domain);
        }
      }
    });

    it('gives a role holder exactly the routes of the role, in both method forms', async () => {
      const targets = operations.filter(({ access, path }) => access === 'route' && !path.startsWith('model/'));
      const login = 'holder';
      await admin.call('POST', 'domain/roles', { body: { name: 'one', routes: [] } });
      const [role] = (await admin.call('LOOKUP', 'domain/roles', { body: 'one' })).body;
      await admin.call('POST', 'iam/users', { body: { login, pwd: 'holder-1', opts: { roles: ['one'] } } });
      const holder = await platform.signIn(login, 'holder-1', 'master');
      for (const granted of targets.filter((_, at) => at % 7 === 0)) {
        const routes = [{ methods: [granted.method], url: `/rest/v1/${granted.path}` }];
        assert.equal((await admin.call('PATCH', `domain/roles/${role}`, { body: { routes } })).status, 200);
        for (const tried of targets
          .filter(({ path, method }) => path === granted.path || method === granted.method)
          .slice(0, 25)) {
          const isGranted = tried.path === granted.path && tried.method === granted.method;
          const expected = isGranted && granted.domain !== 'working';
          const label = `${granted.method} ${granted.path} for ${tried.method} ${tried.path}`;
          assert.equal(isLetIn((await call(holder, tried)).status), expected, label);
          if (tried.method === 'GET' || tried.method === 'POST') continue;
          const bySuffix = await holder.call('POST', `${tried.path}!${tried.method.toLowerCase()}`, { body: [] });
          assert.equal(isLetIn(bySuffix.status), expected, `suffix: ${label}`);
        }
      }
    });

    it('answers HEAD as GET, and OPTIONS to anybody', async () => {
      const [id] = (await admin.call('LOOKUP', 'iam/users', { body: 'plain' })).body;
      const got = await admin.call('GET', `iam/users/${id}`);
      const head = await admin.call('HEAD', `iam/users/${id}`);
      assert.deepEqual([head.status, head.text], [200, '']);
      for (const name of ['etag', 'content-type', 'content-length'])
        assert.equal(head.headers.get(name), got.headers.get(name), name);
      const bySuffix = await admin.call('POST', `iam/users/${id}!head`);
      assert.deepEqual(
        [bySuffix.status, bySuffix.text, bySuffix.headers.get('etag')],
        [200, '', got.headers.get('etag')],
      );
      assert.equal((await plain.call('HEAD', `iam/users/${id}`)).status, 403);
      const options = await platform.guest.call('OPTIONS', 'iam/users');
      assert.deepEqual([options.status, options.headers.get('allow')], [204, 'GET, HEAD, LOOKUP, POST, OPTIONS']);
    });

    it('does not let a POST right delete', async () => {
      await admin.call('POST', 'domain/roles', { body: { name: 'poster', routes: [{ methods: ['POST'], url: '*' }] } });
      await admin.call('POST', 'iam/users', {
        body: { login: 'poster', pwd: 'poster-1', opts: { roles: ['poster'] } },
      });
      const poster = await platform.signIn('poster', 'poster-1', 'master');
      const made = await poster.call('POST', 'domain/projects', { body: { code: 'p' } });
      assert.equal(made.status, 200);
      assert.equal((await poster.call('POST', `domain/projects/${made.body.id}!delete`)).status, 403);
      assert.equal((await admin.call('GET', `domain/projects/${made.body.id}`)).status, 200);
    });
  }),
);
