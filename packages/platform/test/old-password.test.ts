/** Changing the own password where that needs the old one: guessing it there is guessing it anywhere. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ADMIN_PASSWORD, startTestPlatform } from './start-test-platform.ts';

it('counts wrong old passwords as failed attempts', async () => {
  await using platform = await startTestPlatform(undefined, { 'platform.iam.require_old_pwd': 'true' });
  const admin = await platform.signIn('admin', ADMIN_PASSWORD);
  const change = async (pwd_old?: string) =>
    (await admin.call('PATCH', 'iam/users/current', { body: { pwd: 'New-password-1', pwd_old } })).status;
  assert.deepEqual(
    [await change(), await change('wrong'), await change('wrong'), await change('wrong')],
    [422, 422, 422, 422],
  );
  assert.equal(await change(ADMIN_PASSWORD), 200);
  assert.deepEqual([await change('wrong'), await change('New-password-1')], [422, 429]);
  await assert.rejects(platform.signIn('admin', 'New-password-1'), /429/);
  assert.equal((await admin.call('GET', 'iam/users/current')).status, 200);
  const long = await admin.call('PATCH', 'iam/users/current', { body: { pwd: 'x'.repeat(257) } });
  assert.equal(long.status, 400);
});
