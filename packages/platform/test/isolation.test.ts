/** Two domains: no verb of one ever sees, moves or names a row of the other, whatever id it is given. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { createReferences, SAMPLES } from './samples.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

eachStore((driver) => {
  describe('isolation', () => {
    let database: TestDatabase;
    let platform: TestPlatform;
    let master: Client;
    let east: Client;
    let west: Client;

    before(async () => {
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place);
      master = await platform.signIn('admin', ADMIN_PASSWORD);
      for (const name of ['east', 'west']) await master.call('POST', 'master/domains', { body: { name } });
      const into = async (domain: string): Promise<Client> => {
        const visitor = await platform.signIn('admin', ADMIN_PASSWORD);
        await visitor.call('PATCH', 'iam/sessions/current', { body: { domain } });
        const boss = { login: 'boss', pwd: 'boss-pass-1', opts: { roles: ['admin'] } };
        assert.equal((await visitor.call('POST', 'iam/users', { body: boss })).status, 200);
        return platform.signIn('boss', 'boss-pass-1', domain);
      };
      [east, west] = [await into('east'), await into('west')];
    });
    after(async () => {
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    for (const sample of SAMPLES.filter(({ path }) => !path.startsWith('master/'))) {
      it(`of ${sample.path}`, async () => {
        const refs = await createReferences(east);
        const made = await east.call('POST', sample.path, { body: sample.body(1, refs) });
        assert.equal(made.status, 200, made.text);
        const { id } = made.body;
        for (const other of [west, master]) {
          const path = `${sample.path}/${id}`;
          assert.equal((await other.call('GET', path)).status, 404);
          assert.equal((await other.call('PATCH', path, { body: sample.patch })).status, 404);
          assert.equal((await other.call('DELETE', path, { body: { force: true } })).status, 404);
          assert.equal((await other.call('LOOKUP', sample.path, { body: id })).status, 404);
          if (sample.lookup)
            assert.equal((await other.call('LOOKUP', sample.path, { body: made.body[sample.lookup] })).status, 404);
          const listed = await other.call('GET', `${sample.path}?mask=id&limit=10000`);
          assert.equal(listed.text.includes(id), false);
          const counted = await other.call(
            'GET',
            `${sample.path}?countonly=1&filter=${encodeURIComponent(JSON.stringify({ id }))}`,
          );
          assert.deepEqual(counted.body, { count: 0 });
          const journal = encodeURIComponent(JSON.stringify({ objtype: sample.objtype, objid: id }));
          assert.deepEqual((await other.call('GET', `journal/changes?params=${journal}`)).body, []);
          const replaced = await other.call('PUT', path, { body: sample.body(1, await createReferences(other)) });
          assert.equal(replaced.status, 200, 'the id is free in the other domain');
          assert.equal((await other.call('DELETE', path, { body: { force: true } })).status, 204);
        }
        assert.deepEqual((await east.call('GET', `${sample.path}/${id}`)).body, made.body, 'nothing moved');
        assert.equal((await east.call('DELETE', `${sample.path}/${id}`, { body: { force: true } })).status, 204);
      });
    }

    it('of what bodies refer to', async () => {
      const user = (await east.call('POST', 'iam/users', { body: { login: 'eastern' } })).body.id;
      const role = (await east.call('POST', 'domain/roles', { body: { name: 'eastern' } })).body.id;
      const group = (await east.call('POST', 'iam/groups', { body: { code: 'eastern' } })).body.id;
      const project = (await east.call('POST', 'domain/projects', { body: { code: 'eastern' } })).body.id;
      const parent = (await east.call('POST', 'design/classes', { body: { classname: 'Eastern' } })).body.id;
      await east.call('POST', 'addressbook/contactgroups', { body: { code: 'eastern' } });
      await east.call('POST', 'service/svcscripts', { body: { code: 'eastern' } });
      await east.call('POST', 'domain/storages', { body: { instance: 'eastern', type: 'postgresql' } });
      const foreign: readonly [path: string, body: object][] = [
        ['iam/users', { login: 'x', opts: { roles: ['eastern'] } }],
        ['iam/users', { login: 'x', opts: { domains: ['east'] } }],
        ['domain/roles', { name: 'x', parent_id: role }],
        ['iam/groups', { code: 'x', opts: { users: [user] } }],
        ['iam/groups', { code: 'x', opts: { groups: [group] } }],
        ['iam/groups', { code: 'x', opts: { roles: ['eastern'] } }],
        ['service/svcscripts', { code: 'x', projectid: project }],
        ['service/integration_points', { code: 'x', type: 'public', recv_svcscriptcode: 'eastern' }],
        ['design/classes', { classname: 'X', parent_id: parent }],
        ['design/classes', { classname: 'X', opts: { storage_instance: 'eastern' } }],
        ['addressbook/contacts', { displayname: 'x', opts: { groups: ['eastern'] } }],
        ['addressbook/contactgroups', { code: 'x', opts: { contacts: [999] } }],
        ['domain/subordinations', { top_type: 'user', top_key: user, sub_type: 'user', sub_keys: [] }],
        ['domain/subordinations', { top_type: 'role', top_key: 'user', sub_type: 'user', sub_keys: [user] }],
        ['domain/subordinations', { top_type: 'role', top_key: 'user', sub_type: 'group', sub_keys: [group] }],
      ];
      for (const [path, body] of foreign) {
        const refused = await west.call('POST', path, { body });
        assert.deepEqual([refused.status, refused.body.error_code], [422, 1405], `${path} ${JSON.stringify(body)}`);
      }
      assert.equal((await west.call('GET', `domain/users_caches/${user}`)).status, 404);
      assert.equal((await west.call('PATCH', `domain/users_caches/${user}`, { body: {} })).status, 404);
    });

    it('of the data of classes', async () => {
      const definition = {
        classname: 'crm/Deals',
        properties: [{ name: 'code', data_type: 'string' }],
        opts: { lookup_properties: ['code'] },
      };
      for (const client of [east, west])
        assert.equal((await client.call('POST', 'design/classes', { body: definition })).status, 200);
      const { id } = (await east.call('POST', 'model/crm/Deals', { body: { code: 'secret' } })).body;
      assert.equal((await west.call('GET', `model/crm/Deals/${id}`)).status, 404);
      assert.equal((await west.call('PATCH', `model/crm/Deals/${id}`, { body: {} })).status, 404);
      assert.equal((await west.call('DELETE', `model/crm/Deals/${id}`)).status, 404);
      assert.equal((await west.call('LOOKUP', 'model/crm/Deals', { body: 'secret' })).status, 404);
      assert.deepEqual((await west.call('GET', 'model/crm/Deals')).body, []);
    });

    it('survives a domain that is removed and made again', async () => {
      await master.call('POST', 'master/domains', { body: { name: 'brief' } });
      const [id] = (await master.call('LOOKUP', 'master/domains', { body: 'brief' })).body;
      const visitor = await platform.signIn('admin', ADMIN_PASSWORD);
      await visitor.call('PATCH', 'iam/sessions/current', { body: { domain: 'brief' } });
      await visitor.call('POST', 'iam/users', { body: { login: 'ghost', pwd: 'ghost-pass' } });
      assert.equal((await master.call('DELETE', `master/domains/${id}`)).status, 422);
      assert.equal((await master.call('DELETE', `master/domains/${id}`, { body: { force: true } })).status, 204);
      assert.equal((await visitor.call('GET', 'iam/users')).status, 401, 'sessions there are over');
      assert.equal((await master.call('POST', 'master/domains', { body: { name: 'brief' } })).status, 200);
      const again = await platform.signIn('admin', ADMIN_PASSWORD);
      await again.call('PATCH', 'iam/sessions/current', { body: { domain: 'brief' } });
      assert.deepEqual((await again.call('GET', 'iam/users')).body, []);
      assert.equal((await again.call('GET', 'domain/roles?limit=0')).body.count, 2);
    });
  });
});
