/** Product layers: what they bring appears in one step, changes with the next archive, and goes away again. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { membersOf, order, put, toTar, toZip, VENDOR } from './layer-archives.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const PATH = 'domain/product_layer';
const GREETINGS = { classname: 'shop/Greetings', properties: [{ name: 'text', data_type: 'string' }] };
const READER = { name: 'shop_reader', routes: [{ methods: ['get'], url: '/rest/v1/model/shop/*' }] };
const WRITER = {
  name: 'shop_writer',
  parent: 'shop_reader',
  routes: [{ methods: ['*'], url: '/rest/v1/model/shop/*' }],
};
const SCRIPT = {
  code: 'shop_hello',
  scriptdata: {
    objects: [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 103 },
    ],
    variables: [],
  },
};
const APP = { description: 'The shop', order: 3, url: '/shop/', vendor: 'us' };
const FILES = { 'apps/shop.json': JSON.stringify(APP), 'web/index.html': '<h1>shop</h1>' };
const FIRST = {
  classes: [GREETINGS],
  roles: [READER, WRITER],
  svcscripts: [SCRIPT],
  webapps: [{ name: 'shop', file: 'apps/shop.json', roles: ['shop_reader', 'user'] }],
};

eachStore((driver) =>
  describe('a product layer', () => {
    let database: TestDatabase;
    let folder: string;
    let platform: TestPlatform;
    let admin: Client;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-layers-'));
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place, {
        'platform.product.dir': folder,
        'platform.product.vendor_keys': VENDOR.publicKey,
      });
      admin = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
    });
    after(async () => {
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });

    const list = async (path: string, filter: object = {}, by = ''): Promise<Record<string, unknown>[]> =>
      (await admin.call('GET', `${path}?mask=*&order=${by}&filter=${encodeURIComponent(JSON.stringify(filter))}`)).body;
    const names = async (path: string, field: string): Promise<unknown[]> =>
      (await list(path, { [field]: '/reg/^shop' })).map((each) => each[field]).sort();
    const states = async (): Promise<unknown[]> =>
      (await list(PATH)).map(({ kind, status, operation, file }) => [kind, status, operation, file]);
    const unpacked = async (): Promise<string[]> =>
      (await readdir(folder)).filter((name) => /^[0-9a-f]{32}$|^\.part/.test(name));

    it('needs an archive with its prefix, and words that are known', async () => {
      const asked = async (body: unknown): Promise<unknown[]> => {
        const answer = await admin.call('POST', PATH, { body });
        return [answer.status, answer.body.error_code, answer.body.error_details?.field];
      };
      assert.deepEqual(await asked({ prefix: 'nothing' }), [422, 1405, 'prefix']);
      assert.deepEqual(await asked({}), [422, 1405, 'prefix']);
      assert.deepEqual(await asked({ prefix: 7 }), [400, 1400, 'prefix']);
      assert.deepEqual(await asked({ prefix: '../etc' }), [422, 1405, 'prefix']);
      assert.deepEqual(await asked({ prefix: 'shop', operation: 'burn' }), [422, 1405, 'operation']);
      assert.deepEqual(await asked({ prefix: 'shop', mode: 'many' }), [422, 1405, 'mode']);
      assert.deepEqual(await asked([]), [400, 1400, 'body']);
      assert.deepEqual(await list(PATH), []);
    });

    it('is registered, then installed with all it brings, and told by the journal', async () => {
      await put(folder, 'shop-1.tar.gz', await toTar(membersOf(FIRST, FILES)));
      const { status, body } = await admin.call('POST', PATH, { body: { prefix: 'shop' } });
      assert.deepEqual(
        [status, body.status, body.kind, body.operation, body.mode, body.file, body.order, body.site],
        [200, 'registered', 'attempt', 'install', 'default', 'shop-1.tar.gz', 1, 'default'],
      );
      const done = await order(admin, { prefix: 'shop' });
      assert.deepEqual([done.status, done.order], ['identical', 2], done.trace);
      assert.deepEqual(await names('domain/roles', 'name'), ['shop_reader', 'shop_writer']);
      assert.deepEqual(await names('service/svcscripts', 'code'), ['shop_hello']);
      assert.deepEqual(await names('design/classes', 'classname'), ['shop/Greetings']);
      const [reader, writer] = await list('domain/roles', { name: '/reg/^shop' }, 'name');
      assert.equal(writer!.parent_id, reader!.id);
      assert.deepEqual(await unpacked(), [body.md5]);
      assert.equal(await readlink(join(folder, 'installed', 'master', 'shop')), join('..', '..', body.md5));
      const [current] = await list(PATH, { kind: 'current' });
      assert.deepEqual([current!.status, current!.order, current!.md5], ['installed', 1, body.md5]);
      const params = encodeURIComponent(JSON.stringify({ objtype: 'role', objid: reader!.id }));
      const [entry] = (await admin.call('GET', `journal/changes?params=${params}`)).body;
      assert.deepEqual([entry.cmdtype, entry.modifiername], ['create', 'Administrator']);
      assert.equal((await admin.call('POST', 'model/shop/Greetings', { body: { text: 'hi' } })).status, 200);
    });

    it('shows its applications in the sessions of who has its roles', async () => {
      await admin.call('POST', 'iam/users', {
        body: { login: 'buyer', pwd: 'Buyer-Password-1', opts: { roles: ['shop_writer', 'user'] } },
      });
      const buyer = await platform.signIn('buyer', 'Buyer-Password-1', 'master');
      const { webapps } = (await buyer.call('GET', 'iam/sessions/current')).body;
      assert.deepEqual(webapps, [
        {
          name: 'shop',
          description: 'The shop',
          order: 3,
          icon: '',
          'fa-icon': '',
          url: '/shop/',
          vendor: 'us',
          roles: ['shop_writer', 'user'],
        },
      ]);
    });

    it('is updated to the archive with the greatest name, of either kind, and fails as a whole', async () => {
      await put(
        folder,
        'shop-2.zip',
        toZip(
          membersOf(
            { ...FIRST, version: '2.0.0', roles: [READER], svcscripts: [{ ...SCRIPT, code: 'shop_bye' }] },
            FILES,
          ),
        ),
      );
      const two = await order(admin, { prefix: 'shop', operation: 'update' });
      assert.deepEqual([two.status, two.file], ['installed', 'shop-2.zip'], two.trace);
      assert.deepEqual(await names('domain/roles', 'name'), ['shop_reader']);
      assert.deepEqual(await names('service/svcscripts', 'code'), ['shop_bye']);
      const before_ = await states();
      const [user] = await list('domain/roles', { name: 'user' });
      // The second role of it cannot be: its first must not be either.
      const roles = [{ name: 'shop_new' }, { name: 'shop_bad', parent: 'nobody' }];
      await put(folder, 'shop-3.tgz', await toTar(membersOf({ ...FIRST, roles }, FILES)));
      const three = await order(admin, { prefix: 'shop' });
      assert.equal(three.status, 'failed');
      assert.match(three.trace, /parent nobody is not there/);
      assert.deepEqual(await names('domain/roles', 'name'), ['shop_reader']);
      assert.deepEqual((await list('domain/roles', { name: 'user' }))[0], user);
      assert.deepEqual((await states())[0], before_[0]);
      assert.deepEqual(await unpacked(), [two.md5]);
      await put(folder, 'shop-4.tgz', await toTar(membersOf({ roles: [{ name: 'admin' }] })));
      assert.match((await order(admin, { prefix: 'shop' })).trace, /admin is there and not of this layer/);
    });

    it('goes away by delete while its data stay, comes again with them, and is cleared', async () => {
      const gone = await order(admin, { prefix: 'shop', operation: 'delete' });
      assert.equal(gone.status, 'installed', gone.trace);
      assert.deepEqual(await names('domain/roles', 'name'), []);
      assert.deepEqual(await names('service/svcscripts', 'code'), []);
      assert.deepEqual((await list('domain/roles', { name: 'user' }))[0]!.webapps, []);
      assert.deepEqual(await list(PATH, { kind: 'current' }), []);
      assert.equal((await list('model/shop/Greetings')).length, 1);
      assert.match((await order(admin, { prefix: 'shop', operation: 'delete' })).trace, /nothing is installed/);
      assert.match((await order(admin, { prefix: 'shop', operation: 'update' })).trace, /nothing is installed/);
      await put(folder, 'shop-5.tgz', await toTar(membersOf(FIRST, FILES)));
      const again = await order(admin, { prefix: 'shop' });
      assert.equal(again.status, 'installed', again.trace);
      assert.equal((await list('model/shop/Greetings')).length, 1);
      const cleared = await order(admin, { prefix: 'shop', operation: 'clear' });
      assert.equal(cleared.status, 'installed', cleared.trace);
      assert.deepEqual(await names('design/classes', 'classname'), []);
      assert.deepEqual(await states(), [['attempt', 'installed', 'clear', '']]);
    });

    it('has one order after another, each in its turn', async () => {
      const bodies = ['install', 'delete', 'install', 'clear', 'install'].map((operation) => ({
        prefix: 'shop',
        operation,
      }));
      for (const body of bodies.slice(0, -1)) assert.equal((await admin.call('POST', PATH, { body })).status, 200);
      const last = await order(admin, bodies.at(-1)!);
      assert.equal(last.status, 'installed', last.trace);
      const [current] = await list(PATH, { kind: 'current' });
      assert.equal(current!.order, last.order);
    });

    it('belongs to its domain, and dies with it', async () => {
      await admin.call('POST', 'master/domains', { body: { name: 'work' } });
      const there = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
      assert.equal((await there.call('PATCH', 'iam/sessions/current', { body: { domain: 'work' } })).status, 204);
      assert.deepEqual((await there.call('GET', PATH)).body, []);
      assert.equal((await order(there, { prefix: 'shop' })).status, 'installed');
      assert.equal((await there.call('GET', 'domain/roles?countonly=true')).body.count, 4);
      assert.equal((await list(PATH, { kind: 'current' })).length, 1);
      const [domain] = await list('master/domains', { name: 'work' });
      assert.equal((await admin.call('DELETE', `master/domains/${domain!.id}`)).status, 204);
      await admin.call('POST', 'master/domains', { body: { name: 'work' } });
      const anew = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
      await anew.call('PATCH', 'iam/sessions/current', { body: { domain: 'work' } });
      assert.deepEqual((await anew.call('GET', PATH)).body, []);
    });

    it('is ordered only by who covers every right in it', async () => {
      const maker = { methods: ['*'], url: '/rest/v1/domain/product_layer*' };
      await admin.call('POST', 'domain/roles', { body: { name: 'installer', routes: [maker] } });
      await admin.call('POST', 'iam/users', {
        body: { login: 'ina', pwd: 'Ina-Password-1', opts: { roles: ['installer'] } },
      });
      const ina = await platform.signIn('ina', 'Ina-Password-1', 'master');
      const asked = async (body: object): Promise<unknown[]> => {
        const answer = await ina.call('POST', PATH, { body });
        return [answer.status, answer.body.error_details?.field];
      };
      await put(folder, 'free-1.tgz', await toTar(membersOf({ name: 'free', roles: [{ name: 'free_role' }] })));
      await put(folder, 'run-1.tgz', await toTar(membersOf({ service: { module: 'a.js' } }, { 'a.js': '' })));
      assert.deepEqual(await asked({ prefix: 'shop' }), [403, 'roles']);
      assert.deepEqual(await asked({ prefix: 'shop', operation: 'delete' }), [403, 'roles']);
      assert.deepEqual(await asked({ prefix: 'run' }), [403, 'service']);
      assert.equal((await order(ina, { prefix: 'free' })).status, 'installed');
      const nobody = await platform.signIn('buyer', 'Buyer-Password-1', 'master');
      assert.equal((await nobody.call('POST', PATH, { body: { prefix: 'free' } })).status, 403);
      assert.equal((await platform.guest.call('POST', PATH, { body: { prefix: 'free' } })).status, 401);
    });

    it('is listed with the parameters of every list', async () => {
      const masked = (await admin.call('GET', `${PATH}?mask=prefix,kind&order=prefix,kind&limit=2`)).body;
      assert.deepEqual(masked, [
        { prefix: 'free', kind: 'attempt' },
        { prefix: 'free', kind: 'current' },
      ]);
      assert.equal((await admin.call('GET', `${PATH}?countonly=true`)).body.count, 4);
      assert.equal((await admin.call('GET', `${PATH}?filter={"nope":1}`)).status, 400);
    });
  }),
);
