/**
 * The files of the legacy dialect against testdata/golden/legacy-*. Those of `plain` and `speakers` were written by
 * whisper's rules, not by this code: read the difference before one is changed. `UPDATE_GOLDEN=1` writes `long` anew.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { Segment, Transcript } from '../src/core/types.ts';
import { OUTPUTS } from '../src/dialects/legacy/fields.ts';
import { quotePython, renderOutput } from '../src/dialects/legacy/render.ts';
import { transcriptOf } from './scripted-speech.ts';

const FOLDER = new URL('../../../testdata/golden/', import.meta.url);
const SUBTITLES = { maxChars: 84, maxLines: 2, maxSeconds: 7 };

const segment = (id: number, start: number, end: number, text: string, more: Partial<Segment> = {}): Segment => ({
  id,
  start,
  end,
  text,
  channel: 0,
  speaker: null,
  ...more,
});

const LONG =
  'Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in liberty, ' +
  'and dedicated to the proposition that all men are created equal.';

const TRANSCRIPTS: Readonly<Record<string, { transcript: Transcript; showsWords: boolean }>> = {
  plain: {
    showsWords: false,
    transcript: transcriptOf([
      segment(0, 0.12, 1.988, 'transfer three five', {
        avg_confidence: 0.6,
        speech_probability: 0.97,
        tokens: [3, 14],
      }),
      segment(1, 59.9996, 61.5, 'a\tb --> <c> & "d"'),
      segment(2, 3599.999, 3600, 'Ну, привет — 你好'),
      segment(3, 36_000.001, 36_002.25, 'the end'),
    ]),
  },
  speakers: {
    showsWords: true,
    transcript: transcriptOf([
      segment(0, 0.5, 1.75, 'hello world', {
        speaker: 'spk_0',
        words: [
          { word: 'hello', start: 0.5, end: 1, confidence: 0.25, speaker: 'spk_0' },
          { word: 'world', start: 1.25, end: 1.75, confidence: 0.75, speaker: 'spk_0' },
        ],
      }),
      segment(1, 2, 3.001, 'good bye', {
        speaker: 'spk_11',
        words: [
          { word: 'good', start: 2, end: 2.5 },
          { word: 'bye', start: 2.5, end: 3.001 },
        ],
      }),
      segment(2, 4, 5, 'who is there'),
    ]),
  },
  long: { showsWords: false, transcript: transcriptOf([segment(0, 10, 30, LONG, { speaker: 'spk_0' })]) },
  silence: { showsWords: true, transcript: transcriptOf([]) },
};

describe('files of the legacy dialect', () => {
  for (const [name, { transcript, showsWords }] of Object.entries(TRANSCRIPTS)) {
    for (const output of OUTPUTS) {
      it(`are for ${name} as ${output} what whisper writes`, async () => {
        const options = { subtitles: SUBTITLES, speakerPrefix: 'SPEAKER_', showsWords };
        const rendered = renderOutput(output, transcript, options);
        const file = new URL(`legacy-${name}.${output}`, FOLDER);
        if (process.env.UPDATE_GOLDEN && name === 'long') await writeFile(file, rendered);
        assert.equal(rendered, await readFile(file, 'utf8'));
      });
    }
  }

  it('keep to the limits of subtitles, and lose no word', async () => {
    const cues = (await readFile(new URL('legacy-long.srt', FOLDER), 'utf8')).trim().split('\n\n');
    assert.ok(cues.length >= 3);
    const texts = cues.map((cue) => cue.split('\n').slice(2).join(' ').replace('[SPEAKER_00]: ', ''));
    assert.equal(texts.join(' '), LONG);
    assert.ok(texts.every((text) => text.length <= SUBTITLES.maxChars));
  });

  it('are named as Python quotes names', () => {
    assert.equal(quotePython('meeting 1/a_b.c-d~e'), 'meeting%201/a_b.c-d~e');
    assert.equal(quotePython('é"\n;日\u{1F600}+&='), '%C3%A9%22%0A%3B%E6%97%A5%F0%9F%98%80%2B%26%3D');
    assert.equal(quotePython('\ud800'), '%EF%BF%BD');
  });
});
