import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPasswords } from './password.ts';
import { createPasswordPolicy } from './password-policy.ts';

describe('the policy for passwords', () => {
  it('takes 8 to 128 signs, the ends among them, and says what is wrong by its code', async () => {
    const passwords = createPasswords({ costs: { memoryKib: 8, passes: 1, lanes: 1 } });
    const policy = createPasswordPolicy(passwords);
    const holder = { login: 'annabelle', name: 'Ann.The.First', domain: 'master.example' };
    const codeOf = async (password: string, presentHash?: string) =>
      (await policy.check(password, presentHash === undefined ? holder : { ...holder, presentHash }))?.errorCode;
    const long = 'aB3-'.repeat(32);
    assert.deepEqual([long.length, await codeOf(long), await codeOf(`${long}x`)], [128, undefined, 1503]);
    assert.deepEqual([await codeOf('xk7-Qw2.'), await codeOf('xk7-Qw2')], [undefined, 1502]);
    assert.equal(await codeOf('with space'), 1501);
    for (const word of ['Annabelle', 'ann.the.first', 'MASTER.example', 'password', 'PassWord1']) {
      assert.equal(await codeOf(word), 1504, word);
    }
    const present = await passwords.hash('xk7-Qw2.');
    assert.deepEqual([await codeOf('xk7-Qw2.', present), await codeOf('xk7-Qw2!', present)], [1505, undefined]);
  });
});
