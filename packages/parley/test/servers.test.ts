/** Three servers on one PostgreSQL, each a supervisor of its own with its nodes as processes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type PostgresServer, startPostgres } from '@parley/kit/testing/postgres-server.ts';
import { rolesOf } from '../../../tools/soak/process-tree.ts';
import {
  type Administrator,
  eventually,
  isAlive,
  type ParleyProcess,
  startParley,
  trySignIn,
} from './parley-process.ts';

const NODES = 'master/nodes';
type Item = { name: string; fullName: string; status: string; reason?: string; dtStart: string; maxLogLevel: string };

describe('several servers', () => {
  let postgres: PostgresServer;
  let place: string;
  const servers = new Map<string, ParleyProcess>();
  const admins = new Map<string, Administrator>();

  const start = async (name: string): Promise<void> => {
    servers.set(name, await startParley('platform', { 'storage.url': place, 'supervisor.server': name }));
  };
  const signInAt = async (name: string): Promise<void> => {
    admins.set(name, await servers.get(name)!.signIn());
  };
  const at = (name: string): Administrator => admins.get(name)!;
  const listAt = async (name: string): Promise<Item[]> => (await at(name).call('GET', `${NODES}?mask=*`)).body;
  const seenAt = (name: string, isWanted: (items: Item[]) => boolean, what: string) =>
    // A node that is ending may still take a connection of the socket it shares, and says 503.
    eventually(
      () => listAt(name),
      (items) => Array.isArray(items) && isWanted(items),
      `${name} to see ${what}`,
    );
  const statusOf = (items: readonly Item[], fullName: string) =>
    items.find((item) => item.fullName === fullName)?.status;
  const platformsOf = (name: string): number[] => {
    const { pid } = servers.get(name)!;
    return rolesOf(pid)
      .filter((each) => each.role === 'platform' && each.pid !== pid)
      .map((each) => each.pid);
  };

  before(async () => {
    postgres = await startPostgres();
    place = await postgres.createDatabase();
    // The first makes the schema and the first administrator; the others find both.
    await start('a');
    await signInAt('a');
    await Promise.all(['b', 'c'].map(start));
    await Promise.all(['b', 'c'].map(signInAt));
  });
  after(async () => {
    await Promise.all([...servers.values()].map((each) => each[Symbol.asyncDispose]()));
    await postgres?.[Symbol.asyncDispose]();
  });

  it('see each other’s nodes', async () => {
    for (const name of ['a', 'b', 'c']) {
      const items = await seenAt(
        name,
        (list) => list.length === 6 && list.every(({ status }) => status === 'active'),
        'all six nodes',
      );
      assert.deepEqual(
        items.map(({ fullName }) => fullName).sort(),
        ['a', 'b', 'c'].flatMap((each) => [`${each}@${each}.default`, `platform_1@${each}.default`]).sort(),
      );
    }
    assert.equal((await at('c').call('GET', `${NODES}/platform_1`)).body.fullName, 'platform_1@a.default');
  });

  it('share sessions and bans', async () => {
    const [urlA, urlB] = await Promise.all(['a', 'b'].map((name) => servers.get(name)!.url('platform')));
    assert.equal((await at('a').at(urlB!).call('GET', 'iam/sessions/current')).status, 200);
    await at('a').call('POST', 'iam/users', { login: 'guessed', pwd: 'Right-pass-1' });
    for (let guess = 0; guess < 5; guess++) {
      const url = guess % 2 === 0 ? urlA! : urlB!;
      assert.equal((await trySignIn(url, 'guessed', `Wrong-pass-${guess}`)).status, 401);
    }
    for (const url of [urlA!, urlB!]) assert.equal((await trySignIn(url, 'guessed', 'Right-pass-1')).status, 429);
  });

  it('carry log levels and ends to the server of a node', async () => {
    const id = encodeURIComponent('platform_1@b.default');
    const set = await at('a').call('PATCH', `${NODES}/${id}`, { maxLogLevel: 'none' });
    assert.deepEqual([set.status, set.body.maxLogLevel], [200, 'none']);
    const { dtStart } = set.body as Item;
    assert.equal((await at('a').call('DELETE', `${NODES}/${id}`)).status, 204);
    const again = (items: Item[]) =>
      items.some(
        (item) => item.fullName === 'platform_1@b.default' && item.status === 'active' && item.dtStart > dtStart,
      );
    const items = await seenAt('c', again, 'the node of b start again');
    assert.equal(items.find(({ fullName }) => fullName === 'platform_1@b.default')?.maxLogLevel, 'none');
    // Nothing says that something starts this one again.
    assert.equal((await at('a').call('DELETE', `${NODES}/b`)).status, 422);
  });

  it('run several platform nodes on one port, and lose no request when one of them is killed', async () => {
    const content = {
      sites: [{ name: 's' }],
      servers: ['a', 'b', 'c'].map((name) => ({ name, site: 's' })),
      roles: [
        { name: 'api', kind: 'platform' },
        { name: 'spare', kind: 'platform' },
      ],
      structure: [
        { server: 'a', role: 'api', index: 1 },
        { server: 'a', role: 'api', index: 2 },
        { server: 'b', role: 'api', index: 3 },
        { server: 'c', role: 'api', index: 4 },
        { server: 'c', role: 'spare', index: 5 },
      ],
    };
    const made = await at('b').call('POST', 'master/configurations', { name: 'three', content });
    assert.equal(made.body.state, 'valid', JSON.stringify(made.body.ext));
    const wanted = ['a@a.s', 'api_1@a.s', 'api_2@a.s', 'b@b.s', 'api_3@b.s', 'c@c.s', 'api_4@c.s', 'spare_5@c.s'];
    const isAsWanted = (items: Item[]) =>
      items
        .map(({ fullName }) => fullName)
        .sort()
        .join() === wanted.toSorted().join() && items.every(({ status }) => status === 'active');
    for (const name of ['a', 'b', 'c']) await seenAt(name, isAsWanted, 'the nodes of the configuration');
    const [victim] = platformsOf('a');
    assert.ok(victim !== undefined);
    process.kill(victim, 'SIGKILL');
    const answers = await Promise.all(Array.from({ length: 20 }, () => at('a').call('GET', NODES)));
    assert.ok(answers.every(({ status }) => status === 200));
    const both = () => platformsOf('a').filter((pid) => pid !== victim);
    await eventually(both, (pids) => pids.length === 2, 'two processes of a');
    await seenAt('b', isAsWanted, 'both nodes of a again');
  });

  it('read on all what was written on any, also by a node that started later', async () => {
    const login = 'written-on-a';
    const made = await at('a').call('POST', 'iam/users', { login, name: 'One' });
    for (const name of ['b', 'c']) {
      const read = () => at(name).call('GET', `iam/users/${made.body.id}`);
      assert.equal((await eventually(read, ({ status }) => status === 200, `${name} to read it`)).body.login, login);
    }
    await at('c').call('PATCH', `iam/users/${made.body.id}`, { name: 'Two' });
    for (const name of ['a', 'b']) {
      const read = () => at(name).call('GET', `iam/users/${made.body.id}`);
      await eventually(read, ({ body }) => body.name === 'Two', `${name} to read the change`);
    }
  });

  it('take over a role whose only server is dead, and give it back', async () => {
    const { pid } = servers.get('c')!;
    const orphans = platformsOf('c');
    process.kill(pid, 'SIGKILL');
    await eventually(
      () => orphans.filter(isAlive),
      (left) => left.length === 0,
      'the nodes of c to end',
    );
    const isGone = (items: Item[]) =>
      ['c@c.s', 'api_4@c.s', 'spare_5@c.s'].every((fullName) => statusOf(items, fullName) === 'inactive');
    await seenAt('b', isGone, 'the nodes of c inactive');
    await seenAt('b', (items) => statusOf(items, 'spare_5@a.s') === 'active', 'a stand in');
    const refused = await at('a').call('DELETE', `${NODES}/${encodeURIComponent('api_4@c.s')}`);
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '5']);
    await servers.get('c')![Symbol.asyncDispose]();
    await start('c');
    await seenAt(
      'b',
      (items) => statusOf(items, 'spare_5@c.s') === 'active' && statusOf(items, 'spare_5@a.s') === undefined,
      'c have its role back',
    );
    // Its ready lines call its nodes by the names of the configuration now.
    admins.set('c', await servers.get('c')!.signIn('api_4'));
  });

  it('read on while the database is away, refuse to write, and agree afterwards', async () => {
    const made = await at('a').call('POST', 'iam/users', { login: 'before', name: '0' });
    const path = `iam/users/${made.body.id}`;
    for (const name of ['b', 'c']) {
      // Connections of their own, so that each of the server's processes is asked.
      await eventually(
        () => Promise.all(Array.from({ length: 8 }, () => at(name).call('GET', path))),
        (answers) => answers.every(({ status }) => status === 200),
        `all of ${name} to read it`,
      );
    }
    await postgres.stop('SIGQUIT');
    for (const name of ['a', 'b', 'c']) {
      assert.equal((await at(name).call('GET', path)).status, 200, `${name} reads`);
      const written = await at(name).call('PATCH', path, { name: `by ${name}` });
      assert.equal(written.status, 503, `${name} does not write`);
      assert.ok(Number(written.headers['retry-after']) > 0);
    }
    await postgres.start();
    const write = () => at('b').call('PATCH', path, { name: 'after' });
    await eventually(write, ({ status }) => status === 200, 'b to write again');
    for (const name of ['a', 'c']) {
      await eventually(
        () => at(name).call('GET', path),
        ({ body }) => body.name === 'after',
        `${name} to agree`,
      );
    }
    for (const name of ['a', 'b', 'c']) {
      await seenAt(name, (items) => items.every(({ status }) => status === 'active'), 'everything active');
      assert.equal((await listAt(name)).length, 8);
    }
  });

  it('refuse a second supervisor of the same name', async () => {
    await using second = await startParley('platform', { 'storage.url': place, 'supervisor.server': 'a' });
    assert.equal(await second.ended, 1);
    assert.equal((await at('a').call('GET', NODES)).status, 200);
  });

  it('leave nothing behind when they end', async () => {
    const pids = ['a', 'b'].flatMap(platformsOf);
    assert.equal(pids.length, 3);
    for (const name of ['a', 'b']) await servers.get(name)![Symbol.asyncDispose]();
    assert.deepEqual(pids.filter(isAlive), []);
    // A server that ends in order takes its row along; the configuration still names its nodes.
    const items = await seenAt('c', (list) => statusOf(list, 'a@a.s') === undefined, 'that a and b have gone');
    assert.equal(statusOf(items, 'api_1@a.s'), 'inactive');
  });
});
