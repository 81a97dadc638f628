/** What happens to words and their times when numbers are written as digits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { array, constantFrom, assert as holds, property } from 'fast-check';
import type { Word } from '../core/types.ts';
import { hasNumberRules, writeNumbers, writeNumbersIn } from './itn.ts';
import { ENGLISH_CURRENCIES, ENGLISH_MONTHS, ENGLISH_NUMBERS } from './itn-english-words.ts';
import { RUSSIAN_MONEY, RUSSIAN_MONTHS, RUSSIAN_NUMBERS } from './itn-russian-words.ts';

const timed = (text: string): Word[] =>
  text.split(' ').map((word, index) => ({ word, start: index, end: index + 0.75, confidence: 0.5 }));

const OTHERS = 'the at point percent a and p m o’clock half past to , minus plus oh double — five-year "ten"'.split(
  ' ',
);
const OTHERS_RU = 'в и без минут часов процентов целых десятых с половиной минус плюс утра года человек'.split(' ');
const VOCABULARY = {
  en: [...ENGLISH_NUMBERS.words.keys(), ...ENGLISH_MONTHS.keys(), ...ENGLISH_CURRENCIES.keys(), ...OTHERS],
  ru: [...RUSSIAN_NUMBERS.words.keys(), ...RUSSIAN_MONTHS, ...RUSSIAN_MONEY, ...OTHERS_RU, 'сто,', 'Двадцать'],
};

/** What must hold of any words: nothing is lost, and every time is one that was there. */
const checkTimes = (before: readonly Word[], after: readonly Word[]): void => {
  let next = 0;
  for (const word of after) {
    const said = word.original?.split(' ') ?? [word.word];
    const source = before.slice(next, next + said.length);
    assert.deepEqual(
      source.map((one) => one.word),
      said,
    );
    assert.equal(word.start, source[0]!.start);
    assert.equal(word.end, source.at(-1)!.end);
    assert.notEqual(word.word, '');
    next += said.length;
  }
  assert.equal(next, before.length);
};

describe('words with numbers', () => {
  it('merge into one with the span of all and what was said', () => {
    assert.deepEqual(writeNumbersIn(timed('transfer twenty five dollars now'), 'en'), [
      { word: 'transfer', start: 0, end: 0.75, confidence: 0.5 },
      { word: '$25', start: 1, end: 3.75, confidence: 0.5, original: 'twenty five dollars' },
      { word: 'now', start: 4, end: 4.75, confidence: 0.5 },
    ]);
  });

  it('keep the parts of a date apart', () => {
    const words = writeNumbersIn(timed('on june fifth twenty twenty five'), 'en');
    assert.deepEqual(
      words.map(({ word, start, end }) => [word, start, end]),
      [
        ['on', 0, 0.75],
        ['June', 1, 1.75],
        ['5,', 2, 2.75],
        ['2025', 3, 5.75],
      ],
    );
  });

  it('keep the punctuation around them, and no number goes on behind it', () => {
    assert.equal(writeNumbers('"Twenty five," she said: twenty, five.', 'en'), '"25," she said: 20, five.');
    assert.equal(writeNumbers('It costs five dollars.', 'en'), 'It costs $5.');
    assert.equal(writeNumbers('June fifth, twenty twenty five.', 'en'), 'June 5, 2025.');
  });

  it('stay as they are where there are no rules', () => {
    assert.equal(hasNumberRules('en') && hasNumberRules('ru'), true);
    assert.equal(hasNumberRules('de'), false);
    assert.equal(hasNumberRules('constructor'), false);
    assert.equal(writeNumbers('zwanzig Euro', 'de'), 'zwanzig Euro');
    assert.deepEqual(writeNumbersIn([], 'en'), []);
  });

  for (const language of ['en', 'ru'] as const) {
    it(`never lose a word or move a time (${language})`, () =>
      holds(
        property(array(constantFrom(...VOCABULARY[language]), { minLength: 1, maxLength: 12 }), (words) => {
          const before = timed(words.join(' '));
          const after = writeNumbersIn(before, language);
          checkTimes(before, after);
          assert.equal(after.map(({ word }) => word).join(' '), writeNumbers(words.join(' '), language));
        }),
        { numRuns: 2000 },
      ));
  }

  it('cost no more than their number', () => {
    const long = Array.from({ length: 20_000 }, () => 'five').join(' ');
    assert.equal(writeNumbers(long, 'en').length, 20_000);
    assert.ok(writeNumbers(Array.from({ length: 20_000 }, () => 'twenty').join(' '), 'en').length > 0);
  });
});
