import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Transcript } from '@parley/speech/core/types.ts';
import { correct, lastBegun, layOut, NO_EDITS, search, wordAt } from '../src/speech/transcript.ts';

const word = (text: string, start: number, end: number) => ({ word: text, start, end });
const TRANSCRIPT: Transcript = {
  id: 'txn_1',
  model: 'm@1',
  language: 'en',
  duration: 12,
  text: 'Good day, Mr Smith. Good bye',
  timestamp_source: 'token',
  segments: [
    {
      id: 0,
      start: 1,
      end: 3,
      text: 'Good day, Mr Smith.',
      channel: 0,
      speaker: 'spk_0',
      words: [word('Good', 1, 1.4), word('day,', 1.5, 1.9), word('Mr', 2, 2.3), word('Smith.', 2.4, 3)],
    },
    {
      id: 1,
      start: 8,
      end: 9,
      text: 'Good bye',
      channel: 0,
      speaker: 'spk_1',
      words: [word('Good', 8, 8.4), word('bye', 8.5, 9)],
    },
  ],
  silence: [{ start: 3.1, end: 7.9 }],
  speakers: [
    { id: 'spk_0', total_speech: 2, segments: 1 },
    { id: 'spk_1', total_speech: 1, segments: 1 },
  ],
  stats: {
    audio_duration: 12,
    processing_ms: 10,
    rtf: 0.001,
    stages_ms: { decode: 1, vad: 1, asr: 1, assemble: 1, diarize: 1, post: 1 },
    segments_total: 2,
    speech_ratio: 0.3,
  },
  warnings: [],
};

describe('a transcript laid out', () => {
  const layout = layOut(TRANSCRIPT);

  it('numbers words through all segments and tells silence worth telling', () => {
    assert.equal(layout.wordCount, 6);
    assert.deepEqual([...layout.segmentOf], [0, 0, 0, 0, 1, 1]);
    assert.deepEqual(layout.speakers, ['spk_0', 'spk_1']);
    assert.equal(layout.segments[0]!.silenceSec, 0);
    assert.ok(Math.abs(layout.segments[1]!.silenceSec - 4.8) < 1e-9);
  });

  it('finds the word that is heard, and none in a pause', () => {
    assert.equal(wordAt(layout, 0.5), -1);
    assert.equal(wordAt(layout, 1), 0);
    assert.equal(wordAt(layout, 2.41), 3);
    assert.equal(wordAt(layout, 5), -1);
    assert.equal(wordAt(layout, 8.6), 5);
    assert.equal(lastBegun(layout.starts, 100), 5);
  });

  it('corrects words and names and leaves every time as it was', () => {
    const edits = { words: { 3: 'Smythe.', 2: '', 5: 'buy now' }, speakers: { spk_1: 'Ann' } };
    const corrected = correct(TRANSCRIPT, layout, edits);
    assert.equal(corrected.text, 'Good day, Smythe. Good buy now');
    assert.deepEqual(
      corrected.segments.map(({ text, speaker }) => [speaker, text]),
      [
        ['spk_0', 'Good day, Smythe.'],
        ['Ann', 'Good buy now'],
      ],
    );
    assert.deepEqual(corrected.segments[0]!.words!.at(-1), word('Smythe.', 2.4, 3));
    assert.deepEqual(corrected.segments[1]!.words, [word('Good', 8, 8.4), word('buy now', 8.5, 9)]);
    assert.equal(corrected.speakers![1]!.id, 'Ann');
    assert.equal(correct(TRANSCRIPT, layout, NO_EDITS).text, TRANSCRIPT.text);
  });

  it('writes languages without spaces without spaces', () => {
    const segments = TRANSCRIPT.segments.map((segment, at) => ({
      ...segment,
      text: ['你好世界', '再见'][at]!,
      words: at === 0 ? [word('你好', 1, 2), word('世界', 2, 3)] : [word('再见', 8, 9)],
    }));
    const chinese = { ...TRANSCRIPT, text: '你好世界再见', segments };
    assert.equal(correct(chinese, layOut(chinese), { words: { 1: '天下' }, speakers: {} }).text, '你好天下再见');
  });

  it('finds what was said across words, corrections included', () => {
    assert.deepEqual(search(layout, NO_EDITS, 'GOOD'), [
      { segment: 0, from: 0, until: 1 },
      { segment: 1, from: 4, until: 5 },
    ]);
    assert.deepEqual(search(layout, NO_EDITS, 'day, mr'), [{ segment: 0, from: 1, until: 3 }]);
    assert.deepEqual(search(layout, { words: { 5: 'evening' }, speakers: {} }, 'even'), [
      { segment: 1, from: 5, until: 6 },
    ]);
    assert.deepEqual(search(layout, NO_EDITS, '  '), []);
  });
});
