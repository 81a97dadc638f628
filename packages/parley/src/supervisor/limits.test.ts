import assert from 'node:assert/strict';
import { it } from 'node:test';
import { backOffMs, LIMITS } from './limits.ts';

it('a node that crashes is started again after 50 ms to 10 s, later the more often it crashed', () => {
  const longest = (crashes: number): number => {
    const waits = Array.from({ length: 1000 }, () => backOffMs(crashes, LIMITS));
    assert.ok(waits.every((ms) => ms >= 50 && ms <= 10_000));
    return Math.max(...waits);
  };
  assert.ok(longest(1) <= 100);
  assert.ok(longest(3) <= 400 && longest(3) > 200);
  assert.ok(longest(8) > 5000);
  assert.ok(longest(40) > 5000);
});
