import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createDeltas } from './deltas.ts';

describe('deltas', () => {
  it('of a decoder that only appends are told at once', () => {
    const deltas = createDeltas(false);
    assert.deepEqual(['trans', 'transfer', 'transfer', 'transfer nine'].map(deltas.push), [
      'trans',
      'fer',
      '',
      ' nine',
    ]);
    assert.equal(deltas.finish('transfer nine.'), '.');
  });

  it('of one that takes words back wait until two hypotheses agree and another word follows', () => {
    const deltas = createDeltas(true);
    const texts = [
      'sail',
      'sails wait',
      'sails weight',
      'sails weight now',
      'sales weight now then',
      'sails weight now',
    ];
    assert.deepEqual(texts.map(deltas.push), ['', '', 'sails', '', '', '']);
    assert.equal(deltas.finish('sails weight now'), ' weight now');
  });

  it('never contradict what was told, whatever the decoder says', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba'), { maxLength: 6 }).map((words) => words.join(' '));
    fc.assert(
      fc.property(fc.boolean(), fc.array(text), text, (retracts, hypotheses, last) => {
        const deltas = createDeltas(retracts);
        let told = '';
        for (const delta of [...hypotheses.map(deltas.push), deltas.finish(last)]) told += delta;
        assert.equal(told, deltas.told);
      }),
    );
    fc.assert(
      fc.property(fc.boolean(), fc.array(text), (retracts, appended) => {
        const deltas = createDeltas(retracts);
        let whole = '';
        let told = '';
        for (const more of appended) {
          whole = whole === '' ? more : `${whole} ${more}`;
          told += deltas.push(whole);
        }
        assert.equal(told + deltas.finish(whole), whole);
      }),
    );
  });
});
