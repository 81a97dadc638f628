import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTokenBucket } from './limit.ts';

const heldClock = () => {
  let ms = 0;
  return { now: () => ms, pass: (more: number) => (ms += more) };
};

describe('a token bucket', () => {
  it('allows a burst, then its rate', () => {
    const clock = heldClock();
    const bucket = createTokenBucket({ ratePerSec: 2, burst: 3, now: clock.now });
    assert.deepEqual([bucket.take('a'), bucket.take('a'), bucket.take('a'), bucket.take('a')], [0, 0, 0, 500]);
    assert.equal(bucket.take('b'), 0);
    clock.pass(499);
    assert.equal(bucket.take('a'), 1);
    clock.pass(1);
    assert.equal(bucket.take('a'), 0);
    clock.pass(60_000);
    assert.deepEqual([bucket.take('a', 3), bucket.take('a')], [0, 500]);
  });
});

describe('the keys of a token bucket', () => {
  it('are as many as it may hold: the one unused for longest is forgotten', () => {
    const clock = heldClock();
    const bucket = createTokenBucket({ ratePerSec: 1, burst: 1, maxKeys: 2, now: clock.now });
    assert.deepEqual([bucket.take('a'), bucket.take('b')], [0, 0]);
    assert.ok(bucket.take('a') > 0, 'used again, so the other is the older one');
    assert.equal(bucket.take('c'), 0);
    assert.ok(bucket.take('a') > 0);
    assert.equal(bucket.take('b'), 0);
  });
});
