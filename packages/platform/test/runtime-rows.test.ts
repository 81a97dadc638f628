/** Rows of a `runtime` class live in the memory of one node, and every node of the database answers for them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import { ADMIN_PASSWORD, startTestPlatform } from './start-test-platform.ts';

const CLASS = {
  classname: 'live/Calls',
  storage_mode: 'runtime',
  properties: [
    { name: 'line', data_type: 'integer' },
    { name: 'text', data_type: 'string' },
  ],
  opts: { lookup_properties: ['line'] },
};
const PATH = 'model/live/Calls';

describe('rows of a runtime class', () => {
  it('are the same for every node, and go with the one that has them', async () => {
    await using postgres = await openPostgresDriver();
    await using database = await postgres.createDatabase();
    await using two = await startTestPlatform(database.place);
    const admins = [];
    let id = '';
    {
      await using one = await startTestPlatform(database.place);
      const first = await one.signIn('admin', ADMIN_PASSWORD);
      admins.push(first);
      assert.equal((await first.call('POST', 'design/classes', { body: CLASS })).status, 200);
      const made = await first.call('POST', PATH, { body: { line: 1, text: 'one' } });
      assert.equal(made.status, 200, made.text);
      id = made.body.id;
      const second = await two.signIn('admin', ADMIN_PASSWORD);
      // The feed brings the class.
      while ((await second.call('GET', `${PATH}?countonly=1`)).status === 404);
      assert.deepEqual((await second.call('GET', `${PATH}/${id}`)).body, made.body);
      const there = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          second.call('POST', PATH, { body: { line: at + 2, text: 'x'.repeat(at) } }),
        ),
      );
      assert.deepEqual([...new Set(there.map(({ status }) => status))], [200]);
      assert.deepEqual((await second.call('LOOKUP', PATH, { body: 1 })).body, [id]);
      // Writes of both to one row are one after the other.
      const patches = await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          [first, second][at % 2]!.call('PATCH', `${PATH}/${id}`, { body: { ext: { [`k${at}`]: at } } }),
        ),
      );
      assert.deepEqual([...new Set(patches.map(({ status }) => status))], [200]);
      const query = `${PATH}?order=-line&filter={"line":"~6"}&mask=line,ext`;
      const listed = await first.call('GET', query);
      assert.equal(Object.keys(listed.body.at(-1).ext).length, 14);
      assert.deepEqual((await second.call('GET', query)).body, listed.body);
      assert.equal((await second.call('DELETE', `${PATH}/${there[0]!.body.id}`)).status, 204);
      assert.deepEqual((await first.call('GET', `${PATH}?countonly=1`)).body, { count: 10 });
    }
    const second = await two.signIn('admin', ADMIN_PASSWORD);
    assert.deepEqual((await second.call('GET', `${PATH}?countonly=1`)).body, { count: 0 });
    assert.equal((await second.call('POST', PATH, { body: { line: 5 } })).status, 200);
  });
});
