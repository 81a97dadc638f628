/** A node with less memory than rows answers as one that holds them all. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eachStore } from '@parley/kit/testing/each-store.ts';
import fc from 'fast-check';
import { ADMIN_PASSWORD, type Client, startTestPlatform } from './start-test-platform.ts';

const CAPPED = { 'platform.memory.max_rows': '5' };
const USERS = 60;
const QUERIES = 120;

const word = fc.constantFrom('', 'a', 'b', 'ab', 'Ab', 'ä', '%', 'a|b', '\\', '😀');
const number = fc.integer({ min: -5, max: 5 });

const user = fc.record(
  {
    name: word,
    timezone: fc.constantFrom('default', 'Europe/Berlin', 3, '-2.5', 'UTC'),
    opts: fc.record(
      {
        title: word,
        tags: fc.array(
          word.filter((value) => value !== ''),
          { maxLength: 3 },
        ),
        allow_script_crud: fc.boolean(),
        roles: fc.constantFrom([], ['user']),
      },
      { requiredKeys: [] },
    ),
    ext: fc.record({ n: fc.oneof(number, word, fc.boolean()) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

const range = fc.tuple(number, number).map(([lo, hi]) => `${lo}~${hi}`);
const pattern = fc.oneof(
  word,
  word.map((value) => `${value}%`),
);
const leaf = fc.oneof(
  fc.record({
    login: fc.oneof(fc.constantFrom('user-1%', 'USER-3', 'user-7', '%5'), fc.constant(['user-1', 'user-2'])),
  }),
  fc.record({ name: fc.oneof(pattern, fc.array(word, { minLength: 1, maxLength: 3 }), fc.constant(null)) }),
  fc.record({ timezone: fc.oneof(fc.constantFrom('default', 'Europe%', '3', 3), range) }),
  fc.record({ opts: fc.record({ title: pattern }) }),
  fc.record({ 'opts.tags': pattern }),
  fc.record({ 'opts.roles': fc.constantFrom('user', 'admin') }),
  fc.record({ 'ext.n': fc.oneof(number, range, pattern, fc.boolean()) }),
  fc.constant({ 'ext.lwt': '2026-01-01~' }),
);
const query = fc.record({
  filter: fc.oneof(
    leaf,
    fc.tuple(leaf, leaf).map((pair) => ({ $or: pair })),
    fc.tuple(leaf, leaf).map(([one, other]) => ['and', one, ['not', other]]),
  ),
  order: fc.constantFrom('', 'login', '-name,login', 'name', 'timezone,-id', '-opts.title', 'ext.n', '-ext.lwt'),
  offset: fc.nat(8),
  limit: fc.integer({ min: 0, max: 20 }),
});

const search = (parameters: Record<string, unknown>): string =>
  new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString();

/** Everything that can be asked of people, as one node answers it. */
const readAll = async (client: Client): Promise<unknown[]> => {
  const answers: unknown[] = [];
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    const { status, body: answered } = await client.call(method, path, body === undefined ? {} : { body });
    answers.push([method, path, status, answered]);
  };
  for (const parameters of fc.sample(query, { numRuns: QUERIES, seed: 3 })) {
    await ask('GET', `iam/users?${search({ ...parameters, mask: 'login' })}`);
  }
  for (const path of ['domain/users_caches', 'domain/subordinations_caches', 'addressbook/combined_contacts']) {
    await ask('GET', `${path}?limit=50`);
    await ask('GET', `${path}?countonly=true`);
  }
  await ask('GET', 'addressbook/combined_contacts?order=-name&offset=3&limit=4');
  for (const login of ['user-1', 'USER-2', 'nobody']) await ask('LOOKUP', 'iam/users', login);
  for (const number_ of ['100', '101', '999']) await ask('LOOKUP', 'addressbook/contacts', number_);
  return answers;
};

const fill = async (admin: Client): Promise<void> => {
  const ids: string[] = [];
  for (const [at, body] of fc.sample(user, { numRuns: USERS, seed: 9 }).entries()) {
    const made = await admin.call('POST', 'iam/users', { body: { ...body, login: `user-${at}` } });
    assert.equal(made.status, 200, made.text);
    ids.push(made.body.id);
  }
  await admin.call('POST', 'iam/groups', { body: { code: 'g', opts: { users: ids.slice(0, 20), roles: ['user'] } } });
  for (let at = 0; at < 10; at++) {
    await admin.call('POST', 'addressbook/contactgroups', { body: { code: `cg-${at}` } });
    await admin.call('POST', 'addressbook/contacts', {
      body: { displayname: `c-${at % 4}`, number: String(100 + (at % 3)), opts: { groups: [`cg-${at}`] } },
    });
  }
  for (const body of [
    { top_type: 'user', top_key: ids[0], sub_type: 'role', sub_keys: ['user'] },
    { top_type: 'role', top_key: 'user', sub_type: 'user', sub_keys: ids.slice(1, 4) },
  ]) {
    assert.equal((await admin.call('POST', 'domain/subordinations', { body })).status, 200);
  }
};

eachStore((driver) => {
  describe('with less memory than rows', () => {
    it('a node finds, orders and counts what one with enough finds', async () => {
      await using database = await driver.createDatabase();
      let whole: unknown[];
      {
        await using platform = await startTestPlatform(database.place);
        const admin = await platform.signIn('admin', ADMIN_PASSWORD);
        await fill(admin);
        whole = await readAll(admin);
      }
      await using platform = await startTestPlatform(database.place, CAPPED);
      assert.deepEqual(await readAll(await platform.signIn('admin', ADMIN_PASSWORD)), whole);
    });

    it('a node that grows past its cap goes on, with every key as taken as before', async () => {
      await using database = await driver.createDatabase();
      await using platform = await startTestPlatform(database.place, { 'platform.memory.max_rows': '40' });
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      const made = await Promise.all(
        Array.from({ length: 60 }, (_, at) => admin.call('POST', 'iam/users', { body: { login: `many-${at}` } })),
      );
      assert.deepEqual([...new Set(made.map(({ status }) => status))], [200]);
      for (const at of [0, 59]) {
        const again = await admin.call('POST', 'iam/users', { body: { login: `MANY-${at}` } });
        assert.deepEqual([again.status, again.body.error_details.field], [409, 'login']);
      }
      const race = await Promise.all([1, 2, 3].map(() => admin.call('POST', 'iam/users', { body: { login: 'race' } })));
      assert.deepEqual(race.map(({ status }) => status).sort(), [200, 409, 409]);
      const renames = await Promise.all(
        made
          .slice(0, 20)
          .map(({ body }) => admin.call('PATCH', `iam/users/${body.id}`, { body: { login: 'renamed' } })),
      );
      assert.equal(renames.filter(({ status }) => status === 200).length, 1);
      assert.deepEqual((await admin.call('GET', 'iam/users?countonly=true')).body, { count: 62 });
    });
  });
});
