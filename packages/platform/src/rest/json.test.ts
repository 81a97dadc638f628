import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compareText, flatten, isSame, mergePatch, unflatten } from './json.ts';

describe('a merge patch', () => {
  // RFC 7396, appendix A.
  const CASES: readonly [target: unknown, patch: unknown, result: unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  it('does what RFC 7396 shows', () => {
    for (const [target, patch, result] of CASES)
      assert.deepEqual(mergePatch(target, patch), result, JSON.stringify(patch));
  });
});

describe('flat keys', () => {
  it('become nested ones, and back', () => {
    const nested = { a: 1, opts: { title: 'x', deep: { y: [1] } } };
    assert.deepEqual(flatten(nested), { a: 1, 'opts.title': 'x', 'opts.deep.y': [1] });
    assert.deepEqual(
      unflatten(flatten(nested), () => true),
      nested,
    );
  });
  it('may stand beside the same nested ones only with the same value', () => {
    assert.deepEqual(
      unflatten({ 'opts.a': 1, opts: { b: 2 } }, () => true),
      { opts: { a: 1, b: 2 } },
    );
    assert.deepEqual(
      unflatten({ opts: { a: 1 }, 'opts.a': 1 }, () => true),
      { opts: { a: 1 } },
    );
    assert.throws(() => unflatten({ 'opts.a': 1, opts: { a: 2 } }, () => true), { status: 400 });
    assert.throws(() => unflatten({ opts: 1, 'opts.a': 1 }, () => true), { status: 400 });
  });
  it('leave the caller’s own objects alone', () => {
    const opts = { b: 2 };
    unflatten({ opts, 'opts.a': 1 }, () => true);
    assert.deepEqual(opts, { b: 2 });
  });
});

describe('the order of text', () => {
  it('is that of code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (left, right) => {
        const byPoints = Buffer.compare(Buffer.from(left), Buffer.from(right));
        assert.equal(Math.sign(compareText(left, right)), byPoints);
      }),
    );
    assert.ok(compareText('\uffee', '😀') < 0);
  });
});

describe('equality', () => {
  it('does not mind the order of keys, and tells lists from objects', () => {
    assert.equal(isSame({ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }), true);
    for (const [left, right] of [
      [[], {}],
      [{ a: undefined }, { b: 1 }],
      [[1], [1, 2]],
      [null, {}],
      [1, '1'],
    ]) {
      assert.equal(isSame(left, right), false);
      assert.equal(isSame(right, left), false);
    }
  });
});
