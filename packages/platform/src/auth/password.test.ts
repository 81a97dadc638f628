import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { describe, it } from 'node:test';
import { createPasswords, isPasswordHash } from './password.ts';
import { createPasswordPolicy } from './password-policy.ts';

const LIGHT = { memoryKib: 64, passes: 1, lanes: 1 };

describe('passwords', () => {
  it('are hashed with argon2id at the stated costs, each with a salt of its own', async () => {
    const passwords = createPasswords();
    const [one, two] = [await passwords.hash('pä ss'), await passwords.hash('pä ss')];
    assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    assert.notEqual(one, two);
    const [, , , , salt, tag] = one.split('$');
    const options = {
      message: 'pä ss',
      nonce: Buffer.from(salt!, 'base64'),
      memory: 19_456,
      passes: 2,
      parallelism: 1,
    };
    assert.equal(
      argon2Sync('argon2id', { ...options, tagLength: 32 })
        .toString('base64')
        .replaceAll('=', ''),
      tag,
    );
  });

  it('are verified as received, without cutting', async () => {
    const passwords = createPasswords({ costs: LIGHT });
    const phc = await passwords.hash('x'.repeat(256));
    assert.deepEqual(await passwords.verify(phc, 'x'.repeat(256)), { ok: true, outdated: false });
    for (const wrong of ['x'.repeat(255), 'x'.repeat(257), 'X'.repeat(256), '', `${'x'.repeat(256)} `]) {
      assert.equal((await passwords.verify(phc, wrong)).ok, false);
    }
  });

  it('are never right without a hash, nor with one that is none', async () => {
    const passwords = createPasswords({ costs: LIGHT });
    const huge = '$argon2id$v=19$m=4194304,t=2,p=1$c2FsdHNhbHRzYWx0$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
    for (const phc of [undefined, '', '*****', 'secret', '$2b$10$abc', huge]) {
      assert.deepEqual(await passwords.verify(phc, 'secret'), { ok: false, outdated: false });
      if (phc !== undefined) assert.equal(isPasswordHash(phc), false);
    }
  });

  it('made at lower costs are reported as outdated when they are right', async () => {
    const phc = await createPasswords({ costs: LIGHT }).hash('old');
    assert.equal(isPasswordHash(phc), true);
    const passwords = createPasswords();
    assert.deepEqual(await passwords.verify(phc, 'old'), { ok: true, outdated: true });
    assert.deepEqual(await passwords.verify(phc, 'bad'), { ok: false, outdated: false });
  });

  it('that wait too long, or too many, are answered 503', async () => {
    const impatient = createPasswords({ atOnce: 1, maxWaitMs: 1 });
    const results = await Promise.allSettled(Array.from({ length: 300 }, () => impatient.hash('x')));
    const faults = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
    assert.ok(faults.length >= 43 && results.some(({ status }) => status === 'fulfilled'));
    for (const fault of faults) assert.deepEqual([fault.status, fault.retryAfterSec], [503, 1]);
    assert.match(await impatient.hash('again'), /^\$argon2id/);
  });
});

describe('the policy', () => {
  it('names the first rule broken', async () => {
    const passwords = createPasswords({ costs: LIGHT });
    const policy = createPasswordPolicy(passwords);
    const holder = {
      login: 'Alice-Long',
      name: 'Alice.Miller',
      domain: 'example-corp',
      presentHash: await passwords.hash('Correct-1'),
    };
    const codeOf = async (password: string) => {
      const fault = await policy.check(password, holder);
      return fault && [fault.errorCode, fault.msgCode];
    };
    assert.deepEqual(await codeOf('pass word'), [1501, 15101]);
    assert.deepEqual(await codeOf('ü'), [1501, 15101]);
    assert.deepEqual(await codeOf('Abc-123'), [1502, 15102]);
    assert.deepEqual(await codeOf(`a${'b'.repeat(128)}`), [1503, 15103]);
    for (const guess of ['Password', '12345678', 'alice-long', 'ALICE.MILLER', 'example-corp'])
      assert.deepEqual(await codeOf(guess), [1504, 15104], guess);
    assert.deepEqual(await codeOf('Correct-1'), [1505, 15105]);
    assert.equal(await codeOf('Correct-2'), undefined);
    assert.equal(await codeOf('q.~!_-Z9'), undefined);
  });
});
