import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createStamper } from './stamp.ts';

describe('stamps', () => {
  it('grow even when the clock stands or goes back', () => {
    let now = Date.parse('2026-01-02T03:04:05.678Z');
    const stamp = createStamper(() => now);
    assert.equal(stamp(), '2026-01-02T03:04:05.678000Z');
    assert.equal(stamp(), '2026-01-02T03:04:05.678001Z');
    now -= 10_000;
    assert.equal(stamp(), '2026-01-02T03:04:05.678002Z');
  });
  it('pass what a row already bears', () => {
    const stamp = createStamper(() => Date.parse('2026-01-01T00:00:00Z'));
    assert.equal(stamp('2030-12-31T23:59:59.999999Z'), '2031-01-01T00:00:00.000000Z');
  });
});
