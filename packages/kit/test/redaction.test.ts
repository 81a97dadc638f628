import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';

it('a log cuts out every name under which a secret may come', () => {
  const secret = 'never-to-be-seen';
  const program = `
    import { createLog } from ${JSON.stringify(new URL('../src/log.ts', import.meta.url).href)};
    const log = createLog('test');
    const secret = ${JSON.stringify(secret)};
    for (const name of ['authorization', 'password', 'pwd', 'token', 'secret']) log.info({ user: { [name]: secret } }, name);
    log.info({ req: { headers: { authorization: secret, cookie: secret, accept: 'kept' } } }, 'request');`;
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  assert.equal(stderr.match(/\[redacted\]/g)?.length, 7);
  assert.ok(stderr.includes('kept') && !stderr.includes(secret), stderr);
});
