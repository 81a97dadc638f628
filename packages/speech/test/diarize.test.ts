/** Speakers told apart through the real service, with the speaker models of the fixtures and two synthetic voices. */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '@parley/kit/testing/wait.ts';
import { readTestdata, startTestSpeech, type TestSpeech, testFile } from './start-test-speech.ts';

type Word = { word: string; start: number; end: number; speaker?: string; speaker_confidence?: number };
type Segment = {
  id: number;
  start: number;
  end: number;
  text: string;
  speaker: string | null;
  channel: number;
  words?: Word[];
};
type Result = {
  text: string;
  duration: number;
  segments: Segment[];
  speakers?: { id: string; total_speech: number; segments: number }[];
  warnings: { code: string; param?: string }[];
  stats: { stages_ms: Record<string, number> };
};
type Job = { id: string; status: string; stage?: string; links: { self: string; events: string }; result?: Result };

/** Who speaks when in two-voices.wav (tools/make-audio.sh): ends are those of the sound before each pause, s. */
const TURNS = [
  { start: 0, end: 2.65, voice: 0 },
  { start: 3.05, end: 5.83, voice: 1 },
  { start: 6.22, end: 8.93, voice: 0 },
  { start: 9.33, end: 11.88, voice: 1 },
];
const FRAME_SEC = 0.01;

/** The share of the frames within turns and words whose speaker is right, counting speakers in order of appearance. */
const shareRight = (result: Result): number => {
  const words = result.segments.flatMap(({ words = [] }) => words);
  let [right, all] = [0, 0];
  for (let at = 0; at < result.duration; at += FRAME_SEC) {
    const turn = TURNS.find(({ start, end }) => at >= start && at < end);
    const word = words.find(({ start, end }) => at >= start && at < end);
    if (!turn || !word) continue;
    all += 1;
    if (word.speaker === `spk_${turn.voice}`) right += 1;
  }
  assert.ok(all * FRAME_SEC > 5, `only ${all} frames hold words`);
  return right / all;
};

const codesOf = (result: Result): string[] => result.warnings.map(({ code }) => code);
const read = async (response: Response): Promise<Result> => {
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()) as Result;
};

/** A µ-law or 16-bit wav like the given one, with another sound. */
const remake = (wav: Buffer, change: (sound: Buffer) => Buffer): File => {
  const at = wav.indexOf('data') + 8;
  const body = change(wav.subarray(at));
  const head = Buffer.from(wav.subarray(0, at));
  head.writeUInt32LE(body.length, at - 4);
  head.writeUInt32LE(at - 8 + body.length, 4);
  return new File([new Uint8Array(head), new Uint8Array(body)], 'made.wav');
};

/** ITU-T G.711. */
const fromUlaw = (byte: number): number => {
  const value = ~byte & 0xff;
  const magnitude = ((((value & 0x0f) << 3) + 132) << ((value >> 4) & 7)) - 132;
  return value & 0x80 ? -magnitude : magnitude;
};
const toUlaw = (sample: number): number => {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), 32_635) + 132;
  const exponent = Math.floor(Math.log2(magnitude)) - 7;
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
};

describe('speakers', () => {
  let speech: TestSpeech;
  let voices: Buffer;
  const transcribe = async (file: File, fields: Record<string, string>): Promise<Result> =>
    read(await speech.post('/api/v1/transcribe', { diarize: 'true', ...fields }, file));
  before(async () => {
    voices = await readTestdata('audio/two-voices.wav');
    speech = await startTestSpeech({ models: ['offline-transducer', 'diarization', 'punct'] });
  });
  after(() => speech[Symbol.asyncDispose]());

  it('are told apart: two voices, each at least 95 % of the frames', async () => {
    const file = await testFile('audio/two-voices.wav');
    const result = await transcribe(file, { num_speakers: '2', strict: 'true' });
    assert.deepEqual(codesOf(result), []);
    assert.ok(shareRight(result) >= 0.95, `${shareRight(result)}`);
    assert.deepEqual(
      result.speakers?.map(({ id }) => id),
      ['spk_0', 'spk_1'],
    );
    for (const { total_speech, segments } of result.speakers!) {
      assert.ok(total_speech > 4 && total_speech < 8);
      assert.ok(segments >= 2);
    }
    assert.ok(result.stats.stages_ms.diarize! > 0);
  });

  it('part segments at turns and change no word, no time and no text', async () => {
    const file = await testFile('audio/two-voices.wav');
    const plain = await transcribe(file, { diarize: 'false', vad: 'false' });
    const told = await transcribe(file, { num_speakers: '2', vad: 'false' });
    const bare = ({ segments }: Result) =>
      segments.flatMap(({ words = [] }) => words.map(({ word, start, end }) => ({ word, start, end })));
    assert.deepEqual(bare(told), bare(plain));
    assert.equal(told.text, plain.text);
    assert.ok(told.segments.length >= 4);
    assert.deepEqual(
      told.segments.map(({ id }) => id),
      told.segments.map((_, index) => index),
    );
    for (const { text, words, speaker } of told.segments) {
      assert.equal(words!.map(({ word }) => word).join(' '), text);
      assert.ok(words!.every((word) => word.speaker === speaker && word.speaker_confidence !== undefined));
    }
  });

  it('are shown in subtitles, and without words when those are not wanted', async () => {
    const file = await testFile('audio/two-voices.wav');
    const fields = { diarize: 'true', num_speakers: '2', response_format: 'srt' };
    assert.match(await (await speech.post('/api/v1/transcribe', fields, file)).text(), /\[spk_1\]: /);
    const result = await transcribe(file, { num_speakers: '2', word_timestamps: 'false', punctuate: 'true' });
    assert.ok(result.segments.every(({ words, speaker }) => words === undefined && speaker !== null));
    assert.ok(result.segments.length >= 4);
  });

  it('that are fewer or more than asked for are a warning', async () => {
    const one = remake(voices, (sound) => sound.subarray(0, 2.6 * 16_000));
    const fewer = await transcribe(one, { num_speakers: '30' });
    assert.deepEqual(codesOf(fewer), ['diarization_fewer_speakers']);
    assert.ok(fewer.speakers!.length < 30);
    assert.equal(fewer.text, (await transcribe(one, { num_speakers: '1' })).text);
  });

  it('of an unknown number, one for all, and too many come out without a crash', async () => {
    const file = await testFile('audio/two-voices.wav');
    for (const num_speakers of ['0', '1', '5', '32']) {
      const result = await transcribe(file, { num_speakers });
      assert.ok(result.speakers!.length >= 1);
      assert.ok(result.segments.every(({ speaker }) => speaker !== null));
    }
  });

  it('that talk at once come out without a crash', async () => {
    const both = remake(voices, (sound) => {
      const half = Math.floor(sound.length / 2);
      return Buffer.from(
        Uint8Array.from({ length: half }, (_, i) =>
          toUlaw(Math.round((fromUlaw(sound[i]!) + fromUlaw(sound[i + 49_000]!)) / 2)),
        ),
      );
    });
    const result = await transcribe(both, { num_speakers: '2' });
    assert.ok(result.speakers!.length <= 2);
  });

  it('are not found in silence', async () => {
    for (const seconds of [0.05, 3]) {
      const silence = remake(voices, () => Buffer.alloc(seconds * 16_000, 0xff));
      const result = await transcribe(silence, { num_speakers: '2' });
      assert.deepEqual(codesOf(result).toSorted(), ['diarization_found_no_speakers', 'no_speech_detected']);
      assert.deepEqual([result.text, result.speakers], ['', []]);
    }
  });

  it('are the channels when those are split', async () => {
    const file = await testFile('audio/two-channels.mp3');
    const result = await transcribe(file, { channel_mode: 'split' });
    assert.deepEqual(codesOf(result), ['diarization_skipped_split']);
    assert.ok(result.segments.every(({ speaker, channel }) => speaker === `spk_${channel}`));
    assert.equal(result.speakers!.length, 2);
  });

  it('are not to be had without models, also where channels were to be split and there is but one', async () => {
    await using bare = await startTestSpeech({ models: ['offline-transducer'] });
    const [mono, stereo] = [await testFile('speech/hello-operator.wav'), await testFile('audio/two-channels.mp3')];
    const fields = { diarize: 'true', channel_mode: 'split' };
    assert.deepEqual(codesOf(await read(await bare.post('/api/v1/transcribe', fields, mono))), [
      'diarization_unavailable',
    ]);
    assert.deepEqual(codesOf(await read(await bare.post('/api/v1/transcribe', fields, stereo))), [
      'diarization_skipped_split',
    ]);
    const refused = await bare.post('/api/v1/transcribe', { ...fields, strict: 'true' }, mono);
    assert.equal(refused.status, 422);
  });

  it('are not told apart by a model that breaks: a warning, and the text stays', async () => {
    await using broken = await startTestSpeech({ models: ['offline-transducer', 'diarization'] });
    const [name] = (await readdir(join(broken.dataDir, 'models'))).filter((one) => one.startsWith('demo-speakers'));
    const embedding = join(broken.dataDir, 'models', name!, 'embedding.onnx');
    const whole = await readFile(embedding);
    // The outer message stays whole: only the weights within are nonsense, which native code finds out.
    await writeFile(embedding, Buffer.concat([whole.subarray(0, 400), Buffer.alloc(200, 7), whole.subarray(600)]));
    const file = await testFile('audio/two-voices.wav');
    const result = await read(await broken.post('/api/v1/transcribe', { diarize: 'true', num_speakers: '2' }, file));
    assert.deepEqual(codesOf(result), ['postprocessing_degraded']);
    assert.ok(result.text.length > 0 && result.segments.every(({ speaker }) => speaker === null));
  });

  it('are refused without models, switched off, and beyond the longest recording', async () => {
    const file = await testFile('audio/two-voices.wav');
    for (const settings of [{ 'diarization.enabled': 'false' }, { 'diarization.max_duration': '5s' }]) {
      await using limited = await startTestSpeech({ models: ['offline-transducer', 'diarization'], settings });
      const result = await read(await limited.post('/api/v1/transcribe', { diarize: 'true' }, file));
      assert.deepEqual(codesOf(result), ['diarization_unavailable']);
      const refused = await limited.post('/api/v1/transcribe', { diarize: 'true', strict: 'true' }, file);
      assert.deepEqual([refused.status, ((await refused.json()) as { param: string }).param], [422, 'diarize']);
    }
  });
});

/** Reads a job's events until one says what is waited for. */
const waitFor = async (speech: TestSpeech, job: Job, wanted: (job: Job) => boolean): Promise<Job> => {
  const response = await speech.fetch(job.links.events);
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split('\n');
    text = lines.pop()!;
    for (const line of lines) {
      const data = line.startsWith('data: ') ? (JSON.parse(line.slice(6)) as Job) : undefined;
      if (data && wanted(data)) return data;
    }
  }
  assert.fail('the events ended before');
};

describe('a pass that has begun', () => {
  const submit = async (speech: TestSpeech, file: File, fields: Record<string, string>): Promise<Job> => {
    const response = await speech.post('/api/v1/jobs', fields, file);
    assert.equal(response.status, 202);
    return (await response.json()) as Job;
  };

  it('runs out when its job is cancelled; the job is over at once and its place free afterwards', async () => {
    await using speech = await startTestSpeech({
      models: ['offline-transducer', 'diarization'],
      settings: { 'jobs.max_concurrent': '1' },
    });
    const long = remake(await readTestdata('audio/two-voices.wav'), (sound) =>
      Buffer.concat(Array.from({ length: 16 }, () => sound)),
    );
    const job = await submit(speech, long, { diarize: 'true', num_speakers: '2' });
    const next = await submit(speech, await testFile('speech/transfer-digits.wav'), {});
    await waitFor(speech, job, ({ stage }) => stage === 'diarize');
    const canceled = (await (await speech.fetch(`/api/v1/jobs/${job.id}`, { method: 'DELETE' })).json()) as Job;
    assert.equal(canceled.status, 'canceled');
    const waiting = (await (await speech.fetch(`/api/v1/jobs/${next.id}`)).json()) as Job;
    assert.equal(waiting.status, 'queued');
    assert.equal((await waitFor(speech, next, ({ status }) => status === 'succeeded')).status, 'succeeded');
    assert.equal(((await (await speech.fetch(`/api/v1/jobs/${job.id}`)).json()) as Job).status, 'canceled');
    await eventually('the uploads to go', async () => (await speech.spooled()).length === 0);
  });

  it('ends with the service, and the job is done again by the next one', async () => {
    const settings = { 'jobs.max_concurrent': '1' };
    await using first = await startTestSpeech({ models: ['offline-transducer', 'diarization'], settings });
    const long = remake(await readTestdata('audio/two-voices.wav'), (sound) =>
      Buffer.concat(Array.from({ length: 12 }, () => sound)),
    );
    const job = await submit(first, long, { diarize: 'true', num_speakers: '2' });
    await waitFor(first, job, ({ stage }) => stage === 'diarize');
    await first.stop();
    await using second = await startTestSpeech({ models: [], settings, dataDir: first.dataDir });
    const done = await waitFor(second, job, ({ status }) => status === 'succeeded');
    assert.equal(done.result!.speakers!.length, 2);
    assert.deepEqual(codesOf(done.result!), []);
  });
});
