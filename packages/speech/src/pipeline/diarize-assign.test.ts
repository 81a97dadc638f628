/** Turns of speakers laid over words. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { array, assert as holds, integer, property, record } from 'fast-check';
import type { Segment, Word } from '../core/types.ts';
import { assignSpeakers, orderTurns, speakersByChannel, speakersOf } from './diarize-assign.ts';

/** Words of half a second, one a second. */
const segment = (text: string, from: number, more: Partial<Segment> = {}): Segment => {
  const words = text
    .split(' ')
    .map((word, index): Word => ({ word, start: from + index, end: from + index + 0.5, confidence: 0.5 }));
  return { id: 9, start: words[0]!.start, end: words.at(-1)!.end, text, channel: 0, speaker: null, words, ...more };
};
const turn = (start: number, end: number, speaker: number) => ({ start, end, speaker });

describe('speakers of words', () => {
  it('part a segment where the speaker changes', () => {
    const turns = orderTurns([turn(0, 2, 7), turn(2, 4, 3)]);
    const parts = assignSpeakers([segment('a b c d', 0, { avg_confidence: 0.5 })], turns, ' ');
    assert.deepEqual(
      parts.map(({ id, start, end, text, speaker, avg_confidence }) => ({
        id,
        start,
        end,
        text,
        speaker,
        avg_confidence,
      })),
      [
        { id: 0, start: 0, end: 1.5, text: 'a b', speaker: 'spk_0', avg_confidence: 0.5 },
        { id: 1, start: 2, end: 3.5, text: 'c d', speaker: 'spk_1', avg_confidence: 0.5 },
      ],
    );
    assert.deepEqual(parts[1]!.words![0], {
      word: 'c',
      start: 2,
      end: 2.5,
      confidence: 0.5,
      speaker: 'spk_1',
      speaker_confidence: 1,
    });
    assert.deepEqual(speakersOf(parts, turns), [
      { id: 'spk_0', total_speech: 2, segments: 1 },
      { id: 'spk_1', total_speech: 2, segments: 1 },
    ]);
  });

  it('keep the text of a segment that stays whole, and join without spaces where none are written', () => {
    const whole = assignSpeakers([segment('a b', 0, { text: 'a  b' })], [turn(0, 9, 0)], ' ');
    assert.equal(whole[0]!.text, 'a  b');
    const parted = assignSpeakers(
      [segment('你 好 世 界', 0, { text: '你好世界' })],
      orderTurns([turn(0, 2, 0), turn(2, 9, 1)]),
      '',
    );
    assert.deepEqual(
      parted.map(({ text }) => text),
      ['你好', '世界'],
    );
  });

  it('absorb a scrap between words of one speaker, but not an answer', () => {
    const words = [
      { word: 'a', start: 0, end: 1 },
      { word: 'b', start: 1, end: 1.2 },
      { word: 'c', start: 1.2, end: 2 },
    ];
    const base = { ...segment('a b c', 0), words, end: 2 };
    const scrap = assignSpeakers([base], orderTurns([turn(0, 1, 0), turn(1, 1.2, 1), turn(1.2, 2, 0)]), ' ');
    assert.deepEqual(
      scrap.map(({ speaker }) => speaker),
      ['spk_0'],
    );
    const answer = assignSpeakers(
      [segment('a b c', 0)],
      orderTurns([turn(0, 0.9, 0), turn(0.9, 1.9, 1), turn(1.9, 3, 0)]),
      ' ',
    );
    assert.deepEqual(
      answer.map(({ speaker }) => speaker),
      ['spk_0', 'spk_1', 'spk_0'],
    );
  });

  it('give a word nobody was heard in to whoever is nearest', () => {
    const [only] = assignSpeakers([segment('a', 10)], orderTurns([turn(0, 2, 0), turn(11, 12, 1)]), ' ');
    assert.deepEqual([only!.speaker, only!.words![0]!.speaker_confidence], ['spk_1', 0]);
  });

  it('take the louder share where voices overlap', () => {
    const [only] = assignSpeakers([segment('a', 1)], orderTurns([turn(0, 1.2, 0), turn(1.1, 3, 1)]), ' ');
    assert.equal(only!.speaker, 'spk_1');
  });

  it('label segments without words as a whole', () => {
    const { words: _words, ...bare } = segment('a b', 0);
    assert.equal(assignSpeakers([bare], [turn(0, 1, 0)], ' ')[0]!.speaker, 'spk_0');
  });

  it('are the channels when those were split', () => {
    const { segments, speakers } = speakersByChannel([segment('a', 0), segment('b', 1, { channel: 1 })]);
    assert.deepEqual(
      segments.map(({ speaker, words }) => [speaker, words![0]!.speaker]),
      [
        ['spk_0', 'spk_0'],
        ['spk_1', 'spk_1'],
      ],
    );
    assert.deepEqual(speakers, [
      { id: 'spk_0', total_speech: 0.5, segments: 1 },
      { id: 'spk_1', total_speech: 0.5, segments: 1 },
    ]);
  });

  it('never lose a word, move a time or leave one without a speaker', async () => {
    const someTurns = array(
      record({
        start: integer({ min: 0, max: 60 }),
        length: integer({ min: 0, max: 9 }),
        speaker: integer({ min: 0, max: 4 }),
      }),
      {
        minLength: 1,
        maxLength: 20,
      },
    );
    await holds(
      property(someTurns, integer({ min: 1, max: 40 }), (raw, count) => {
        const turns = orderTurns(raw.map(({ start, length, speaker }) => turn(start, start + length + 0.5, speaker)));
        const before = segment(Array.from({ length: count }, (_, index) => `w${index}`).join(' '), 5);
        const after = assignSpeakers([before], turns, ' ');
        assert.deepEqual(
          after.flatMap(({ words }) => words!.map(({ word, start, end }) => ({ word, start, end }))),
          before.words!.map(({ word, start, end }) => ({ word, start, end })),
        );
        assert.equal(after.map(({ text }) => text).join(' '), before.text);
        assert.ok(after.every(({ speaker, words }) => words!.every((word) => word.speaker === speaker)));
      }),
    );
  });
});
