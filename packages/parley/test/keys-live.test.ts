/** `parley keys` beside a running service: what it issues works at once, what it rotates or removes does not. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createDataDir, KEY, startService } from '../../../tools/soak/service.ts';

const BIN = fileURLToPath(new URL('../bin/parley.js', import.meta.url));
const run = promisify(execFile);

describe('parley keys', () => {
  it('is obeyed by a service that runs, without a restart', async () => {
    const data = await createDataDir();
    const service = await startService(data.path);
    const keys = async (...args: string[]): Promise<string> =>
      (await run(process.execPath, [BIN, 'keys', ...args, '--data-dir', data.path])).stdout.trim();
    const ask = async (secret: string, path = '/api/v1/models', method = 'GET'): Promise<number> => {
      const answer = await fetch(`${service.url}${path}`, { method, headers: { authorization: `Bearer ${secret}` } });
      await answer.arrayBuffer();
      return answer.status;
    };
    try {
      const unload = '/api/v1/models/demo-transducer-en/unload';
      const plain = await keys('issue', 'desk');
      const admin = await keys('issue', 'chief', '--admin');
      assert.deepEqual([await ask(plain), await ask(plain, unload, 'POST')], [200, 403]);
      assert.deepEqual([await ask(admin), await ask(admin, unload, 'POST')], [200, 200]);
      const rotated = await keys('rotate', 'desk');
      assert.deepEqual([await ask(plain), await ask(rotated)], [401, 200]);
      const list = await keys('list');
      assert.match(list, /desk/);
      assert.ok(!list.includes(rotated) && !list.includes(admin));
      await keys('remove', 'desk');
      assert.deepEqual([await ask(rotated), await ask(admin), await ask(KEY)], [401, 200, 200]);
    } finally {
      await service.stop();
      await data.remove();
    }
  });
});
