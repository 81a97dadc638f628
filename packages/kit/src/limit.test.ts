import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSlidingWindow, createTokenBucket } from './limit.ts';

const heldClock = () => {
  let ms = 0;
  return { now: () => ms, pass: (more: number) => (ms += more) };
};

describe('a sliding window', () => {
  it('gives its places once, and each back when its time is over', () => {
    const clock = heldClock();
    const window = createSlidingWindow({ max: 2, windowMs: 1000, now: clock.now });
    assert.equal(window.take('a').ok, true);
    clock.pass(600);
    assert.equal(window.take('a').ok, true);
    assert.deepEqual(window.take('a'), { ok: false, retryAfterMs: 400 });
    assert.equal(window.take('b').ok, true);
    clock.pass(400);
    assert.equal(window.countOf('a'), 1);
    assert.equal(window.take('a').ok, true);
    assert.deepEqual(window.take('a'), { ok: false, retryAfterMs: 600 });
  });

  it('takes a place back, once', () => {
    const window = createSlidingWindow({ max: 2, windowMs: 1000, now: () => 0 });
    const first = window.take('a');
    window.take('a');
    assert.ok(first.ok);
    first.giveBack();
    first.giveBack();
    assert.equal(window.countOf('a'), 1);
  });

  it('forgets the key that was used longest ago when there are too many', () => {
    const window = createSlidingWindow({ max: 1, windowMs: 1000, maxKeys: 2, now: () => 0 });
    window.take('a');
    window.take('b');
    window.countOf('a');
    window.take('c');
    assert.deepEqual([window.countOf('a'), window.countOf('b'), window.countOf('c')], [1, 0, 1]);
  });
});

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
