/**
 * Renderings against testdata/golden. `UPDATE_GOLDEN=1` writes them anew; read the difference before it is committed.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { Segment, Transcript, Warning, Word } from '../src/core/types.ts';
import { renderJson, renderVerboseJson } from '../src/dialects/compat/render.ts';
import { renderTranscript } from '../src/dialects/native/render.ts';
import { renderSrt, renderVtt } from '../src/formats/subtitles.ts';
import { renderText, renderTsv } from '../src/formats/text.ts';
import { transcriptOf } from './scripted-speech.ts';

const FOLDER = new URL('../../../testdata/golden/', import.meta.url);
const LIMITS = { maxChars: 84, maxLines: 2, maxSeconds: 7 };

const spread = (text: string, start: number, end: number): Word[] => {
  const words = text.split(' ');
  const step = (end - start) / words.length;
  return words.map((word, at) => ({
    word,
    start: start + at * step,
    end: start + (at + 0.85) * step,
    confidence: 0.5 + (at % 5) / 10,
  }));
};

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
  'and dedicated to the proposition that all men are created equal. Now we are engaged in a great civil war, testing ' +
  'whether that nation, or any nation so conceived and so dedicated, can long endure.';

const TRANSCRIPTS: Readonly<Record<string, Transcript>> = {
  short: transcriptOf([
    segment(0, 0.1234, 1.9876, 'transfer three five', {
      words: spread('transfer three five', 0.1234, 1.9876),
      avg_confidence: 0.6,
      speech_probability: 0.97,
      tokens: [3, 14, 15],
    }),
    segment(1, 3_599.9996, 3_601.5, 'close --> the <menu> & help'),
  ]),
  long: transcriptOf(
    [
      segment(0, 10, 40, LONG, { words: spread(LONG, 10, 40), speaker: 'spk_0', speaker_confidence: 0.91234 }),
      segment(1, 41, 61, LONG, { speaker: 'spk_1', channel: 1 }),
    ],
    {
      speakers: [
        { id: 'spk_0', total_speech: 30, segments: 1 },
        { id: 'spk_1', total_speech: 20, segments: 1 },
      ],
    },
  ),
  chinese: transcriptOf([segment(0, 0, 4, '今天天气很好'), segment(1, 5, 9, '我们去公园散步吧')], {
    language: 'zh',
    text: '今天天气很好我们去公园散步吧',
    timestamp_source: 'segment',
  }),
  silence: transcriptOf([]),
};

const WARNINGS: readonly Warning[] = [
  { code: 'temperature_ignored', message: 'The decoders do not sample.', param: 'temperature' },
];
const toJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const RENDERINGS: Readonly<Record<string, (transcript: Transcript) => string>> = {
  srt: ({ segments }) => renderSrt(segments, LIMITS),
  vtt: ({ segments }) => renderVtt(segments, LIMITS),
  tsv: ({ segments }) => renderTsv(segments),
  txt: renderText,
  'native.json': (transcript) => toJson(renderTranscript(transcript, WARNINGS, true)),
  'compat.json': (transcript) => toJson(renderJson(transcript, WARNINGS)),
  'compat-verbose.json': (transcript) => toJson(renderVerboseJson(transcript, [], new Set(['word', 'segment']))),
};

describe('renderings', () => {
  for (const [name, transcript] of Object.entries(TRANSCRIPTS)) {
    for (const [format, render] of Object.entries(RENDERINGS)) {
      it(`of ${name} as ${format} are what they were`, async () => {
        const file = new URL(`${name}.${format}`, FOLDER);
        const rendered = render(transcript);
        if (process.env.UPDATE_GOLDEN) await writeFile(file, rendered);
        assert.equal(rendered, await readFile(file, 'utf8'));
      });
    }
  }
});
