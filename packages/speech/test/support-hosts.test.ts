/** The processes of supporting models: death, refusal, idleness and giving up. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { createPunctuator, type Punctuator } from '../src/recognizer/punctuation-host.ts';
import { startSpeakersPass } from '../src/recognizer/speakers-host.ts';
import { testdataPath } from './start-test-speech.ts';

const NEVER = new AbortController().signal;
const OPTIONS = { log: createSilentLog(), startTimeoutMs: 30_000, idleMs: 600_000 };
const model = (family: string, file: string) => ({
  id: 'punctuation',
  family,
  files: { model: testdataPath(file), bpe_vocab: testdataPath('models/offline-ctc/bpe.vocab') },
  numThreads: 1,
});

describe('a punctuation process', () => {
  let punctuator: Punctuator;
  before(() => {
    punctuator = createPunctuator(model('ct_transformer', 'models/punct/model.onnx'), OPTIONS);
  });
  after(() => punctuator[Symbol.asyncDispose]());

  it('starts with the first text and takes many at once', async () => {
    assert.equal(punctuator.pid, undefined);
    const texts = Array.from({ length: 50 }, () => punctuator.punctuate('what is my balance', NEVER));
    assert.deepEqual(new Set(await Promise.all(texts)), new Set(['what is my balance？']));
  });

  it('is started again when it dies, and the text it died under is done again', async () => {
    const first = punctuator.pid!;
    const texts = Promise.all(Array.from({ length: 20 }, () => punctuator.punctuate('yes', NEVER)));
    process.kill(first, 'SIGKILL');
    assert.deepEqual(new Set(await texts), new Set(['yes。']));
    assert.notEqual(punctuator.pid, first);
  });

  it('is not waited for by who gives up', async () => {
    await assert.rejects(punctuator.punctuate('yes', AbortSignal.abort(new Error('gone'))), /gone/);
  });

  it('ends when it has nothing to do', async () => {
    await using brief = createPunctuator(model('ct_transformer', 'models/punct/model.onnx'), { ...OPTIONS, idleMs: 1 });
    await brief.punctuate('yes', NEVER);
    while (brief.pid !== undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(await brief.punctuate('yes', NEVER), 'yes。');
  });

  it('refuses what is no punctuation model, before native code sees it', async () => {
    for (const [family, file, reason] of [
      ['unknown', 'models/punct/model.onnx', /no punctuation family/],
      ['ct_transformer', 'models/diarization/embedding.onnx', /no tokens, punctuations/],
      ['cnn_bilstm', 'models/punct/model.onnx', /no COMMA/],
      ['ct_transformer', 'speech/transcription', /not an ONNX model/],
    ] as const) {
      await using wrong = createPunctuator(model(family, file), OPTIONS);
      await assert.rejects(wrong.punctuate('yes', NEVER), reason);
      await assert.rejects(wrong.punctuate('yes', NEVER), /a moment ago/);
    }
  });
});

describe('a process that tells speakers apart', () => {
  const options = {
    segmentation: testdataPath('models/diarization/segmentation.onnx'),
    embedding: testdataPath('models/diarization/embedding.onnx'),
    numSpeakers: 2,
    threshold: 0.85,
    minDurationOn: 0.3,
    minDurationOff: 0.5,
    numThreads: 1,
  };
  const noise = (seconds: number): Int16Array =>
    Int16Array.from(
      { length: seconds * 16_000 },
      (_, index) => 8000 * Math.sin(index * index * 1e-7) * ((index >> 13) % 2),
    );

  it('finds nobody in nothing and in silence', async () => {
    for (const samples of [new Int16Array(0), new Int16Array(100), new Int16Array(48_000)]) {
      await using pass = await startSpeakersPass(options, 30_000);
      await pass.take(0, samples);
      assert.deepEqual(await pass.tellApart(30_000), []);
    }
  });

  it('is ended at its limit, and when it is told to', async () => {
    await using slow = await startSpeakersPass(options, 30_000);
    for (let at = 0; at < 120; at += 30) await slow.take(at * 16_000, noise(30));
    await assert.rejects(slow.tellApart(1), /was not done in 0 s/);
    await using stopped = await startSpeakersPass(options, 30_000);
    await stopped.take(0, noise(30));
    const telling = assert.rejects(stopped.tellApart(60_000), /because/);
    stopped.kill('because');
    await telling;
  });

  it('refuses models that are none, and another rate', async () => {
    await assert.rejects(startSpeakersPass({ ...options, embedding: options.segmentation }, 30_000), /no output_dim/);
    await assert.rejects(startSpeakersPass({ ...options, segmentation: '/nowhere' }, 30_000), /cannot be read/);
  });
});
