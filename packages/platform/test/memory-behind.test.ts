/**
 * A node whose memory is behind what another has just written: what it writes then still fits what is there. The feed
 * of the one is held back, so that every write meets exactly this.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createUuid } from '@parley/kit/ids.ts';
import { createSilentLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { openStore } from '@parley/kit/store/open.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { openPostgresDriver, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { createLatch } from '@parley/kit/testing/wait.ts';
import { createSystemCaller } from '../src/auth/system-caller.ts';
import { openPlatform } from '../src/platform.ts';
import { createEntity } from '../src/rest/create.ts';
import { readInput } from '../src/rest/draft.ts';
import { patchEntity } from '../src/rest/patch.ts';
import { removeEntity } from '../src/rest/remove.ts';
import { PLATFORM_SETTINGS } from '../src/settings.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

/** The store of a node whose feed tells nothing before a commit was refused because memory is behind. */
const behind = (store: Store): { store: Store; catchUp(): void } => {
  const caughtUp = createLatch('the feed to be let through');
  return {
    catchUp: caughtUp.open,
    store: {
      ...store,
      watch: async function* (...given) {
        for await (const entry of store.watch(...given)) {
          await caughtUp.opened();
          yield entry;
        }
      },
      commit: async (...given) => {
        try {
          return await store.commit(...given);
        } catch (thrown) {
          if (thrown instanceof Conflict && thrown.reason === 'stale') caughtUp.open();
          throw thrown;
        }
      },
    },
  };
};

/** A node that knows what is there now, and nothing of what comes. Its writes are those of the REST verbs. */
const openBehind = async (place: string) => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'parley-behind-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const flags = { data_dir: folder, secret_key: '00'.repeat(32), 'storage.url': place };
  const { values } = readSettings(PLATFORM_SETTINGS, { section: 'platform', env: {}, flags });
  const own = stack.use(await openStore(place, createSilentLog()));
  const { store, catchUp } = behind(own);
  const { engine, resources } = stack.use(await openPlatform(values, store, createSilentLog()));
  stack.defer(catchUp);
  const domain = engine.domains.master;
  const caller = createSystemCaller(domain);
  const resourceOf = (path: string) => resources.all.find((resource) => resource.path === path)!;
  const inputOf = (path: string, body: object) => readInput(resourceOf(path), { ...body }, true);
  const owned = stack.move();
  return {
    create: (path: string, body: object) =>
      createEntity(engine, resourceOf(path), { domain, caller, input: inputOf(path, body) }),
    /** By somebody whose roles reach nothing. */
    patchPowerless: (path: string, id: string, body: object) => {
      const powerless = { ...caller, userId: createUuid(), covers: () => false };
      return patchEntity(engine, resourceOf(path), { domain, caller: powerless, id, input: inputOf(path, body) });
    },
    remove: (path: string, id: string) => removeEntity(engine, resourceOf(path), { domain, caller, id, body: {} }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
};

describe('a node whose memory is behind', () => {
  let postgres: Awaited<ReturnType<typeof openPostgresDriver>>;
  let database: TestDatabase;
  let other: TestPlatform;
  let admin: Client;
  before(async () => {
    postgres = await openPostgresDriver();
    database = await postgres.createDatabase();
    other = await startTestPlatform(database.place);
    admin = await other.signIn('admin', ADMIN_PASSWORD);
  });
  after(async () => {
    await other?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
  });
  let id = '';
  let name = '';
  beforeEach(() => {
    id = createUuid();
    name = `name-${id}`;
  });

  const call = async (method: string, path: string, body?: object) => {
    const answer = await admin.call(method, path, body === undefined ? {} : { body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  /** What lies in the database now, whatever a node believes. */
  const stored = async (kind: string, rowId: string) => {
    const store = await database.open();
    return (await store.get(await masterOf(store), kind, rowId))?.data as Record<string, never> | undefined;
  };
  const masterOf = async (store: Store): Promise<string> =>
    (await store.get<{ master: string }>('$system', 'installation', 'platform'))!.data.master;

  it('leaves no contact in a group it removes, though it does not know the contact yet', async () => {
    await call('PUT', `addressbook/contactgroups/${id}`, { code: name });
    await using node = await openBehind(database.place);
    const contact = await call('POST', 'addressbook/contacts', { displayname: 'late', opts: { groups: [name] } });
    await node.remove('addressbook/contactgroups', id);
    assert.equal(await stored('contactgroup', id), undefined);
    assert.deepEqual((await stored('contact', contact.id))?.opts, { ...contact.opts, groups: [] });
  });

  it('takes no group that was removed and made again for the one it knew', async () => {
    await call('PUT', `addressbook/contactgroups/${id}`, { code: name });
    await call('PATCH', `addressbook/contactgroups/${id}`, { name: 'written twice' });
    await using node = await openBehind(database.place);
    await call('DELETE', `addressbook/contactgroups/${id}`);
    await call('PUT', `addressbook/contactgroups/${id}`, { code: name });
    const contact = await call('POST', 'addressbook/contacts', { displayname: 'late', opts: { groups: [name] } });
    await node.remove('addressbook/contactgroups', id);
    assert.deepEqual((await stored('contact', contact.id))?.opts, { ...contact.opts, groups: [] });
  });

  for (const { what, path, nameField, holder } of [
    {
      what: 'role',
      path: 'domain/roles',
      nameField: 'name',
      holder: { path: 'iam/users', body: (value: string) => ({ login: value, opts: { roles: [value] } }) },
    },
    {
      what: 'script',
      path: 'service/svcscripts',
      nameField: 'code',
      holder: {
        path: 'service/integration_points',
        body: (value: string) => ({ code: value, type: 'public', recv_svcscriptcode: value }),
      },
    },
    {
      what: 'storage',
      path: 'domain/storages',
      nameField: 'instance',
      holder: {
        path: 'design/classes',
        body: (value: string) => ({ classname: `C${createUuid().slice(0, 8)}`, opts: { filestorage_instance: value } }),
      },
    },
    {
      what: 'group of contacts',
      path: 'addressbook/contactgroups',
      nameField: 'code',
      holder: {
        path: 'addressbook/contacts',
        body: (value: string) => ({ displayname: value, opts: { groups: [value] } }),
      },
    },
  ]) {
    it(`refuses what names a ${what} that was removed and made again under another name`, async () => {
      const more = what === 'storage' ? { type: 'fs', params: {} } : {};
      await call('PUT', `${path}/${id}`, { [nameField]: name, ...more });
      await using node = await openBehind(database.place);
      await call('DELETE', `${path}/${id}`);
      await call('PUT', `${path}/${id}`, { [nameField]: `${name}-b`, ...more });
      await assert.rejects(node.create(holder.path, holder.body(name)), { status: 422 });
    });
  }

  it('sees the rights that another node has just given before it lets somebody in as their holder', async () => {
    const user = await call('POST', 'iam/users', { login: name, opts: { roles: [] } });
    await using node = await openBehind(database.place);
    await call('POST', 'iam/groups', { code: name, opts: { users: [user.id], roles: ['admin'] } });
    await assert.rejects(node.patchPowerless('iam/users', user.id, { login: `${name}-b` }), { status: 403 });
  });
});
