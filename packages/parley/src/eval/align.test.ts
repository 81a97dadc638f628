import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { alignWords, countEdits } from './align.ts';

const split = (text: string): string[] => text.split(' ').filter((word) => word !== '');
const counts = (reference: string, hypothesis: string): number[] => {
  const { substitutions, deletions, insertions, matches } = alignWords(split(reference), split(hypothesis));
  return [matches.length, substitutions, deletions, insertions];
};

/** The whole table, as in a textbook. */
const leastCost = (a: readonly string[], b: readonly string[], substitution: number, gap: number): number => {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j * gap : i * gap)),
  );
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      table[i]![j] = Math.min(
        table[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : substitution),
        table[i - 1]![j]! + gap,
        table[i]![j - 1]! + gap,
      );
    }
  }
  return table[a.length]![b.length]!;
};

/** Long enough to leave the first band. */
const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 120 });

describe('aligning words', () => {
  it('counts right, substituted, deleted and inserted words', () => {
    assert.deepEqual(counts('the cat sat on the mat', 'the cat sat on the mat'), [6, 0, 0, 0]);
    assert.deepEqual(counts('the cat sat on the mat', 'the cat sit on mat now'), [4, 1, 1, 1]);
    assert.deepEqual(counts('a b c', ''), [0, 0, 3, 0]);
    assert.deepEqual(counts('', 'a b'), [0, 0, 0, 2]);
    assert.deepEqual(counts('', ''), [0, 0, 0, 0]);
  });

  it('rather takes three gaps on both sides than five substitutions, as sclite does: 18 is less than 20', () => {
    assert.deepEqual(counts('a b c d e', 'd e x y z'), [2, 0, 3, 3]);
    assert.equal(countEdits(split('a b c d e'), split('d e x y z')), 5);
  });

  it('says which words belong together', () => {
    const { matches } = alignWords(split('one two three four'), split('two tree four five'));
    assert.deepEqual(matches, [
      [1, 0],
      [3, 2],
    ]);
  });

  it('finds the least cost and the least number of edits, whatever the texts', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        const { substitutions, deletions, insertions, matches } = alignWords(a, b);
        assert.equal(4 * substitutions + 3 * (deletions + insertions), leastCost(a, b, 4, 3));
        assert.equal(matches.length + substitutions + deletions, a.length);
        assert.equal(matches.length + substitutions + insertions, b.length);
        assert.ok(matches.every(([i, j]) => a[i] === b[j]));
        assert.equal(countEdits(a, b), leastCost(a, b, 1, 1));
      }),
    );
  });

  it('takes hours of words', () => {
    const said = Array.from({ length: 40_000 }, (_, index) => `w${index % 997}`);
    const heard = said.filter((_, index) => index % 100 !== 7);
    const { deletions, substitutions, insertions } = alignWords(said, heard);
    assert.deepEqual([deletions, substitutions, insertions], [400, 0, 0]);
  });
});
