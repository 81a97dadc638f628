/** What holds for any input: filters, exports, patches, counts, and two nodes on one database. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eachStore, openPostgresDriver, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import fc from 'fast-check';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';

const RUNS = 60;

const text = fc
  .oneof(
    fc.constantFrom('', 'a', 'b', 'ab', 'Ab', 'ä', '%', 'a|b', '\\', '😀', '\uffee', 'a~b'),
    fc.string({ maxLength: 6 }),
  )
  .filter((value) => value.isWellFormed());
const number = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.integer({ min: -1000, max: 1000 }));
const day = fc.integer({ min: 1, max: 28 }).map((value) => `2026-01-${String(value).padStart(2, '0')}`);

const PROPERTIES = [
  { name: 's', data_type: 'string' },
  { name: 'n', data_type: 'integer' },
  { name: 'b', data_type: 'boolean' },
  { name: 'at', data_type: 'datetime' },
  { name: 'tags', data_type: 'string', multi: true },
  { name: 'data', data_type: 'any' },
];

const item = fc.record(
  {
    s: text,
    n: number,
    b: fc.boolean(),
    at: day,
    tags: fc.array(text, { maxLength: 3 }),
    data: fc.record({ x: fc.oneof(number, text) }),
  },
  { requiredKeys: [] },
);

const range = fc
  .tuple(number, number)
  .chain(([lo, hi]) => fc.constantFrom(`${lo}~${hi}`, `~${hi}`, `${lo}~`, `${lo}`, `${lo};${hi}~`));
const pattern = fc.oneof(
  text,
  text.map((value) => `${value}%`),
  text.map((value) => `%${value}`),
  fc.tuple(text, text).map((pair) => pair.join('|')),
);
const leaf = fc.oneof(
  fc.record({ s: fc.oneof(pattern, fc.array(text, { minLength: 1, maxLength: 3 }), fc.constant(null)) }),
  fc.record({ n: fc.oneof(number, range) }),
  fc.record({ b: fc.oneof(fc.boolean(), fc.constantFrom('TRUE', '0')) }),
  fc.record({
    at: fc.oneof(
      day,
      fc.tuple(day, day).map((pair) => pair.join('~')),
    ),
  }),
  fc.record({ tags: fc.oneof(pattern, fc.array(text, { minLength: 1, maxLength: 2 })) }),
  fc.record({ data: fc.record({ x: fc.oneof(number, pattern) }) }),
  fc.tuple(fc.constantFrom('=', '!=', '<', '<=', '>', '>='), fc.constant('n'), number),
  fc.tuple(fc.constantFrom('=', '<', '>='), fc.constant('s'), text),
);
const filter = fc.oneof(
  leaf,
  fc.tuple(leaf, leaf).map((pair) => ({ $or: pair })),
  fc.tuple(leaf, leaf).map(([one, other]) => ['and', one, ['not', other]]),
  fc.tuple(fc.record({ n: range }), fc.record({ s: pattern })).map(([one, other]) => ({ ...one, ...other })),
);
const order = fc.constantFrom('', 'n', '-n,s', '-s', 'at,-n', 'b', 'data.x', '-tags');

const search = (parameters: Record<string, unknown>): string =>
  new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString();

eachStore((driver) => {
  describe('for any', () => {
    let database: TestDatabase;
    let platform: TestPlatform;
    let admin: Client;
    before(async () => {
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place);
      admin = await platform.signIn('admin', ADMIN_PASSWORD);
    });
    after(async () => {
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    const list = async (path: string, parameters: Record<string, unknown>): Promise<Answer['body']> => {
      const answer = await admin.call('GET', `${path}?${search(parameters)}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };

    it('filter and order: memory and database find the same, and count what they list', async () => {
      // The same rows twice: in the database, and in the memory of a runtime class.
      for (const [classname, storage_mode] of [
        ['p/Stored', 'category'],
        ['p/Running', 'runtime'],
      ]) {
        await admin.call('POST', 'design/classes', { body: { classname, storage_mode, properties: PROPERTIES } });
      }
      const rows = fc.sample(item, { numRuns: 60, seed: 7 });
      for (const [at, row] of rows.entries()) {
        const id = `00000000-0000-4000-8000-${String(at + 1).padStart(12, '0')}`;
        for (const path of ['model/p/Stored', 'model/p/Running'])
          assert.equal((await admin.call('POST', path, { body: { ...row, id } })).status, 200);
      }
      await fc.assert(
        fc.asyncProperty(
          filter,
          order,
          fc.nat(8),
          fc.integer({ min: 1, max: 20 }),
          async (wanted, by, offset, limit) => {
            const parameters = { filter: wanted, order: by, offset, limit, mask: 'id' };
            const stored = await list('model/p/Stored', parameters);
            assert.deepEqual(stored, await list('model/p/Running', parameters));
            const all = await list('model/p/Stored', { filter: wanted, mask: 'id' });
            assert.deepEqual(await list('model/p/Stored', { filter: wanted, limit: 0 }), { count: all.length });
            if (by === '') assert.deepEqual(stored, all.slice(offset, offset + limit));
          },
        ),
        { numRuns: RUNS },
      );
    });

    it('user: a PATCH of what was read changes nothing, and an export becomes the same elsewhere', async () => {
      const user = fc.record(
        {
          name: text,
          timezone: fc.constantFrom('default', 'Europe/Berlin', 3, '-2.5'),
          opts: fc.record(
            {
              title: text,
              tags: fc.array(
                text.filter((value) => value !== ''),
                { maxLength: 3 },
              ),
              allow_script_crud: fc.boolean(),
              mine: fc.record({ x: fc.oneof(number, text) }),
            },
            { requiredKeys: [] },
          ),
          ext: fc.dictionary(
            fc.constantFrom('a', 'b', 'c'),
            fc.oneof(number, text, fc.boolean(), fc.array(number, { maxLength: 2 })),
          ),
        },
        { requiredKeys: [] },
      );
      await admin.call('POST', 'master/domains', { body: { name: 'elsewhere' } });
      const there = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
      await there.call('PATCH', 'iam/sessions/current', { body: { domain: 'elsewhere' } });
      let serial = 0;
      await fc.assert(
        fc.asyncProperty(user, fc.boolean(), async (body, isFlat) => {
          serial += 1;
          const made = await admin.call('POST', 'iam/users', { body: { ...body, login: `any-${serial}` } });
          assert.equal(made.status, 200, made.text);
          const read = await admin.call('GET', `iam/users/${made.body.id}${isFlat ? '?flat=1' : ''}`);
          const patched = await admin.call('PATCH', `iam/users/${made.body.id}`, { body: read.body });
          assert.deepEqual(patched.body, made.body);
          const [exported] = await list('iam/users', { filter: { id: made.body.id }, export: true });
          const imported = await there.call('POST', 'iam/users', { body: exported });
          assert.equal(imported.status, 200, imported.text);
          const { ct: _ct, lwt: _lwt, ...ext } = imported.body.ext;
          assert.deepEqual({ ...imported.body, ext }, exported);
          const counted = await list('iam/users', {
            filter: { name: made.body.name.replaceAll(/[\\%|]/g, '%') || null },
            limit: 0,
          });
          assert.ok(counted.count >= 1 || made.body.name.startsWith('/reg'));
        }),
        { numRuns: RUNS },
      );
    });
  });
});

describe('two nodes on one database', () => {
  it('end with the same rows after random writes at once, and never share a key', async () => {
    await using postgres = await openPostgresDriver();
    await using database = await postgres.createDatabase();
    await using one = await startTestPlatform(database.place);
    await using two = await startTestPlatform(database.place);
    const clients = await Promise.all([one, two].map((node) => node.signIn('admin', ADMIN_PASSWORD)));
    const logins = Array.from({ length: 8 }, (_, n) => `shared-${n}`);
    const steps = fc.sample(
      fc.record({
        node: fc.nat(1),
        act: fc.constantFrom('create', 'patch', 'delete', 'contact'),
        login: fc.constantFrom(...logins),
        value: fc.nat(99),
      }),
      { numRuns: 200, seed: 11 },
    );
    const answers: number[] = [];
    const run = async ({ node, act, login, value }: (typeof steps)[number]): Promise<void> => {
      const client = clients[node]!;
      const idOf = async (): Promise<string> =>
        (await client.call('LOOKUP', 'iam/users', { body: login })).body[0] ?? '00000000-0000-4000-8000-000000000000';
      if (act === 'create')
        answers.push((await client.call('POST', 'iam/users', { body: { login, name: `N${value}` } })).status);
      else if (act === 'contact')
        answers.push((await client.call('POST', 'addressbook/contacts', { body: { displayname: login } })).status);
      else if (act === 'patch')
        answers.push(
          (await client.call('PATCH', `iam/users/${await idOf()}`, { body: { ext: { [`k${value % 5}`]: value } } }))
            .status,
        );
      else answers.push((await client.call('DELETE', `iam/users/${await idOf()}`)).status);
    };
    for (let at = 0; at < steps.length; at += 16) await Promise.all(steps.slice(at, at + 16).map(run));
    assert.deepEqual(
      [...new Set(answers)].filter((status) => ![200, 204, 404, 409].includes(status)),
      [],
    );
    const read = async (client: Client, path: string): Promise<Answer['body']> =>
      (await client.call('GET', `${path}?mask=*&limit=10000&order=id`)).body;
    for (const path of ['iam/users', 'addressbook/contacts']) {
      const expected = await read(clients[0]!, path);
      let found = await read(clients[1]!, path);
      // The feed brings what is missing; there is nothing else to wait for.
      for (
        let tries = 0;
        tries < 200 && JSON.stringify(found) !== JSON.stringify(await read(clients[0]!, path));
        tries++
      ) {
        found = await read(clients[1]!, path);
      }
      assert.deepEqual(found, await read(clients[0]!, path));
      assert.ok(expected.length > 0);
    }
    const users = await read(clients[0]!, 'iam/users');
    assert.equal(new Set(users.map(({ login }: { login: string }) => login)).size, users.length);
    const contacts = await read(clients[0]!, 'addressbook/contacts');
    assert.equal(new Set(contacts.map(({ autokey }: { autokey: number }) => autokey)).size, contacts.length);
    const race = await Promise.all(
      clients.map((client) => client.call('POST', 'iam/users', { body: { login: 'race' } })),
    );
    assert.deepEqual(race.map(({ status }) => status).sort(), [200, 409]);
  });
});
