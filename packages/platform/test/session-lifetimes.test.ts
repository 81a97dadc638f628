/** How long sessions live, and what stays of them, with a clock that the test holds. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '@parley/kit/clock.ts';
import { createSilentLog } from '@parley/kit/log.ts';
import { type Store, StoreUnavailable } from '@parley/kit/store/store.ts';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { createLatch } from '@parley/kit/testing/wait.ts';
import { SESSION_KIND, sweepSessions } from '../src/auth/session-rows.ts';
import { openSessions, type Sessions } from '../src/auth/sessions.ts';
import { SYSTEM_SPACE } from '../src/domains/types.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LIFETIMES = {
  cookie: { idleMs: HOUR, maxMs: DAY },
  token: { idleMs: DAY, maxMs: 30 * DAY },
} as const;

eachStore((driver) => {
  describe('session lifetimes', () => {
    let database: TestDatabase;
    let store: Store;
    let now = 1_800_000_000_000;
    const clock = { ...systemClock, now: () => now };
    before(async () => {
      database = await driver.createDatabase();
      store = await database.open();
    });
    after(() => database[Symbol.asyncDispose]());

    const open = (at = store): Sessions =>
      openSessions({
        store: at,
        clock,
        log: createSilentLog(),
        maxPerUser: 100,
        lifetimeOf: (kind) => LIFETIMES[kind],
      });
    let users = 0;
    const create = (sessions: Sessions, kind: 'cookie' | 'token') => {
      users += 1;
      const owner = { home: 'd', userId: `user-${users}` };
      return sessions.create({ ...owner, kind, domain: 'd', address: '192.0.2.1', agent: 'a\ud800'.repeat(300) });
    };
    const stateOf = async (sessions: Sessions, token: string) => (await sessions.find(token)).state;

    it('keep no token in the store', async () => {
      await using sessions = open();
      const { token, session } = await create(sessions, 'token');
      const rows = await store.query(SYSTEM_SPACE, SESSION_KIND, {});
      assert.ok(rows.some(({ id }) => id === session.id));
      assert.equal(JSON.stringify(rows).includes(token.slice(4)), false);
    });

    it('live on while the database is away when their use should be noted', async () => {
      const server = driver.postgres();
      if (!server) return;
      const refused = createLatch('the note to be refused');
      const commit: Store['commit'] = (...given) => {
        const committed = store.commit(...given);
        committed.catch(() => setImmediate(refused.open));
        return committed;
      };
      await using sessions = open({ ...store, commit });
      const { token, session } = await create(sessions, 'token');
      now += 2 * MINUTE;
      await server.stop('SIGQUIT');
      try {
        sessions.touch(session);
        await refused.opened();
        assert.equal(await stateOf(sessions, token), 'live');
      } finally {
        await server.start();
      }
      now += MINUTE;
      const found = await sessions.find(token);
      assert.equal(found.state, 'live');
    });

    it('are known to a process that started later, or before them, while the database is away', async () => {
      const server = driver.postgres();
      if (!server) return;
      await using first = open();
      const early = await create(first, 'token');
      const following = createLatch('the feed to be followed');
      const told = createLatch('the feed to tell of a session');
      const watch: Store['watch'] = async function* (domain, from, signal) {
        following.open();
        for await (const entry of store.watch(domain, from, signal)) {
          yield entry;
          if (entry.kind === SESSION_KIND) told.open();
        }
      };
      await using other = open({ ...store, watch });
      await following.opened();
      const late = await create(first, 'cookie');
      await told.opened();
      await server.stop('SIGQUIT');
      try {
        assert.deepEqual([await stateOf(other, early.token), await stateOf(other, late.token)], ['live', 'live']);
      } finally {
        await server.start();
      }
    });

    it('are not forgotten by the process that made them when the feed tells of them', async () => {
      if (driver.name === 'sqlite') return;
      const following = createLatch('the feed to be followed');
      const told = createLatch('the feed to tell of the session');
      const watch: Store['watch'] = async function* (domain, from, signal) {
        following.open();
        for await (const entry of store.watch(domain, from, signal)) {
          yield entry;
          if (entry.kind === SESSION_KIND) told.open();
        }
      };
      const get: Store['get'] = () => Promise.reject(new StoreUnavailable('away'));
      await using sessions = open({ ...store, watch, get });
      await following.opened();
      const { token } = await create(sessions, 'token');
      await told.opened();
      assert.equal(await stateOf(sessions, token), 'live');
    });

    it('end without use, and slide with it, but not past their end', async () => {
      await using sessions = open();
      for (const kind of ['cookie', 'token'] as const) {
        const { idleMs, maxMs } = LIFETIMES[kind];
        const idle = await create(sessions, kind);
        now += idleMs - 1;
        assert.equal(await stateOf(sessions, idle.token), 'live');
        now += 1;
        assert.equal(await stateOf(sessions, idle.token), 'gone');

        const used = await create(sessions, kind);
        let resent = 0;
        for (let spent = 0; spent + idleMs / 4 < maxMs; spent += idleMs / 4) {
          now += idleMs / 4;
          const found = await sessions.find(used.token);
          assert.equal(found.state, 'live', `${kind} after ${spent / MINUTE} minutes`);
          if (found.state === 'live' && sessions.touch(found.session)) resent += 1;
        }
        assert.equal(resent > 3, kind === 'cookie');
        now += idleMs / 4;
        assert.equal(await stateOf(sessions, used.token), 'gone');
      }
    });

    it('are written at most once a minute', async () => {
      await using sessions = open();
      const { token, session } = await create(sessions, 'cookie');
      for (let i = 0; i < 100; i++) {
        now += 500;
        const found = await sessions.find(token);
        if (found.state === 'live') sessions.touch(found.session);
      }
      await sessions[Symbol.asyncDispose]();
      assert.equal((await store.get(SYSTEM_SPACE, SESSION_KIND, session.id))?.version, session.version);
    });

    it('outlive a restart, with the use that was made of them', async () => {
      const first = open();
      const { token } = await create(first, 'cookie');
      now += 50 * MINUTE;
      const found = await first.find(token);
      assert.ok(found.state === 'live');
      first.touch(found.session);
      await first[Symbol.asyncDispose]();
      now += 50 * MINUTE;
      await using second = open();
      assert.equal(await stateOf(second, token), 'live');
    });

    it('stay known for a week after their end, and are forgotten then', async () => {
      await using sessions = open();
      const [ended, expired] = [await create(sessions, 'token'), await create(sessions, 'cookie')];
      await sessions.end(ended.session);
      now += 7 * DAY - MINUTE;
      await sweepSessions(store, now);
      for (const { token } of [ended, expired]) assert.equal(await stateOf(sessions, token), 'gone');
      now += 2 * HOUR;
      await sweepSessions(store, now);
      for (const { token } of [ended, expired]) assert.equal(await stateOf(sessions, token), 'unknown');
      assert.deepEqual(await store.query(SYSTEM_SPACE, `session-of:d:user-${users}`, {}), []);
    });

    it('that were never issued are unknown, whatever they look like', async () => {
      await using sessions = open();
      for (const token of [
        '',
        'x',
        'rs1_',
        `rs1_${'A'.repeat(43)}`,
        `rt1_${'A'.repeat(44)}`,
        'rs1_\0',
        '%',
        'a'.repeat(5000),
      ])
        assert.equal(await stateOf(sessions, token), 'unknown', token);
    });

    it('cannot be kept alive once they ended', async () => {
      await using sessions = open();
      const { token, session } = await create(sessions, 'cookie');
      now += 2 * MINUTE;
      const ending = sessions.end(session);
      sessions.touch(session);
      await ending;
      assert.equal(await stateOf(sessions, token), 'gone');
      assert.equal(sessions.touch(session), undefined);
      await sessions[Symbol.asyncDispose]();
      await using again = open();
      assert.equal(await stateOf(again, token), 'gone');
    });

    it('used in another process are not taken for idle here', { skip: driver.name === 'sqlite' }, async () => {
      await using there = open(await database.open());
      await using here = open();
      const { token } = await create(here, 'cookie');
      now += 40 * MINUTE;
      const found = await there.find(token);
      assert.ok(found.state === 'live');
      there.touch(found.session);
      await there[Symbol.asyncDispose]();
      now += 40 * MINUTE;
      assert.equal(await stateOf(here, token), 'live');
    });
  });
});
