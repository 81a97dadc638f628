import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCtm, readRttm, readStm, readTrans, readTrn, readUem } from './annotations.ts';
import { compareTimes, summarise } from './word-times.ts';

describe('reference files', () => {
  it('are read in the formats of LibriSpeech and NIST', () => {
    assert.deepEqual(readTrans('84-1-0000 GO DO YOU HEAR\n\n84-1-0001 BUT\n'), [
      { id: '84-1-0000', value: 'GO DO YOU HEAR' },
      { id: '84-1-0001', value: 'BUT' },
    ]);
    assert.deepEqual(readTrn('\ufeffhello operator (hello-operator)\r\n(silence)\r\n'), [
      { id: 'hello-operator', value: 'hello operator' },
      { id: 'silence', value: '' },
    ]);
    assert.deepEqual(
      readStm(';; a comment\na 1 anna 0.5 2.5 <o,f0,female> good morning\na 1 x 3 4 IGNORE_TIME_SEGMENT_IN_SCORING'),
      [
        { id: 'a', value: { start: 0.5, end: 2.5, text: 'good morning', ignored: false } },
        { id: 'a', value: { start: 3, end: 4, text: '', ignored: true } },
      ],
    );
    assert.deepEqual(readCtm('a 1 0.50 0.25 good 0.9'), [{ id: 'a', value: { start: 0.5, end: 0.75, word: 'good' } }]);
    assert.deepEqual(
      readRttm('SPKR-INFO a 1 <NA> <NA> <NA> adult anna <NA>\nSPEAKER a 1 1.5 2 <NA> <NA> anna <NA> <NA>'),
      [{ id: 'a', value: { start: 1.5, end: 3.5, speaker: 'anna' } }],
    );
    assert.deepEqual(readUem('a 1 0 12.5'), [{ id: 'a', value: { start: 0, end: 12.5 } }]);
  });

  it('say which line cannot be read, and why', () => {
    for (const [read, fault] of [
      [() => readTrn('one (a)\ntwo'), 'line 2: must end with the id of the utterance in brackets.'],
      [() => readTrn('{ one / two } (a)'), 'line 1: alternatives in { } are not understood.'],
      [() => readStm('a 1 anna soon 2 hello'), 'line 1: the start is not a number of seconds.'],
      [() => readStm('a 1 anna 3 2 hello'), 'line 1: ends before it starts.'],
      [() => readCtm('a 1 0.5'), 'line 1: the length is not a number of seconds.'],
      [() => readCtm('a 1 0.5 0.5'), 'line 1: has no word.'],
      [() => readCtm('a 1 * * <ALT_BEGIN>'), 'line 1: alternatives are not understood.'],
      [() => readRttm('SPEAKER a 1 1 1 <NA> <NA> <NA>'), 'line 1: names no speaker.'],
      [() => readUem('a 1 -1 3'), 'line 1: the start is not a number of seconds.'],
    ] as const)
      assert.throws(read, { message: fault });
  });
});

describe('times of words', () => {
  it('are compared where the words are the same', () => {
    const said = [
      { word: 'Good', start: 1, end: 1.5 },
      { word: 'old', start: 1.5, end: 2 },
      { word: 'day,', start: 2, end: 3 },
      { word: 'twenty-one', start: 3, end: 4 },
    ];
    const heard = [
      { word: 'good', start: 1.25, end: 1.5 },
      { word: 'cold', start: 1.5, end: 2 },
      { word: 'day', start: 1.5, end: 3.5 },
      { word: 'twenty', start: 3, end: 3.5 },
      { word: 'one', start: 3.5, end: 4 },
    ];
    assert.deepEqual(compareTimes(said, heard, 'basic'), { starts: [0.25, -0.5], ends: [0, 0.5] });
    assert.deepEqual(compareTimes(said, heard, 'none'), { starts: [], ends: [] });
  });

  it('are summed up by median and 90 %', () => {
    assert.deepEqual(summarise([-0.1, 0.3, -0.2, -0.4, -0.5]), { median: 0.3, p90: 0.5, bias: -0.2 });
    assert.equal(summarise([]), undefined);
  });
});
