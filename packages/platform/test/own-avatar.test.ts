import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { it } from 'node:test';
import { ADMIN_PASSWORD, startTestPlatform } from './start-test-platform.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

it('a picture that takes the place of another leaves one file, and none when it is taken away', async () => {
  await using platform = await startTestPlatform();
  const admin = await platform.signIn('admin', ADMIN_PASSWORD);
  const all = async (): Promise<string[]> => (await readdir(platform.folder, { recursive: true })).sort();
  const before = await all();
  const added = async (): Promise<number> => {
    const names = (await all()).filter((name) => !before.includes(name));
    return names.filter((name) => /[0-9a-f]{32}$/.test(name)).length;
  };
  const { authorization } = { authorization: await tokenOf(platform) };
  const put = async (rest: string): Promise<number> => {
    const answer = await fetch(`${platform.url}/rest/v1/user/avatar`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/octet-stream' },
      body: Buffer.concat([PNG, Buffer.from(rest)]),
    });
    await answer.body?.cancel();
    return answer.status;
  };
  assert.equal(await put('one'), 200);
  const single = await added();
  assert.ok(single >= 1);
  assert.equal(await put('two'), 200);
  assert.equal(await added(), single, 'the first is gone');
  assert.equal(await put('two'), 200);
  assert.equal(await added(), single, 'the same again stays');
  assert.equal(await put('x'.repeat(1_048_576 - PNG.length)), 200, '1 MiB');
  assert.equal(await put('x'.repeat(1_048_577 - PNG.length)), 413);
  assert.equal(await added(), single);
  assert.equal((await admin.call('DELETE', 'user/avatar')).status, 204);
  assert.equal(await added(), 0);
});

const tokenOf = async ({ guest }: Awaited<ReturnType<typeof startTestPlatform>>): Promise<string> => {
  const body = { domain: 'master', login: 'admin', pwd: ADMIN_PASSWORD, session_type: 'token' };
  return `Bearer ${(await guest.call('POST', 'iam/sessions', { body })).body.session_token}`;
};
