import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPasswords } from '../src/auth/password.ts';
import { ADMIN_PASSWORD, startTestPlatform } from './start-test-platform.ts';

it('hashes of passwords can be brought in by who covers everything, where the operator allows it', async () => {
  await using platform = await startTestPlatform(undefined, { 'platform.export.secrets': 'true' });
  const admin = await platform.signIn('admin', ADMIN_PASSWORD);
  const routes = [{ methods: ['*'], url: '/iam/users*' }];
  assert.equal((await admin.call('POST', 'domain/roles', { body: { name: 'clerks', routes } })).status, 200);
  const clerk = { login: 'clerk', pwd: 'Some-Pass-1', opts: { roles: ['clerks'] } };
  assert.equal((await admin.call('POST', 'iam/users', { body: clerk })).status, 200);
  const own = await platform.signIn('clerk', 'Some-Pass-1');
  const pwd = await createPasswords().hash('Brought-Along-1');
  const refused = await own.call('POST', 'iam/users', { body: { login: 'guest', pwd } });
  assert.deepEqual([refused.status, refused.body.error_details.field], [403, 'pwd']);
  assert.equal((await own.call('POST', 'iam/users', { body: { login: 'plain', pwd: 'Some-Pass-2' } })).status, 200);
  assert.equal((await admin.call('POST', 'iam/users', { body: { login: 'guest', pwd } })).status, 200);
  const guest = await platform.signIn('guest', 'Brought-Along-1');
  assert.equal((await guest.call('GET', 'iam/users/current')).status, 200);
});
