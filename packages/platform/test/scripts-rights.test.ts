/** What scripts may do: their own accounts, what `svcscript_rights` gives, and nothing their author could not do. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chain, createScripts, type Scripts } from './run-script.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const CONTACTS = 'addressbook/contacts';

describe('scripts: rights', () => {
  let platform: TestPlatform;
  let admin: Client;
  let scripts: Scripts;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    scripts = createScripts(admin);
  });
  after(() => platform?.[Symbol.asyncDispose]());

  const setRights = async (value: object): Promise<void> => {
    const set = await admin.call('PATCH', 'domain/settings/svcscript_rights', { body: { value } });
    assert.equal(set.status, 200, set.text);
  };
  const post = async (path: string, body: object) => {
    const made = await admin.call('POST', path, { body });
    assert.equal(made.status, 200, made.text);
    return made.body;
  };
  let number = 0;
  /** Somebody whose role has these routes. */
  const author = async (...urls: string[]): Promise<Client> => {
    number += 1;
    const name = `author${number}`;
    const routes = urls.map((url) => ({ methods: ['*'], url }));
    await post('domain/roles', { name, routes });
    await post('iam/users', { login: name, pwd: 'author-pass-1', opts: { roles: [name] } });
    return platform.signIn(name, 'author-pass-1', 'master');
  };

  it('may do what the setting says, and the journal names the script', async () => {
    await setRights({ value: [] });
    const objects = chain(
      { oType: 131, collection: CONTACTS, fields: { displayname: '{{name}}' }, save: 'made' },
      {
        oType: 132,
        collection: `/rest/v1/${CONTACTS}/`,
        id: '{{made.id}}',
        fields: { number: '5{{1 + 1}}' },
        save: 'changed',
      },
      { oType: 130, collection: CONTACTS, filter: { displayname: '{{name}}' }, mask: 'id,number', save: 'found' },
      { oType: 133, collection: CONTACTS, id: '{{made.id}}' },
      { oType: 130, collection: CONTACTS, filter: { displayname: '{{name}}' }, save: 'left' },
      { oType: 102, result: { made: 'made.displayname', found: 'found', left: 'left', id: 'made.id' } },
    );
    const variables = [{ name: 'name', type: 1, location: 2 }];
    const { id, code } = await scripts.save(objects, { variables });
    const input = { name: 'O\'Hara " {{name}} \u0024{1}' };
    const { error } = (await scripts.run(id, { input })).body;
    assert.deepEqual([error.reason, error.status, error.oId], ['problem', 403, 2]);
    await setRights({ value: [{ methods: ['*'], url: `/${CONTACTS}*` }] });
    const { values } = (await scripts.run(id, { input })).body;
    assert.deepEqual([values.made, values.found, values.left], [input.name, [{ id: values.id, number: '52' }], []]);
    const { body } = await admin.call(
      'GET',
      `journal/changes?params=${encodeURIComponent(JSON.stringify({ objtype: 'contact', objid: values.id }))}`,
    );
    assert.deepEqual([...new Set(body.map(({ modifierid }: { modifierid: string }) => modifierid))], [id]);
    assert.equal(body[0].modifiername, `svcscript ${code}`);
  });

  it('tells methods, collections and scripts apart', async () => {
    const find = (collection: string) => scripts.save(chain({ oType: 130, collection, save: 'x' }));
    const remove = await scripts.save(chain({ oType: 133, collection: CONTACTS, id: '{{"0".repeat(8)}}' }));
    const [contacts, roles, nothing] = [await find(CONTACTS), await find('domain/roles'), await find('no/where')];
    await setRights({
      value: [{ methods: ['GET'], url: `/${CONTACTS}` }],
      scripts: { [roles.code]: [{ methods: ['GET'], url: '/domain/roles' }] },
    });
    const reason = async ({ id }: { id: string }) => (await scripts.run(id)).body.error?.status;
    assert.deepEqual(
      [await reason(contacts), await reason(roles), await reason(remove), await reason(nothing)],
      [undefined, undefined, 403, 400],
    );
    const others = await find('domain/roles');
    assert.equal(await reason(others), 403);
    await setRights({ value: [] });
  });

  it('has the accounts that are marked for scripts, and no others', async () => {
    const own = await post('iam/users', { login: 'scripted', opts: { allow_script_crud: true } });
    const foreign = await post('iam/users', { login: 'foreign' });
    const found = await scripts.go(
      chain({ oType: 130, collection: 'iam/users', mask: 'login', save: 'x' }, { oType: 102, result: { x: 'x' } }),
    );
    const logins = found.values.x.map(({ login }: { login: string }) => login);
    assert.ok(logins.includes('scripted') && !logins.includes('foreign') && !logins.includes('admin'));
    const change = (id: string, fields: object) =>
      scripts.go(chain({ oType: 132, collection: 'iam/users', id, fields }));
    assert.equal((await change(own.id, { name: 'By script' })).ended, 'return');
    assert.equal((await change(foreign.id, { opts: { allow_script_crud: true } })).error.status, 403);
    assert.equal((await scripts.go(chain({ oType: 133, collection: 'iam/users', id: foreign.id }))).error.status, 403);
    const made = await scripts.go(
      chain(
        {
          oType: 131,
          collection: 'iam/users',
          fields: { login: 'made', opts: { allow_script_crud: false } },
          save: 'u',
        },
        { oType: 102, result: { id: 'u.id' } },
      ),
    );
    const { body } = await admin.call('GET', `iam/users/${made.values.id}`);
    assert.equal(body.opts.allow_script_crud, true);
    assert.equal(
      (await scripts.go(chain({ oType: 133, collection: 'iam/users', id: made.values.id }))).ended,
      'return',
    );
  });

  it('gives nobody a role it has not itself', async () => {
    const own = await post('iam/users', { login: 'climber', opts: { allow_script_crud: true } });
    const boss = await post('iam/users', {
      login: 'marked-boss',
      pwd: 'boss-pass-1',
      opts: { allow_script_crud: true, roles: ['admin'] },
    });
    const change = async (id: string, fields: object) =>
      (await scripts.go(chain({ oType: 132, collection: 'iam/users', id, fields }))).error?.status;
    assert.equal(await change(own.id, { opts: { roles: ['admin'] } }), 403);
    assert.equal(await change(boss.id, { pwd: 'taken-over-1' }), 403);
    await platform.signIn('marked-boss', 'boss-pass-1');
    const create = { oType: 131, collection: 'iam/users', fields: { login: 'new-boss', opts: { roles: ['admin'] } } };
    assert.equal((await scripts.go(chain(create))).error.status, 403);
    await setRights({ value: [{ methods: ['*'], url: '/domain/roles*' }] });
    const role = {
      oType: 131,
      collection: 'domain/roles',
      fields: { name: 'wide', routes: [{ methods: ['*'], url: '*' }] },
    };
    assert.equal((await scripts.go(chain(role))).error.status, 403);
    const system = {
      oType: 131,
      collection: 'domain/roles',
      fields: { name: 'mine', opts: { system: true } },
      save: 'r',
    };
    const made = await scripts.go(chain(system, { oType: 102, result: { system: 'r.opts.system' } }));
    assert.equal(made.values.system, null);
    await setRights({ value: [] });
  });

  it('goes the way for conflicts when a key is taken, and fails without one', async () => {
    const create = { oType: 131, collection: 'iam/users', fields: { login: 'ADMIN' } };
    const { error } = await scripts.go(chain(create));
    assert.deepEqual([error.status, error.details.field], [409, 'login']);
    const objects = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, ...create, transfer_conflict: 3 },
      { oId: 3, oType: 102, result: { taken: 'true' } },
    ];
    assert.deepEqual((await scripts.go(objects)).values, { taken: true });
    const wrong = chain({ oType: 131, collection: 'iam/users', fields: { login: 'x', nonsense: 1 } });
    assert.equal((await scripts.go(wrong)).error.status, 400);
  });

  it('keeps items of classes, under rights like everything else', async () => {
    await post('design/classes', {
      classname: 'notes',
      storage_mode: 'category',
      properties: [{ name: 'text', data_type: 'string' }],
    });
    await setRights({ value: [{ methods: ['*'], url: '/model/notes*' }] });
    const objects = chain(
      { oType: 131, collection: 'model/notes', fields: { text: 'a' }, save: 'n' },
      { oType: 132, collection: 'model/notes', id: '{{n.id}}', fields: { text: 'b' } },
      { oType: 130, collection: 'model/notes', filter: { text: 'b' }, save: 'found' },
      { oType: 133, collection: 'model/notes', id: '{{n.id}}' },
      { oType: 102, result: { count: 'found.length', same: 'found[0].id === n.id' } },
    );
    assert.deepEqual((await scripts.go(objects)).values, { count: 1, same: true });
    const system = await scripts.go(chain({ oType: 130, collection: 'model/oauth/Providers', save: 'x' }));
    assert.equal(system.error.status, 403);
    await setRights({ value: [] });
  });

  it('is written and run only by who covers what scripts may do', async () => {
    const weak = await author('/service/svcscripts*');
    const strong = await author('/service/svcscripts*', `/${CONTACTS}*`);
    const { id } = await scripts.save(chain());
    const body = { scriptdata: { objects: chain({ oType: 103 }) } };
    const attempt = async (client: Client) => [
      (await client.call('PATCH', `service/svcscripts/${id}`, { body })).status,
      (await client.call('POST', `service/svcscripts/${id}/run`, { body: {} })).status,
      (await client.call('GET', `service/svcscripts/${id}/runs`)).status,
    ];
    await setRights({ value: [] });
    assert.deepEqual(await attempt(weak), [200, 200, 200]);
    body.scriptdata.objects = chain();
    await setRights({ value: [{ methods: ['*'], url: `/${CONTACTS}*` }] });
    assert.deepEqual(await attempt(weak), [403, 403, 403]);
    assert.equal((await weak.call('DELETE', `service/svcscripts/${id}`)).status, 403);
    assert.equal((await weak.call('POST', 'service/svcscripts', { body: { code: 'new' } })).status, 403);
    assert.deepEqual(await attempt(strong), [200, 200, 200]);
    await setRights({ value: [] });
    assert.equal((await platform.guest.call('POST', `service/svcscripts/${id}/run`, { body: {} })).status, 401);
  });

  it('is guarded when a script of sign-in calls it, whatever it is called through', async () => {
    const weak = await author('/service/svcscripts*');
    const inner = await scripts.save(chain());
    const middle = await scripts.save(chain({ oType: 113, code: inner.code }));
    const outer = await scripts.save(chain({ oType: 113, code: middle.code }));
    const set = (value: string) =>
      admin.call('PATCH', 'domain/settings/iam_external_svcscript_code', { body: { value: { value } } });
    const attempt = async () =>
      (await weak.call('PATCH', `service/svcscripts/${inner.id}`, { body: { name: `n${Math.random()}` } })).status;
    assert.equal(await attempt(), 200);
    await set(outer.code);
    assert.equal(await attempt(), 403);
    const any = await scripts.save(chain({ oType: 113, code: '{{"x"}}' }));
    await set(any.code);
    assert.equal(await attempt(), 403, 'which one it calls is known only when it runs');
    await set('');
    assert.equal(await attempt(), 200);
  });

  it('acts in other domains from the master only', async () => {
    await post('master/domains', { name: 'east' });
    const east = await (async () => {
      const boss = await post('iam/users', {
        login: 'east-boss',
        pwd: 'east-pass-1',
        opts: { roles: ['admin'], domains: ['east'] },
      });
      const client = await platform.signIn(boss.login, 'east-pass-1', 'master');
      assert.equal((await client.call('PATCH', 'iam/sessions/current', { body: { domain: 'east' } })).status, 204);
      return client;
    })();
    const create = (domain: string) =>
      chain({ oType: 131, collection: 'iam/users', domain, fields: { login: 'from-afar' } });
    assert.equal((await scripts.go(create('east'))).ended, 'return');
    assert.equal((await east.call('POST', 'iam/users!lookup', { body: 'from-afar' })).status, 200);
    assert.equal((await admin.call('POST', 'iam/users!lookup', { body: 'from-afar' })).status, 404);
    assert.equal((await scripts.go(create('west'))).error.reason, 'element');
    const eastern = createScripts(east);
    const { error } = await eastern.go(create('master'));
    assert.equal(error.reason, 'rights');
    assert.equal((await eastern.go(create('east'), { code: 'own' })).error.status, 409, 'its own domain by name');
    const weak = await author('/service/svcscripts*');
    const far = { code: 'far', scriptdata: { objects: create('east') } };
    assert.equal((await weak.call('POST', 'service/svcscripts', { body: far })).status, 403);
  });

  it('has no code where it is switched off', async () => {
    const { error } = await scripts.go(chain({ oType: 190, source: 'return 1' }));
    assert.deepEqual([error.reason, error.element], ['rights', 'code']);
  });

  it('lets a run that was begun by hand end nowhere else', async () => {
    const form = chain({ oType: 150, step: 1, fields: [{ name: 'x', type: 'line' }] }, { oType: 102, result: {} });
    const { id } = await scripts.save(form);
    const other = await scripts.save(form);
    const { ctx } = (await scripts.run(id)).body;
    const second = await author('*');
    assert.equal((await scripts.run(other.id, { ctx, values: {} })).status, 400);
    assert.equal((await scripts.run(id, { ctx, values: {} }, second)).status, 400);
    assert.equal((await scripts.run(id, { ctx, values: {} })).body.ended, 'return');
  });
});
