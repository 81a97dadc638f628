/** The whole line against real models and real files: formats, channels, fairness, refusals, deaths of children. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readTestdata, startTestSpeech, type TestSpeech, testFile } from './start-test-speech.ts';

type Result = {
  text: string;
  duration: number;
  timestamp_source: string;
  segments: {
    id: number;
    start: number;
    end: number;
    text: string;
    channel: number;
    words?: { word: string; start: number; end: number }[];
  }[];
  warnings: { code: string; param?: string }[];
  stats: { segments_total: number };
};

/** Insertions, deletions and substitutions between two texts, by words, over the words of the first. */
const wordDifference = (reference: string, heard: string): number => {
  const [a, b] = [reference.split(' '), heard.split(' ')];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]! / a.length;
};

const read = async (response: Response): Promise<Result> => {
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()) as Result;
};

const checkInvariants = (result: Result): void => {
  let before = 0;
  for (const segment of result.segments) {
    assert.ok(segment.start >= 0 && segment.start < segment.end && segment.end <= result.duration + 0.001);
    for (const word of segment.words ?? []) {
      assert.ok(word.start >= before && word.start < word.end, JSON.stringify(word));
      before = word.end;
    }
    if (segment.words) assert.equal(segment.words.map((word) => word.word).join(' '), segment.text);
  }
  assert.equal(result.segments.map((segment) => segment.text).join(' '), result.text);
};

describe('transcription', () => {
  let speech: TestSpeech;
  before(async () => {
    speech = await startTestSpeech();
  });
  after(() => speech[Symbol.asyncDispose]());

  it('hears the words of the reference recordings, each with its time', async () => {
    const lines = (await readTestdata('speech/transcription')).toString().trim().split('\n');
    for (const line of lines) {
      const [, text, name] = /^(.*) \((.*)\)$/.exec(line)!;
      const result = await read(await speech.post('/api/v1/transcribe', {}, await testFile(`speech/${name}.wav`)));
      assert.equal(result.text, text);
      assert.equal(result.timestamp_source, 'token');
      checkInvariants(result);
    }
  });

  it('hears the same words in every format', async () => {
    const reference = await read(await speech.post('/api/v1/transcribe', {}, await testFile('audio/words.wav')));
    for (const name of [
      'words.mp3',
      'words.flac',
      'words.ogg',
      'words.opus',
      'words-moov-last.m4a',
      'words.webm',
      'words-44k-stereo.mp3',
      'words.amr',
    ]) {
      const result = await read(await speech.post('/api/v1/transcribe', {}, await testFile(`audio/${name}`)));
      const allowed = name.endsWith('.amr') ? 0.15 : 0.05;
      assert.ok(
        wordDifference(reference.text, result.text) <= allowed,
        `${name}: ${result.text} instead of ${reference.text}`,
      );
      checkInvariants(result);
    }
  });

  it('leaves words out when they are not wanted, and keeps the text', async () => {
    const file = await testFile('speech/transfer-digits.wav');
    const result = await read(await speech.post('/api/v1/transcribe', { word_timestamps: 'false' }, file));
    assert.equal(result.text, 'transfer three five seven nine');
    assert.ok(result.segments.every((segment) => segment.words === undefined));
  });

  it('favours hotwords', async () => {
    const file = await testFile('speech/transfer-sales-wait.wav');
    const plain = await read(await speech.post('/api/v1/transcribe', {}, file));
    const favoured = await read(
      await speech.post('/api/v1/transcribe', { hotwords: 'sails,weight', hotwords_score: '2.5' }, file),
    );
    assert.equal(plain.text, 'transfer sales wait');
    assert.equal(favoured.text, 'transfer sails weight');
  });

  it('warns where the model cannot, and refuses when strict', async () => {
    const file = await testFile('speech/transfer-digits.wav');
    const ask = {
      model: 'demo-ctc-en',
      hotwords: 'sails',
      decoding_method: 'modified_beam_search',
      diarize: 'true',
      punctuate: 'true',
      itn: 'true',
      language: 'ru',
    };
    const result = await read(await speech.post('/api/v1/transcribe', ask, file));
    assert.deepEqual(result.warnings.map((warning) => warning.code).toSorted(), [
      'decoding_method_unavailable',
      'diarization_unavailable',
      'hotwords_unavailable',
      'itn_unavailable',
      'language_mismatch',
      'punctuation_unavailable',
    ]);
    for (const field of ['hotwords', 'decoding_method', 'diarize', 'punctuate', 'itn', 'language'] as const) {
      const refused = await speech.post(
        '/api/v1/transcribe',
        { model: 'demo-ctc-en', strict: 'true', [field]: ask[field] },
        file,
      );
      const body = (await refused.json()) as { code: string; param: string };
      assert.deepEqual([refused.status, body.code, body.param], [422, 'capability_unavailable', field]);
    }
  });

  it('keeps channels apart when asked', async () => {
    const file = await testFile('audio/two-channels.mp3');
    const split = await read(await speech.post('/api/v1/transcribe', { channel_mode: 'split' }, file));
    assert.deepEqual([...new Set(split.segments.map((segment) => segment.channel))].toSorted(), [0, 1]);
    const starts = split.segments.map((segment) => segment.start);
    assert.deepEqual(
      starts,
      starts.toSorted((a, b) => a - b),
    );
  });

  it('answers twenty requests of different lengths and formats at once, all right', async () => {
    const names = [
      'audio/words.wav',
      'audio/words.mp3',
      'audio/words.flac',
      'speech/transfer-digits.wav',
      'speech/close-menu.wav',
    ];
    const alone = new Map<string, string>();
    for (const name of names)
      alone.set(name, (await read(await speech.post('/api/v1/transcribe', {}, await testFile(name)))).text);
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const name = names[index % names.length]!;
        const result = await read(await speech.post('/api/v1/transcribe', {}, await testFile(name)));
        assert.equal(result.text, alone.get(name));
      }),
    );
  });

  it('leaves nothing in the spool', async () => {
    assert.deepEqual(await speech.spooled(), []);
  });
});
