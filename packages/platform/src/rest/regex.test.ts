import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Problem } from '@parley/kit/problem.ts';
import { createPatternCache } from './regex.ts';

it('patterns of callers are short and small, and differ by their case', () => {
  const { compile } = createPatternCache();
  const refuses = (pattern: string, reason: RegExp): void =>
    assert.throws(
      () => compile(pattern, false, 'name'),
      (thrown) => thrown instanceof Problem && thrown.status === 400 && reason.test(thrown.message),
      pattern.slice(0, 40),
    );
  assert.equal(compile('a'.repeat(256), false, 'name')('a'.repeat(256)), true);
  refuses('a'.repeat(257), /at most 256 characters/);
  assert.equal(compile('a{1000}'.repeat(4), false, 'name')('a'.repeat(4000)), true);
  refuses('a{1000}'.repeat(6), /too complex/);
  refuses('(a', /not supported/);
  assert.deepEqual([compile('ab', false, 'name')('AB'), compile('ab', true, 'name')('AB')], [false, true]);
});
