/** `user reset` and `domain create` on a real platform. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { startParley, trySignIn } from './parley-process.ts';
import { runParley } from './run-parley.ts';

it('a lost password is replaced, and a domain is made with its administrator', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-users-'));
  const settings = { data_dir: folder, secret_key: '00'.repeat(32) };
  try {
    {
      await using parley = await startParley('platform', {}, folder);
      const url = await parley.url('platform');
      const running = await runParley(['user', 'reset'], settings);
      assert.deepEqual([running.code, /in use by another process/.test(running.said)], [1, true], running.said);
      const asAdmin = { ...settings, admin_password: 'Administrator-1' };
      const made = await runParley(['domain', 'create', 'work', '--admin', 'boss', '--url', url], asAdmin);
      assert.equal(made.code, 0, made.said);
      const pwd = made.said.trim().split('\n').at(-1)!;
      assert.equal((await trySignIn(url, 'boss', pwd, 'work')).status, 200);
      const again = await runParley(['domain', 'create', 'work', '--url', url], asAdmin);
      assert.deepEqual([again.code, /did not let/.test(again.said)], [1, false], again.said);
    }
    const reset = await runParley(['user', 'reset'], settings);
    assert.equal(reset.code, 0, reset.said);
    assert.match((await runParley(['user', 'reset', 'nobody'], settings)).said, /There is no user nobody in master/);
    assert.match((await runParley(['user', 'reset', '--domain', 'x'], settings)).said, /There is no domain x/);
    const inside = await runParley(['user', 'reset', 'boss', '--domain', 'work'], settings);
    assert.equal(inside.code, 0, inside.said);
    assert.equal((await runParley(['journal', 'verify'], settings)).code, 0);
    await using parley = await startParley('platform', {}, folder);
    const url = await parley.url('platform');
    assert.equal((await trySignIn(url, 'admin', 'Administrator-1')).status, 401);
    assert.equal((await trySignIn(url, 'admin', reset.said.trim())).status, 200);
    assert.equal((await trySignIn(url, 'boss', inside.said.trim(), 'work')).status, 200);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
