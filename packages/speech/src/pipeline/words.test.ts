import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Recognition } from '../recognizer/recognizer.ts';
import { splitText, toWords } from './words.ts';

const tokens = (...pairs: [string, number][]) => pairs.map(([text, start]) => ({ text, start }));

describe('toWords', () => {
  it('joins tokens into words at the word mark and at leading spaces', () => {
    const recognition: Recognition = {
      text: 'transfer three',
      tokens: tokens(['▁trans', 0.2], ['fer', 0.5], [' three', 1]),
    };
    assert.deepEqual(toWords(recognition, { start: 10, end: 12 })?.words, [
      { word: 'transfer', start: 10.2, end: 10.9 },
      { word: 'three', start: 11, end: 11.4 },
    ]);
  });

  it('takes the mean log-probability of the tokens as confidence', () => {
    const recognition: Recognition = {
      text: 'yes',
      tokens: [
        { text: ' y', start: 0, logProb: Math.log(0.5) },
        { text: 'es', start: 0.1, logProb: Math.log(0.5) },
      ],
    };
    assert.equal(toWords(recognition, { start: 0, end: 1 })?.words[0]?.confidence, 0.5);
  });

  it('says aligned when the tokens do not spell the text', () => {
    const recognition: Recognition = {
      text: 'at 5 pm',
      tokens: tokens([' at', 0], [' five', 1], [' p', 2], ['m', 2.2]),
    };
    const timed = toWords(recognition, { start: 0, end: 3 });
    assert.equal(timed?.source, 'aligned');
    assert.deepEqual(
      timed?.words.map((word) => word.word),
      ['at', '5', 'pm'],
    );
  });

  it('makes each character of a script without spaces a word', () => {
    assert.deepEqual(splitText('你好 hello世界'), ['你', '好', 'hello', '世', '界']);
    const recognition: Recognition = { text: '你好', tokens: tokens(['你', 0], ['好', 0.3]) };
    assert.equal(toWords(recognition, { start: 0, end: 1 })?.words.length, 2);
  });

  it('gives nothing when the engine gave no times', () => {
    assert.equal(toWords({ text: 'hello', tokens: [] }, { start: 0, end: 1 }), undefined);
  });

  it('keeps words in order and inside the utterance whatever the engine says', () => {
    const anyToken = fc.record({
      text: fc.constantFrom(' a', 'b', '▁c', ' ', '', '好', 'd '),
      start: fc.double({ min: -5, max: 50, noNaN: true }),
    });
    const run = fc.property(
      fc.array(anyToken, { minLength: 1, maxLength: 40 }),
      fc.string(),
      fc.double({ min: 0.1, max: 20, noNaN: true }),
      (some, text, length) => {
        const place = { start: 3, end: 3 + length };
        let before = place.start;
        for (const word of toWords({ text, tokens: some }, place)?.words ?? []) {
          assert.ok(word.start >= before - 0.001 && word.end >= word.start && word.end <= place.end + 0.001);
          before = word.end;
        }
      },
    );
    fc.assert(run, { numRuns: 500 });
  });
});
