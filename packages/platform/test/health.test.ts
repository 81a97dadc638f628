/** What load balancers and operators ask. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '@parley/kit/clock.ts';
import { eachStore } from '@parley/kit/testing/each-store.ts';
import type { PostgresServer } from '@parley/kit/testing/postgres-server.ts';
import { ADMIN_PASSWORD, startTestPlatform } from './start-test-platform.ts';

/** Ends the server as a crash would. It comes back with `end`, or with the test however that ends. */
const takeAway = async (server: PostgresServer) => {
  await server.stop('SIGQUIT');
  let isAway = true;
  const end = async (): Promise<void> => {
    if (isAway) await server.start();
    isAway = false;
  };
  return { end, [Symbol.asyncDispose]: end };
};

eachStore((driver) => {
  describe('health', () => {
    it('is told without a credential, part by part', async () => {
      await using database = await driver.createDatabase();
      await using platform = await startTestPlatform(database.place);
      assert.deepEqual((await platform.guest.call('GET', '/healthz')).body, { status: 'ok' });
      const ready = await platform.guest.call('GET', '/readyz');
      assert.deepEqual([ready.status, ready.body], [200, { status: 'ready', checks: { store: 'ok', lookup: 'ok' } }]);
    });

    it('says when the database is away; what needs it is 503 then, what does not goes on', {
      skip: driver.name === 'sqlite',
    }, async () => {
      await using database = await driver.createDatabase();
      await using platform = await startTestPlatform(database.place);
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      const server = driver.postgres()!;
      await using away = await takeAway(server);
      const ready = await platform.guest.call('GET', '/readyz');
      assert.deepEqual([ready.status, ready.body.status, ready.body.checks.lookup], [503, 'not ready', 'ok']);
      assert.equal((await platform.guest.call('GET', '/healthz')).status, 200);
      assert.equal((await admin.call('GET', 'iam/users/current')).status, 200);
      const body = { login: 'admin', pwd: ADMIN_PASSWORD };
      const refused = await platform.guest.call('POST', 'iam/sessions', { body });
      assert.deepEqual([refused.status, refused.body.error_code], [503, 1503], refused.text);
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
      const guess = { authorization: `Bearer rt1_${'A'.repeat(43)}` };
      assert.equal((await platform.as(guess).call('GET', 'iam/users')).status, 503);
      assert.equal((await admin.call('PATCH', 'user/ext', { body: { a: 1 } })).status, 503);
      await away.end();
      while ((await platform.guest.call('GET', '/readyz')).status !== 200) await systemClock.delay(50);
      // The first write may still meet a connection that broke.
      const signIn = async () => (await platform.guest.call('POST', 'iam/sessions', { body })).status;
      for (let status = await signIn(); status !== 204; status = await signIn()) {
        assert.equal(status, 503);
        await systemClock.delay(50);
      }
      assert.equal((await admin.call('PATCH', 'user/ext', { body: { a: 1 } })).status, 200);
    });
  });
});
