/** Sessions that end together, and those that are made together. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '@parley/kit/clock.ts';
import { createSilentLog } from '@parley/kit/log.ts';
import { createSqliteDatabase } from '@parley/kit/testing/each-store.ts';
import { SESSION_KIND, sweepSessions } from '../src/auth/session-rows.ts';
import { openSessions } from '../src/auth/sessions.ts';
import { SYSTEM_SPACE } from '../src/domains/types.ts';

const OWNER = { home: 'd', userId: 'ann' };
const WEEK_MS = 7 * 86_400_000;

const open = async (stack: AsyncDisposableStack, maxPerUser = 100) => {
  let nowMs = 1_800_000_000_000;
  const store = await stack.use(await createSqliteDatabase()).open();
  const sessions = stack.use(
    openSessions({
      store,
      clock: { ...systemClock, now: () => nowMs },
      log: createSilentLog(),
      maxPerUser,
      lifetimeOf: () => ({ idleMs: 60_000, maxMs: 600_000 }),
    }),
  );
  const create = () => sessions.create({ ...OWNER, kind: 'token', domain: 'd', address: '192.0.2.1', agent: 'test' });
  return {
    store,
    sessions,
    create,
    now: () => nowMs,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
};

describe('sessions of one account', () => {
  it('are dead from the moment their end was asked for, those made in that very moment too', async () => {
    await using stack = new AsyncDisposableStack();
    const { sessions, create } = await open(stack);
    const [one, two] = [await create(), await create()];
    const ending = sessions.endAllOf(OWNER, two.session.id);
    assert.equal((await sessions.find(one.token)).state, 'gone', 'before its row says so');
    assert.equal((await sessions.find(two.token)).state, 'live');
    assert.equal(await ending, 1);
    assert.deepEqual(
      (await sessions.listOf(OWNER)).map(({ id }) => id),
      [two.session.id],
    );
  });

  it('are never more than allowed, however many are made at once', async () => {
    await using stack = new AsyncDisposableStack();
    const { sessions, create, pass } = await open(stack, 3);
    const first = await create();
    pass(1);
    const made = await Promise.all(Array.from({ length: 6 }, create));
    assert.equal((await sessions.listOf(OWNER)).length, 3);
    assert.equal((await sessions.find(first.token)).state, 'gone', 'the oldest goes first');
    const states = await Promise.all(made.map(async ({ token }) => (await sessions.find(token)).state));
    assert.deepEqual([states.filter((state) => state === 'live').length, states.at(-1)], [3, 'live']);
  });

  it('remember 256 signs of who made them, whole ones', async () => {
    await using stack = new AsyncDisposableStack();
    const { sessions } = await open(stack);
    const make = async (agent: string): Promise<string> =>
      (await sessions.create({ ...OWNER, kind: 'token', domain: 'd', address: '192.0.2.1', agent })).session.agent;
    assert.equal(await make('a'.repeat(300)), 'a'.repeat(256));
    assert.equal(await make(`${'a'.repeat(255)}\u{1f600}`), `${'a'.repeat(255)}\ufffd`);
  });

  it('stay for a week after their end, so that whoever still sends one is no guesser', async () => {
    await using stack = new AsyncDisposableStack();
    const { store, sessions, create, now, pass } = await open(stack);
    const { token, session } = await create();
    await sessions.end(session);
    pass(WEEK_MS);
    await sweepSessions(store, now());
    assert.equal((await sessions.find(token)).state, 'gone');
    pass(1);
    await sweepSessions(store, now());
    assert.equal((await sessions.find(token)).state, 'unknown');
    assert.equal(await store.count(SYSTEM_SPACE, SESSION_KIND), 0);
  });
});
