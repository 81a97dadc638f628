import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toWords } from './normalize.ts';
import { cerOf, percentile, scoreWords, sumOf, werInterval, werOf } from './word-errors.ts';

const score = (reference: string, hypothesis: string) =>
  scoreWords(toWords(reference, 'basic'), toWords(hypothesis, 'basic'));

describe('normalising', () => {
  it('brings letters to one case and takes marks away, but not apostrophes within words', () => {
    assert.deepEqual(toWords('Don’t stop — it’s 5 o‘clock, ‘tis NOT over!', 'basic'), [
      ...["don't", 'stop', "it's", '5', "o'clock", 'tis', 'not', 'over'],
    ]);
    assert.deepEqual(toWords('Ёлка, ПРИВЕТ! кто-то', 'basic'), ['ёлка', 'привет', 'кто', 'то']);
    assert.deepEqual(toWords('ＡＢＣ１２３', 'basic'), ['abc123']);
    assert.deepEqual(toWords('हिन्दी', 'basic'), ['हिन्दी']);
  });

  it('leaves all as it is when told so', () => {
    assert.deepEqual(toWords('  Don’t,\n stop! ', 'none'), ['Don’t,', 'stop!']);
    assert.deepEqual(toWords('', 'none'), []);
  });
});

describe('error rates', () => {
  it('are errors by what was said, so more than 1 where much was added', () => {
    assert.equal(werOf(score('The cat sat.', 'the cat sat')), 0);
    assert.equal(werOf(score('one two three four', 'one too three')), 0.5);
    assert.equal(werOf(score('one', 'one two three')), 2);
    assert.equal(werOf(score('', 'noise')), undefined);
  });

  it('count characters without spaces', () => {
    const both = score('ice cream', 'icecream');
    assert.deepEqual([both.characters, both.characterErrors, cerOf(both)], [8, 0, 0]);
    assert.equal(cerOf(score('kitten', 'sitting')), 3 / 6);
    assert.equal(cerOf(score('今日は', '今日わ')), 1 / 3);
    assert.equal(score('😀😀', '😀').characterErrors, 0, 'marks are no characters of words');
  });

  it('are summed over words, not averaged over recordings', () => {
    const all = [score('a b c d e f g h i', 'a b c d e f g h i'), score('x', 'y')];
    assert.equal(werOf(sumOf(all)), 1 / 10);
  });

  it('come with an interval that is the same every time and holds the rate', () => {
    const good = score('a b c d', 'a b c d');
    const bad = score('a b c d', 'a x y d');
    const all = [good, good, bad, good, bad, good, good, bad, good, good];
    const interval = werInterval(all)!;
    assert.deepEqual(werInterval(all), interval);
    // By the binomial distribution: of ten draws with chance 0.3 none is bad in 2.8 %, more than 6 are in 1.1 %.
    assert.deepEqual(interval, { low: 0, high: 0.3 });
    assert.deepEqual(werInterval([bad, bad]), { low: 0.5, high: 0.5 });
    assert.equal(werInterval([bad]), undefined);
  });
});

describe('percentiles', () => {
  it('are of the nearest rank', () => {
    assert.deepEqual(
      [0.5, 0.9, 0.99].map((share) => percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], share)),
      [5, 9, 10],
    );
    assert.equal(percentile([7], 0.5), 7);
  });
});
