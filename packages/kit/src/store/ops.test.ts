import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../problem.ts';
import { toAlsoOps, toOps } from './ops.ts';
import type { Change } from './store.ts';

const drop: Change = { op: 'drop', kind: 'k', id: 'i' };
const work = { op: 'enqueue', queue: 'q', id: 'i', priority: 0, share: 's', readyAtMs: 0 } as const;
const refuses =
  (param: string, status = 400) =>
  (thrown: unknown): boolean =>
    thrown instanceof Problem && thrown.status === status && thrown.param === param;

describe('the changes of a commit', () => {
  it('are at most 100,000', () => {
    assert.equal(toOps('d', new Array<Change>(100_000).fill(drop)).length, 100_000);
    assert.throws(() => toOps('d', new Array<Change>(100_001).fill(drop)), refuses('changes', 413));
  });

  it('name each domain once', () => {
    assert.equal(toAlsoOps('a', [{ domain: 'b', changes: [drop] }]).length, 1);
    assert.throws(() => toAlsoOps('a', [{ domain: 'a', changes: [drop] }]), /twice/);
    const twice = { domain: 'b', changes: [drop] };
    assert.throws(() => toAlsoOps('a', [twice, twice]), /twice/);
  });

  it('have whole numbers and texts of at most 512 bytes', () => {
    assert.equal(toOps('d', [{ ...drop, id: 'ä'.repeat(256) }]).length, 1);
    assert.throws(() => toOps('d', [{ ...drop, id: `${'ä'.repeat(256)}a` }]), refuses('id'));
    assert.throws(() => toOps('d', [{ op: 'still', kinds: ['a\0'], since: 0 }]), refuses('kind'));
    assert.throws(() => toOps('d', [{ op: 'still', kinds: [], since: 0.5 }]), refuses('since'));
    assert.throws(() => toOps('d', [{ op: 'check', kind: 'k', id: 'i', expect: Number.NaN }]), refuses('expect'));
    for (const [name, value] of [
      ['priority', 0.5],
      ['readyAtMs', Number.POSITIVE_INFINITY],
      ['share', '\0'],
      ['owner', '\ud800'],
      ['queue', 'q'.repeat(513)],
    ] as const) {
      assert.throws(() => toOps('d', [{ ...work, [name]: value }]), refuses(name), name);
    }
    assert.throws(
      () => toOps('d', [{ op: 'renew', queue: 'q', id: 'i', owner: 'me', untilMs: 1.5 }]),
      refuses('untilMs'),
    );
  });
});
