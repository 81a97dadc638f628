import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assign } from './assignment.ts';
import { type DiarizationRules, derOf, scoreSpeakers, type Turn } from './diarization-errors.ts';

const turns = (...list: readonly (readonly [speaker: string, start: number, end: number])[]): Turn[] =>
  list.map(([speaker, start, end]) => ({ speaker, start, end }));

const PLAIN: DiarizationRules = { collarSec: 0, overlap: true };
const TWO = turns(['anna', 0, 10], ['boris', 10, 20]);

const parts = (said: Turn[], heard: Turn[], endSec: number, rules: DiarizationRules): number[] => {
  const { scored, missed, falseAlarm, confusion } = scoreSpeakers(said, heard, [{ start: 0, end: endSec }], rules);
  return [scored, missed, falseAlarm, confusion].map((sec) => Math.round(sec * 1e6) / 1e6);
};

/** Every way to pair, tried. */
const bestSum = (gains: readonly (readonly number[])[], row = 0, taken: readonly number[] = []): number => {
  if (row === gains.length) return 0;
  const left = gains[row]!.map((_, column) => column).filter((column) => !taken.includes(column));
  const sums = left.map((column) => gains[row]![column]! + bestSum(gains, row + 1, [...taken, column]));
  return Math.max(bestSum(gains, row + 1, taken), ...sums);
};

describe('pairing', () => {
  it('takes the greatest sum, not the greatest pair', () => {
    assert.deepEqual(
      assign([
        [5, 4],
        [4, 0],
      ]),
      [1, 0],
    );
    assert.deepEqual(assign([[1], [3], [2]]), [undefined, 0, undefined]);
    assert.deepEqual(assign([[], []]), [undefined, undefined]);
    assert.deepEqual(assign([]), []);
  });

  it('finds the best of all ways, whatever the gains', () => {
    const matrices = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })).chain(([rows, columns]) =>
      fc.array(fc.array(fc.nat(20), { minLength: columns, maxLength: columns }), {
        minLength: rows,
        maxLength: rows,
      }),
    );
    fc.assert(
      fc.property(matrices, (gains) => {
        const chosen = assign(gains);
        const used = chosen.filter((column) => column !== undefined);
        assert.equal(new Set(used).size, used.length);
        const sum = chosen.reduce<number>((total, column, row) => total + (gains[row]![column ?? -1] ?? 0), 0);
        assert.equal(sum, bestSum(gains));
      }),
    );
  });
});

describe('diarization error rate', () => {
  it('is nothing where only the names differ', () => {
    assert.deepEqual(parts(TWO, turns(['x', 10, 20], ['y', 0, 10]), 20, PLAIN), [20, 0, 0, 0]);
  });

  it('counts time given to the wrong speaker', () => {
    assert.deepEqual(parts(TWO, turns(['x', 0, 12], ['y', 12, 20]), 20, PLAIN), [20, 0, 0, 2]);
  });

  it('leaves a collar around every boundary of the reference', () => {
    const heard = turns(['x', 0, 12], ['y', 12, 20]);
    assert.deepEqual(parts(TWO, heard, 20, { collarSec: 0.25, overlap: true }), [19, 0, 0, 1.75]);
  });

  it('counts speech that was missed, and speech that was not there', () => {
    assert.deepEqual(parts(TWO, turns(['x', 0, 10], ['y', 13, 20]), 30, PLAIN), [20, 3, 0, 0]);
    const long = turns(['x', 0, 10], ['y', 10, 24]);
    assert.deepEqual(parts(TWO, long, 30, PLAIN), [20, 0, 4, 0]);
    assert.deepEqual(parts(TWO, long, 30, { collarSec: 0.25, overlap: true }), [19, 0, 3.75, 0]);
    assert.deepEqual(parts(TWO, long, 20, PLAIN), [20, 0, 0, 0], 'outside of what is scored');
    assert.deepEqual(parts(TWO, [], 20, PLAIN), [20, 20, 0, 0]);
  });

  it('counts each speaker where several speak, or leaves that out', () => {
    const said = turns(['anna', 0, 10], ['boris', 5, 15]);
    // 5 s right, 5 s with one of two missed, 5 s of the other one under the first one's name.
    assert.deepEqual(parts(said, turns(['x', 0, 15]), 15, PLAIN), [20, 5, 0, 5]);
    assert.deepEqual(parts(said, turns(['x', 0, 15]), 15, { collarSec: 0, overlap: false }), [10, 0, 0, 5]);
    assert.deepEqual(parts(said, turns(['x', 0, 10], ['y', 5, 15]), 15, PLAIN), [20, 0, 0, 0]);
  });

  it('takes turns of one speaker that lie over each other for one', () => {
    const said = turns(['anna', 0, 6], ['anna', 4, 10]);
    assert.deepEqual(parts(said, turns(['x', 0, 10]), 10, PLAIN), [10, 0, 0, 0]);
  });

  it('is the sum of what went wrong by what was said', () => {
    assert.equal(derOf({ scored: 20, missed: 1, falseAlarm: 2, confusion: 3 }), 0.3);
    assert.equal(derOf({ scored: 0, missed: 0, falseAlarm: 2, confusion: 0 }), undefined);
  });
});
