/** What the resources keep true: references, coverage of rights, membership on both sides, names that are referred to. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { within } from '@parley/kit/testing/wait.ts';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';

const find = (filter: object): string => `filter=${encodeURIComponent(JSON.stringify(filter))}`;

eachStore((driver) =>
  describe('rules', () => {
    let database: TestDatabase;
    let platform: TestPlatform;
    let admin: Client;
    let serial = 0;

    before(async () => {
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place);
      admin = await platform.signIn('admin', ADMIN_PASSWORD);
    });
    after(async () => {
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    const post = async (path: string, body: object, client = admin): Promise<Answer['body']> => {
      const answer = await client.call('POST', path, { body });
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
      return answer.body;
    };
    const refused = async (
      method: string,
      path: string,
      body: object | undefined,
      status: number,
      field?: string,
      client = admin,
    ) => {
      const answer = await client.call(method, path, body === undefined ? {} : { body });
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
      if (field !== undefined) assert.equal(answer.body.error_details.field, field);
    };
    const get = async (path: string): Promise<Answer['body']> => (await admin.call('GET', path)).body;
    const unique = (word: string): string => `${word}-${++serial}`;
    const limited = async (routes: object[], more: object = {}): Promise<Client> => {
      const name = unique('limited');
      await post('domain/roles', { name, routes });
      await post('iam/users', { login: name, pwd: 'limited-1', opts: { roles: [name] }, ...more });
      return platform.signIn(name, 'limited-1');
    };

    describe('users', () => {
      it('show the mask for every password and keep it when the mask comes back', async () => {
        const { id, pwd } = await post('iam/users', { login: unique('mask'), pwd: 'first-one' });
        assert.equal(pwd, '*****');
        assert.equal((await post('iam/users', { login: unique('none') })).pwd, '*****', 'also where there is none');
        const { login } = await get(`iam/users/${id}`);
        assert.equal((await admin.call('PATCH', `iam/users/${id}`, { body: { pwd: '*****', name: 'N' } })).status, 200);
        await platform.signIn(login, 'first-one');
        await admin.call('PUT', `iam/users/${id}`, { body: { login } });
        await platform.signIn(login, 'first-one');
        const [listed] = (await admin.call('GET', `iam/users?mask=*&${find({ id })}`)).body;
        assert.equal(listed.pwd, '*****');
      });

      it('are not made by a mask as password', async () => {
        const login = unique('masked');
        await post('iam/users', { login, pwd: '*****' });
        await assert.rejects(platform.signIn(login, '*****'));
      });

      it('compare logins without case', async () => {
        const login = unique('Case');
        const { id } = await post('iam/users', { login });
        await refused('POST', 'iam/users', { login: login.toUpperCase() }, 409, 'login');
        assert.deepEqual((await admin.call('LOOKUP', 'iam/users', { body: login.toLowerCase() })).body, [id]);
      });

      it('do not let filter, order or mask reach the password', async () => {
        for (const bad of [find({ pwd: '%' }), 'order=pwd', find({ $not: { pwd: 'x' } })]) {
          await refused('GET', `iam/users?${bad}`, undefined, 400);
        }
      });

      it('check time zones', async () => {
        for (const timezone of ['default', 'Europe/Berlin', 'UTC', 3, '-5', 5.5, '5.75'])
          await post('iam/users', { login: unique('tz'), timezone });
        for (const timezone of ['Mars/Base', 15, -13, '+1.3', ''])
          await refused('POST', 'iam/users', { login: unique('tz'), timezone }, 422, 'timezone');
        await refused('POST', 'iam/users', { login: unique('tz'), timezone: [] }, 400, 'timezone');
      });

      it('keep the last administrator and refuse to remove themselves', async () => {
        const me = await get('iam/users/current');
        await refused('DELETE', `iam/users/${me.id}`, undefined, 422);
        await refused('PATCH', `iam/users/${me.id}`, { opts: { roles: [] } }, 422, 'opts.roles');
        await refused('DELETE', 'iam/users/current', undefined, 405);
        await refused('PUT', 'iam/users/current', {}, 405);
      });

      it('change of themselves only what is theirs', async () => {
        const own = await limited([]);
        const changed = await own.call('PATCH', 'iam/users/current', {
          body: { name: 'Me', timezone: 2, ext: { color: 'red' } },
        });
        assert.deepEqual([changed.status, changed.body.name, changed.body.ext.color], [200, 'Me', 'red']);
        assert.equal(
          (await own.call('PATCH', 'iam/users/current', { body: changed.body })).status,
          200,
          'the whole sent back',
        );
        await refused('PATCH', 'iam/users/current', { opts: { roles: ['admin'] } }, 403, 'opts', own);
        await refused('PATCH', 'iam/users/current', { login: 'other' }, 403, 'login', own);
        assert.equal((await own.call('POST', 'iam/users/current!patch', { body: { pwd: 'new-pass-1' } })).status, 200);
      });

      it('leave groups and subordinations when they go', async () => {
        const { id } = await post('iam/users', { login: unique('leaver') });
        const group = await post('iam/groups', { code: unique('g'), opts: { users: [id] } });
        const rule = await post('domain/subordinations', {
          top_type: 'role',
          top_key: 'user',
          sub_type: 'user',
          sub_keys: [id],
        });
        assert.equal((await admin.call('DELETE', `iam/users/${id}`)).status, 204);
        assert.deepEqual((await get(`iam/groups/${group.id}`)).opts.users, []);
        assert.deepEqual((await get(`domain/subordinations/${rule.id}`)).sub_keys, []);
        await admin.call('DELETE', `domain/subordinations/${rule.id}`);
      });
    });

    describe('coverage', () => {
      it('holds on every way to more rights', async () => {
        const iam = [
          { methods: ['*'], url: '/rest/v1/iam/*' },
          { methods: ['*'], url: '/rest/v1/domain/*' },
          { methods: ['*'], url: '/rest/v1/service/*' },
        ];
        const manager = await limited(iam);
        const strong = unique('strong');
        const { id: roleId } = await post('domain/roles', {
          name: strong,
          routes: [{ methods: ['GET'], url: '/rest/v1/master/*' }],
        });
        const { id: weakId } = await post('domain/roles', { name: unique('weak'), routes: [] });
        const boss = await post('iam/users', { login: unique('boss'), pwd: 'boss-pass', opts: { roles: [strong] } });
        const pawn = await post('iam/users', { login: unique('pawn') });
        const group = await post('iam/groups', { code: unique('strong'), opts: { roles: [strong] } });
        const inner = await post('iam/groups', { code: unique('inner') });
        await admin.call('PATCH', `iam/groups/${group.id}`, { body: { opts: { groups: [inner.id] } } });
        const attempts: readonly [string, string, object][] = [
          ['POST', 'iam/users', { login: unique('x'), opts: { roles: [strong] } }],
          ['PATCH', `iam/users/${pawn.id}`, { opts: { roles: [strong] } }],
          ['PATCH', `iam/users/${pawn.id}`, { 'opts.roles': ['admin'] }],
          ['PUT', `iam/users/${pawn.id}`, { login: pawn.login, opts: { roles: [strong] } }],
          ['PATCH', `iam/users/${boss.id}`, { pwd: 'taken-over' }],
          ['PATCH', `iam/users/${boss.id}`, { login: unique('taken') }],
          ['PATCH', `iam/users/${boss.id}`, { ext: { email: 'me@evil.org' } }],
          ['DELETE', `iam/users/${boss.id}`, {}],
          ['PATCH', `iam/groups/${group.id}`, { opts: { users: [pawn.id] } }],
          ['PATCH', `iam/groups/${inner.id}`, { opts: { users: [pawn.id] } }],
          ['PATCH', `iam/groups/${inner.id}`, { opts: { roles: [strong] } }],
          ['POST', 'iam/groups', { code: unique('x'), opts: { roles: ['admin'] } }],
          ['PATCH', `domain/users_caches/${pawn.id}`, { direct_roles: [strong] }],
          ['PATCH', `domain/users_caches/${pawn.id}`, { direct_groups: [group.id] }],
          ['POST', 'domain/roles', { name: unique('x'), routes: [{ methods: ['*'], url: '*' }] }],
          ['PATCH', `domain/roles/${weakId}`, { parent_id: roleId }],
          ['PATCH', `domain/roles/${weakId}`, { routes: [{ methods: ['*'], url: '/*' }] }],
          ['PATCH', `domain/roles/${roleId}`, { name: unique('renamed') }],
          ['DELETE', `domain/roles/${roleId}`, { force: true }],
          ['PATCH', 'domain/settings/iam_token_svcscript_code', { value: { value: 'x' } }],
          ['PATCH', 'domain/settings/svcscript_rights', { value: { value: [] } }],
          ['PATCH', `iam/users/${pawn.id}`, { opts: { domains: ['*'] } }],
        ];
        for (const [method, path, body] of attempts) {
          const answer = await manager.call(method, path, { body });
          assert.deepEqual(
            [answer.status, answer.body?.error_code],
            [403, 1401],
            `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`,
          );
        }
        assert.deepEqual((await get(`iam/users/${pawn.id}`)).opts.roles, []);
        await platform.signIn(boss.login, 'boss-pass');
        assert.equal((await manager.call('PATCH', `iam/users/${boss.id}`, { body: { name: 'Harmless' } })).status, 200);
        assert.equal((await manager.call('PATCH', `iam/users/${pawn.id}`, { body: { pwd: 'allowed-1' } })).status, 200);
      });

      it('guards a script that decides about sign-in', async () => {
        const code = unique('gatekeeper');
        const { id } = await post('service/svcscripts', { code });
        await admin.call('PATCH', 'domain/settings/iam_external_svcscript_code', { body: { value: { value: code } } });
        const author = await limited([{ methods: ['*'], url: '/rest/v1/service/*' }]);
        await refused('PATCH', `service/svcscripts/${id}`, { name: 'mine' }, 403, 'code', author);
        await refused('DELETE', `service/svcscripts/${id}`, undefined, 403, 'code', author);
        await post('service/svcscripts', { code: unique('free') }, author);
        await admin.call('PATCH', 'domain/settings/iam_external_svcscript_code', { body: { value: { value: '' } } });
      });
    });

    describe('roles', () => {
      it('refuse circles and unknown parents', async () => {
        const a = await post('domain/roles', { name: unique('a') });
        const b = await post('domain/roles', { name: unique('b'), parent_id: a.id });
        await refused('PATCH', `domain/roles/${a.id}`, { parent_id: b.id }, 422, 'parent_id');
        await refused('PATCH', `domain/roles/${a.id}`, { parent_id: a.id }, 422, 'parent_id');
        await refused(
          'PATCH',
          `domain/roles/${a.id}`,
          { parent_id: '01020304-0000-7000-8000-000000000001' },
          422,
          'parent_id',
        );
        await refused('DELETE', `domain/roles/${a.id}`, undefined, 422);
      });

      it('rewrite whoever holds them when they are renamed, and leave holders by force', async () => {
        const old = unique('old');
        const { id } = await post('domain/roles', { name: old });
        const user = await post('iam/users', { login: unique('holder'), opts: { roles: ['user', old] } });
        const group = await post('iam/groups', { code: unique('holders'), opts: { roles: [old] } });
        const rule = await post('domain/subordinations', {
          top_type: 'role',
          top_key: old,
          sub_type: 'role',
          sub_keys: [old],
        });
        const next = unique('next');
        assert.equal((await admin.call('PATCH', `domain/roles/${id}`, { body: { name: next } })).status, 200);
        assert.deepEqual((await get(`iam/users/${user.id}`)).opts.roles, ['user', next]);
        assert.deepEqual((await get(`iam/groups/${group.id}`)).opts.roles, [next]);
        const { top_key, sub_keys } = await get(`domain/subordinations/${rule.id}`);
        assert.deepEqual([top_key, sub_keys], [next, [next]]);
        const params = encodeURIComponent(JSON.stringify({ objtype: 'user', objid: user.id }));
        const [record] = (await get(`journal/changes?params=${params}`)) as [{ fields: string }];
        assert.equal(record.fields, 'opts.roles');
        await refused('DELETE', `domain/roles/${id}`, undefined, 422, 'name');
        assert.equal((await admin.call('DELETE', `domain/roles/${id}`, { body: { force: true } })).status, 204);
        assert.deepEqual((await get(`iam/users/${user.id}`)).opts.roles, ['user']);
        assert.equal((await admin.call('GET', `domain/subordinations/${rule.id}`)).status, 404);
      });

      it('that are built in stay', async () => {
        const [id] = (await admin.call('LOOKUP', 'domain/roles', { body: 'admin' })).body;
        await refused('DELETE', `domain/roles/${id}`, { force: true }, 422, 'name');
        await refused('PATCH', `domain/roles/${id}`, { name: 'root' }, 422, 'name');
        await refused('PATCH', `domain/roles/${id}`, { routes: [] }, 422, 'routes');
        assert.equal(
          (await admin.call('PATCH', `domain/roles/${id}`, { body: { opts: { system: false } } })).status,
          200,
        );
        await refused('DELETE', `domain/roles/${id}`, { force: true }, 422, 'name');
        const own = await post('domain/roles', { name: unique('own'), opts: { system: true } });
        assert.equal((await admin.call('DELETE', `domain/roles/${own.id}`)).status, 204);
      });
    });

    describe('groups', () => {
      it('give their roles to members of included groups, as the caches tell', async () => {
        const role = unique('deep');
        await post('domain/roles', { name: role });
        const user = await post('iam/users', { login: unique('member'), opts: { roles: ['user'] } });
        const inner = await post('iam/groups', { code: unique('inner'), opts: { users: [user.id] } });
        const outer = await post('iam/groups', { code: unique('outer'), opts: { groups: [inner.id], roles: [role] } });
        const cache = await get(`domain/users_caches/${user.id}`);
        assert.deepEqual(cache, {
          id: user.id,
          direct_groups: [inner.id],
          deep_groups: [inner.id, outer.id].sort(),
          direct_roles: ['user'],
          deep_roles: [role, 'user'].sort(),
        });
        await refused('PATCH', `iam/groups/${inner.id}`, { opts: { groups: [outer.id] } }, 422, 'opts.groups');
        const patched = await admin.call('PATCH', `domain/users_caches/${user.id}`, {
          body: { direct_groups: [outer.id], direct_roles: [] },
        });
        assert.deepEqual(
          [patched.body.direct_groups, patched.body.direct_roles, patched.body.deep_roles],
          [[outer.id], [], [role]],
        );
        assert.deepEqual((await get(`iam/groups/${inner.id}`)).opts.users, []);
        await refused('PATCH', `domain/users_caches/${user.id}`, { deep_roles: ['admin'] }, 422, 'deep_roles');
        const listed = await get(`domain/users_caches?${find({ deep_roles: [role] })}`);
        assert.deepEqual(
          listed.map(({ id }: { id: string }) => id),
          [user.id],
        );
      });

      it('and roles are spelled out in the caches of subordinations', async () => {
        const [top, one, two] = await Promise.all(
          ['top', 'one', 'two'].map(async (word) => (await post('iam/users', { login: unique(word) })).id),
        );
        const group = await post('iam/groups', { code: unique('team'), opts: { users: [one, top] } });
        const rules = [
          { top_type: 'user', top_key: top, sub_type: 'group', sub_keys: [group.id] },
          { top_type: 'user', top_key: top, sub_type: 'user', sub_keys: [two] },
        ];
        for (const rule of rules) await post('domain/subordinations', rule);
        assert.deepEqual(await get(`domain/subordinations_caches/${top}`), { top, sub: [one, two, top].sort() });
        assert.equal((await admin.call('GET', `domain/subordinations_caches/${one}`)).status, 404);
        await refused('POST', 'domain/subordinations', rules[0]!, 409, 'top_key');
        await refused('POST', 'domain/subordinations', { ...rules[0], top_type: 'dog' }, 422, 'top_type');
      });
    });

    describe('contacts', () => {
      it('get a number that is never given again', async () => {
        const first = await post('addressbook/contacts', { displayname: 'A', autokey: 999 });
        const second = await post('addressbook/contacts', { displayname: 'B' });
        assert.equal(second.autokey, first.autokey + 1);
        await admin.call('DELETE', `addressbook/contacts/${second.id}`);
        const third = await post('addressbook/contacts', { displayname: 'C' });
        assert.equal(third.autokey, second.autokey + 1);
        await refused('PATCH', `addressbook/contacts/${third.id}`, { autokey: 1 }, 422, 'autokey');
        assert.deepEqual((await admin.call('LOOKUP', 'addressbook/contacts', { body: third.autokey })).body, [
          third.id,
        ]);
      });

      it('and their groups know the same members, whichever side is written', async () => {
        const group = await post('addressbook/contactgroups', { code: unique('cg') });
        const other = await post('addressbook/contactgroups', { code: unique('cg') });
        const contact = await post('addressbook/contacts', { displayname: 'M', opts: { groups: [group.code] } });
        const groupsOf = async () => (await get(`addressbook/contacts/${contact.id}`)).opts.groups;
        const contactsOf = async (id: string) => (await get(`addressbook/contactgroups/${id}`)).opts.contacts;
        assert.deepEqual(await contactsOf(group.id), [contact.autokey]);
        await admin.call('PATCH', `addressbook/contacts/${contact.id}`, { body: { opts: { groups: [other.code] } } });
        assert.deepEqual([await contactsOf(group.id), await contactsOf(other.id)], [[], [contact.autokey]]);
        await admin.call('PATCH', `addressbook/contactgroups/${group.id}`, {
          body: { opts: { contacts: [contact.autokey] } },
        });
        assert.deepEqual(await groupsOf(), [other.code, group.code]);
        const renamed = unique('cg');
        await admin.call('PATCH', `addressbook/contactgroups/${group.id}`, { body: { code: renamed } });
        assert.deepEqual(await groupsOf(), [other.code, renamed]);
        await admin.call('DELETE', `addressbook/contactgroups/${other.id}`);
        assert.deepEqual(await groupsOf(), [renamed]);
        const combined = await get(
          `addressbook/combined_contacts?${find({ key: [renamed, String(contact.autokey)] })}`,
        );
        assert.deepEqual(
          combined.map(({ type, number }: Record<string, string>) => [type, number]),
          [
            ['contactgroup', `group#${renamed}`],
            ['contact', ''],
          ],
        );
        await admin.call('DELETE', `addressbook/contacts/${contact.id}`);
        assert.deepEqual(await contactsOf(group.id), []);
      });
    });

    describe('references', () => {
      it('keep what is in use', async () => {
        const project = await post('domain/projects', { code: unique('p') });
        const script = await post('service/svcscripts', { code: unique('s'), projectid: project.id });
        await post('service/integration_points', {
          code: unique('i'),
          type: 'public',
          recv_svcscriptcode: script.code,
        });
        await refused('DELETE', `domain/projects/${project.id}`, undefined, 422);
        await refused('DELETE', `service/svcscripts/${script.id}`, undefined, 422);
        await refused(
          'POST',
          'service/integration_points',
          { code: unique('i'), type: 'public', send_svcscriptcode: 'nope' },
          422,
          'send_svcscriptcode',
        );
      });

      it('hide and seal what storages keep secret', async () => {
        const made = await post('domain/storages', {
          instance: unique('st'),
          type: 's3',
          params: { bucket: 'b', keyId: 'k', secretKey: 'topsecret' },
        });
        assert.equal(made.params.secretKey, '*****');
        const path = `domain/storages/${made.id}`;
        const same = await admin.call('PATCH', path, { body: { params: { secretKey: 'topsecret' } } });
        assert.deepEqual(same.body, made, 'the same secret again is no change');
        const masked = await admin.call('PATCH', path, { body: { params: { secretKey: '*****', bucket: 'c' } } });
        assert.deepEqual(masked.body.params, { bucket: 'c', keyId: 'k', secretKey: '*****' });
        for (const bad of [
          find({ params: { secretKey: '%' } }),
          find({ 'params.secretKey': 'x' }),
          'order=params.secretKey',
        ]) {
          await refused('GET', `domain/storages?${bad}`, undefined, 400);
        }
        await post('domain/storages', { instance: unique('st'), type: 'whatever_2', params: { any: { thing: 1 } } });
        await refused('POST', 'domain/storages', { instance: unique('st'), type: 'Bad-Type' }, 422, 'type');
        await refused(
          'POST',
          'domain/storages',
          { instance: unique('st'), type: 'postgresql', params: { port: 'x' } },
          400,
          'params.port',
        );
      });

      it('keep token_local, under both of its names', async () => {
        const made = await post('service/integration_points', {
          code: unique('t'),
          type: 'public',
          token_local: 'mine',
        });
        assert.match(made.token_local, /^[0-9A-Za-z]{32}$/);
        const path = `service/integration_points/${made.id}`;
        await refused('PATCH', path, { tokenlocal: 'other' }, 422, 'token_local');
        assert.equal(
          (await admin.call('PATCH', path, { body: { tokenlocal: made.token_local, tokenremote: 'r' } })).body
            .token_remote,
          'r',
        );
        assert.deepEqual((await admin.call('LOOKUP', 'service/integration_points', { body: made.token_local })).body, [
          made.id,
        ]);
        const [listed] = await get(
          `service/integration_points?mask=tokenlocal&${find({ tokenlocal: made.token_local })}`,
        );
        assert.deepEqual(listed, { tokenlocal: made.token_local });
      });
    });

    describe('configurations and settings', () => {
      it('become valid when their content passes', async () => {
        const content = {
          sites: [{ name: 's' }],
          servers: [{ name: 'v', site: 's' }],
          roles: [{ name: 'p', kind: 'platform' }],
          structure: [{ server: 'v', role: 'p', index: 0 }],
        };
        const made = await post('master/configurations', { name: unique('c'), content });
        assert.deepEqual([made.state, made.ext.version, made.ext.errormsg], ['valid', '1', '']);
        const broken = await admin.call('PATCH', `master/configurations/${made.id}`, {
          body: { content: { servers: [{ name: 'v', site: 'nowhere' }] } },
        });
        assert.equal(broken.body.state, 'initial');
        assert.match(broken.body.ext.errormsg, /unknown site/);
        assert.equal(broken.body.ext.version, '2');
      });

      it('keep the active one, which is the newest valid', async () => {
        const path = 'master/configurations';
        const first = await post(path, { name: unique('c') });
        const second = await post(path, { name: unique('c') });
        const invalid = await post(path, { name: unique('c'), content: { sites: 'none' } });
        await refused('DELETE', `${path}/${second.id}`, undefined, 422, 'id');
        assert.equal((await admin.call('DELETE', `${path}/${invalid.id}`)).status, 204);
        const touched = await admin.call('PATCH', `${path}/${first.id}`, { body: { opts: { title: 'T' } } });
        assert.equal(touched.status, 200);
        await refused('DELETE', `${path}/${first.id}`, undefined, 422, 'id');
        assert.equal((await admin.call('DELETE', `${path}/${second.id}`)).status, 204);
      });

      it('stay in force with their last valid content while an edit is not valid', async () => {
        const path = 'master/configurations';
        const older = await post(path, { name: unique('c') });
        const content = { sites: [{ name: 's' }], general: { kept: 1 } };
        const active = await post(path, { name: unique('c'), content });
        const broken = await admin.call('PATCH', `${path}/${active.id}`, { body: { content: { sites: 'none' } } });
        assert.deepEqual([broken.body.state, broken.body.content.sites], ['initial', 'none']);
        assert.match(broken.body.ext.warnings, /version 1 stays in force/);
        assert.ok(!JSON.stringify(broken.body).includes('last_valid'), 'the copy is nobody’s to see');
        await refused('DELETE', `${path}/${active.id}`, undefined, 422, 'id');
        const params = encodeURIComponent(JSON.stringify({ objtype: 'configuration', objid: active.id }));
        const [entry] = await get(`journal/changes?params=${params}`);
        assert.ok(!JSON.stringify(entry).includes('last_valid'));
        await refused('GET', `${path}?filter={"last_valid":null}`, undefined, 400);
        const mended = await admin.call('PATCH', `${path}/${active.id}`, { body: { content: { sites: [] } } });
        assert.deepEqual([mended.body.state, mended.body.ext.warnings], ['valid', '']);
        assert.equal((await admin.call('DELETE', `${path}/${older.id}`)).status, 204);
      });

      it('make the domains they name', async () => {
        const name = `made-${++serial}`;
        await post('master/configurations', { name: unique('c'), content: { domains: [{ name, solution: 'pbx' }] } });
        const appeared = async (): Promise<void> => {
          while ((await admin.call('LOOKUP', 'master/domains', { body: name })).status !== 200);
        };
        await within(appeared(), 'the domain');
      });

      it('exist by key, and are made only for known keys', async () => {
        await refused('GET', 'domain/settings/no_such', undefined, 404);
        await refused('PATCH', 'domain/settings/no_such', { value: {} }, 404);
        const made = await admin.call('PATCH', 'domain/settings/journal', { body: { value: { days: 30 } } });
        assert.deepEqual(made.body, { key: 'journal', value: { days: 30 } });
        await refused('PATCH', 'domain/settings/journal', { value: { days: 'x' } }, 400);
        await refused('PATCH', 'domain/settings/journal', { key: 'other' }, 422, 'key');
        assert.ok((await get('domain/settings')).some(({ key }: { key: string }) => key === 'journal'));
        await refused('DELETE', 'domain/settings/journal', undefined, 405);
        await refused('POST', 'domain/settings', {}, 405);
      });
    });
  }),
);
