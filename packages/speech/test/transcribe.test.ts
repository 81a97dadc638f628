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

/** The 16 kHz reference as 24-bit, float, and as telephone audio: every second sample after a short low-pass. */
const wavVariants = (wav: Buffer): [string, File, number][] => {
  const at = wav.indexOf('data') + 8;
  const samples = new Int16Array(
    wav.buffer.slice(wav.byteOffset + at, wav.byteOffset + wav.length - ((wav.length - at) % 2)),
  );
  const wide = [...samples];
  const narrow = wide.flatMap((sample, i) =>
    i % 2 === 0 ? [(sample * 2 + (wide[i - 1] ?? 0) + (wide[i + 1] ?? 0)) / 4] : [],
  );
  const bytes24 = Buffer.alloc(wide.length * 3);
  for (const [i, sample] of wide.entries()) bytes24.writeIntLE(sample * 256, i * 3, 3);
  return [
    ['24-bit', toWav(1, 24, 16_000, bytes24), 0.05],
    ['float', toWav(3, 32, 16_000, Buffer.from(Float32Array.from(wide, (sample) => sample / 32_768).buffer)), 0.05],
    ['A-law at 8 kHz', toWav(6, 8, 8000, Buffer.from(Int16Array.from(narrow).map(encodeAlaw))), 0.15],
    ['µ-law at 8 kHz', toWav(7, 8, 8000, Buffer.from(Int16Array.from(narrow).map(encodeUlaw))), 0.15],
  ];
};

const toWav = (format: number, bits: number, rate: number, body: Buffer): File => {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + body.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(format, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE((rate * bits) / 8, 28);
  head.writeUInt16LE(bits / 8, 32);
  head.writeUInt16LE(bits, 34);
  head.write('data', 36);
  head.writeUInt32LE(body.length, 40);
  return new File([new Uint8Array(Buffer.concat([head, body]))], 'variant.wav');
};

/** ITU-T G.711. */
const encodeUlaw = (sample: number): number => {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), 32_635) + 132;
  const exponent = Math.floor(Math.log2(magnitude)) - 7;
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
};
const encodeAlaw = (sample: number): number => {
  const sign = sample >= 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), 32_767);
  const exponent = magnitude < 256 ? 0 : Math.floor(Math.log2(magnitude)) - 7;
  const mantissa = (magnitude >> (exponent === 0 ? 4 : exponent + 3)) & 0x0f;
  return (sign | (exponent << 4) | mantissa) ^ 0x55;
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

  it('hears the same words in every kind of wav', async () => {
    const wav = await readTestdata('audio/words.wav');
    const reference = await read(await speech.post('/api/v1/transcribe', {}, await testFile('audio/words.wav')));
    for (const [name, file, allowed] of wavVariants(wav)) {
      const result = await read(await speech.post('/api/v1/transcribe', {}, file));
      assert.ok(
        wordDifference(reference.text, result.text) <= allowed,
        `${name}: ${result.text} instead of ${reference.text}`,
      );
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
      language: 'ru',
    };
    const result = await read(await speech.post('/api/v1/transcribe', ask, file));
    assert.deepEqual(result.warnings.map((warning) => warning.code).toSorted(), [
      'decoding_method_unavailable',
      'diarization_unavailable',
      'hotwords_unavailable',
      'language_mismatch',
      'punctuation_unavailable',
    ]);
    for (const field of ['hotwords', 'decoding_method', 'diarize', 'punctuate', 'language'] as const) {
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
    await speech.emptied();
  });
});
