import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Segment, Word } from '../core/types.ts';
import { cuesOf, type SubtitleLimits } from './cues.ts';
import { renderSrt, renderVtt, timeCodeOf } from './subtitles.ts';
import { renderTsv, separatorOf } from './text.ts';

const LIMITS: SubtitleLimits = { maxChars: 84, maxLines: 2, maxSeconds: 7 };

const segment = (text: string, start: number, end: number, more: Partial<Segment> = {}): Segment => ({
  id: 0,
  start,
  end,
  text,
  channel: 0,
  speaker: null,
  ...more,
});

/** Words of the text spread evenly over the time. */
const evenWords = (text: string, start: number, end: number): Word[] => {
  const words = text.split(' ');
  const step = (end - start) / words.length;
  return words.map((word, at) => ({ word, start: start + at * step, end: start + (at + 0.9) * step }));
};

describe('time codes', () => {
  it('round milliseconds and always show hours', () => {
    assert.equal(timeCodeOf(0.0006, ','), '00:00:00,001');
    assert.equal(timeCodeOf(59.9996, ','), '00:01:00,000');
    assert.equal(timeCodeOf(3599.9994, '.'), '00:59:59.999');
    assert.equal(timeCodeOf(360_000.5, '.'), '100:00:00.500');
  });
});

describe('subtitles', () => {
  it('write one cue for a short segment with its own times', () => {
    assert.equal(
      renderSrt([segment('hello world', 1.2345, 2.5)], LIMITS),
      '1\n00:00:01,235 --> 00:00:02,500\nhello world\n\n',
    );
    assert.equal(
      renderVtt([segment('hello world', 1.2345, 2.5)], LIMITS),
      'WEBVTT\n\n00:00:01.235 --> 00:00:02.500\nhello world\n\n',
    );
  });

  it('name the speaker and keep arrows and markup out of the text', () => {
    const said = [segment('a --> b & <c>\n\nd', 0, 1, { speaker: 'spk_0' })];
    assert.equal(renderSrt(said, LIMITS), '1\n00:00:00,000 --> 00:00:01,000\n[spk_0]: a -> b & <c> d\n\n');
    assert.equal(
      renderVtt(said, LIMITS),
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n<v spk_0>a -> b &amp; &lt;c> d\n\n',
    );
  });

  it('write nothing for silence', () => {
    assert.equal(renderSrt([], LIMITS), '');
    assert.equal(renderVtt([segment('  ', 0, 1)], LIMITS), 'WEBVTT\n\n');
  });

  for (const timed of [true, false]) {
    it(`cut a long segment ${timed ? 'at its word times' : 'without word times'} within all limits`, () => {
      const text = Array.from(
        { length: 60 },
        (_, at) => `${'word'.repeat(1 + (at % 3))}${at % 9 === 8 ? '.' : ''}`,
      ).join(' ');
      const long = segment(text, 10, 40, timed ? { words: evenWords(text, 10, 40) } : {});
      const cues = cuesOf([long], LIMITS);
      assert.equal(cues.map((cue) => cue.lines.join(' ')).join(' '), text);
      assert.equal(cues[0]?.startSec, 10);
      assert.equal(cues.at(-1)?.endSec, 40);
      for (const [at, cue] of cues.entries()) {
        assert.ok(cue.lines.length <= 2 && cue.lines.every((line) => line.length <= 42), cue.lines.join('|'));
        assert.ok(cue.endSec - cue.startSec <= 7.001);
        assert.ok(cue.endSec > cue.startSec);
        if (at > 0) assert.ok(cue.startSec >= cues[at - 1]!.endSec - 1e-9);
      }
      assert.ok(cues.filter((cue) => cue.lines.join(' ').endsWith('.')).length >= 5, 'breaks after sentences');
    });
  }

  it('cut unspaced writing and let a single long word through', () => {
    const cues = cuesOf([segment('语'.repeat(100), 0, 5)], LIMITS);
    assert.equal(cues.map((cue) => cue.lines.join('')).join(''), '语'.repeat(100));
    assert.ok(cues.every((cue) => cue.lines.every((line) => line.length <= 42)));
    const word = 'x'.repeat(60);
    const timed = segment(word, 0, 1, { words: [{ word, start: 0, end: 1 }] });
    assert.deepEqual(cuesOf([timed], LIMITS)[0]?.lines, [word]);
  });

  it('fall back to letters when the words do not add up to the text', () => {
    const odd = segment('one two three', 0, 3, { words: [{ word: 'uno', start: 0, end: 1 }] });
    assert.deepEqual(
      cuesOf([odd], { maxChars: 5, maxLines: 1, maxSeconds: 7 }).map((cue) => cue.lines),
      [['one'], ['two'], ['three']],
    );
  });
});

describe('tables', () => {
  it('hold whole milliseconds and no tab in the text', () => {
    assert.equal(renderTsv([segment('a\tb', 0.0004, 1.9996)]), 'start\tend\ttext\n0\t2000\ta b\n');
  });
  it('know which languages have no spaces', () => {
    assert.equal(separatorOf('zh-Hans'), '');
    assert.equal(separatorOf('en'), ' ');
  });
});
