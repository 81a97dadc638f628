import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { probeModel, readEngineVersions } from '../src/recognizer/probe.ts';
import type { EngineModel, Recognizer } from '../src/recognizer/recognizer.ts';
import {
  isAlive,
  type ModelFolder,
  never,
  RATE,
  readModel,
  readSentences,
  recognizeAll,
  type Sentence,
  sentence,
  startFolder,
  toUtterance,
} from './recognizer-fixtures.ts';

failOnLeaks();

/** Decodes with sherpa-onnx-node alone, in a bare process: what every answer of ours is held against. */
const BARE = `
const sherpa = require(process.argv[1]);
let input = '';
process.stdin.on('data', (chunk) => { input += chunk; });
process.stdin.on('end', () => {
  const { config, clips } = JSON.parse(input);
  const recognizer = new sherpa.OfflineRecognizer(config);
  const results = clips.map((clip) => {
    const bytes = Buffer.from(clip, 'base64');
    const samples = new Float32Array(bytes.length / 2);
    for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(2 * i) / 32768;
    const stream = recognizer.createStream();
    stream.acceptWaveform({ samples, sampleRate: 16000 });
    recognizer.decode(stream);
    return recognizer.getResult(stream);
  });
  process.stdout.write(JSON.stringify(results));
});`;

type BareResult = { text: string; tokens: string[]; timestamps: number[]; ys_log_probs: number[] };

const decodeBare = async (model: EngineModel, sentences: readonly Sentence[]): Promise<BareResult[]> => {
  const { encoder, decoder, joiner, model: whole, tokens } = model.files;
  const family =
    whole === undefined ? { transducer: { encoder, decoder, joiner } } : { zipformerCtc: { model: whole } };
  const config = { modelConfig: { ...family, tokens, numThreads: 1 } };
  const clips = sentences.map(({ utterance }) => Buffer.from(utterance.samples.buffer).toString('base64'));
  const library = createRequire(import.meta.url).resolve('sherpa-onnx-node');
  const run = promisify(execFile)(process.execPath, ['-e', BARE, library], { maxBuffer: 2 ** 24 });
  run.child.stdin?.end(JSON.stringify({ config, clips }));
  return JSON.parse((await run).stdout);
};

for (const folder of ['offline-ctc', 'offline-transducer'] as const satisfies ModelFolder[]) {
  describe(`sherpa-onnx with ${folder}`, () => {
    let recognizer: Recognizer;
    let sentences: readonly Sentence[];
    before(async () => {
      recognizer = await startFolder(folder);
      sentences = await readSentences();
    });
    after(() => recognizer[Symbol.asyncDispose]());

    it('hears the words that were said', async () => {
      for (const { utterance, text } of sentences) {
        assert.equal((await recognizer.recognize(utterance, {}, never)).text, text);
      }
    });

    it('gives every token a place, in order, and words their spaces', async () => {
      for (const [index, { tokens, text }] of (await recognizeAll(recognizer, sentences)).entries()) {
        const lengthSec = sentences[index]!.utterance.samples.length / RATE;
        assert.equal(
          tokens
            .map((token) => token.text)
            .join('')
            .trim(),
          text,
        );
        for (const [at, token] of tokens.entries()) {
          assert.ok(token.start >= (tokens[at - 1]?.start ?? 0) && token.start < lengthSec);
          assert.ok(token.id !== undefined && token.id > 2);
          assert.equal(token.logProb !== undefined, recognizer.facts.capabilities.confidence);
        }
      }
    });

    it('answers as the library itself does on the same samples', async () => {
      const bare = await decodeBare(await readModel(folder), sentences);
      const ours = await recognizeAll(recognizer, sentences);
      for (const [index, { text, tokens }] of ours.entries()) {
        assert.equal(text, bare[index]!.text.trim());
        assert.deepEqual(
          tokens.map((token) => token.text),
          bare[index]!.tokens,
        );
        assert.deepEqual(
          tokens.map((token) => token.start),
          bare[index]!.timestamps,
        );
      }
    });

    it('gives the same texts with eight in flight', async () => {
      const eight = Array.from({ length: 8 }, (_, index) => sentences[index % sentences.length]!);
      const heard = await recognizeAll(recognizer, eight);
      assert.deepEqual(
        heard.map(({ text }) => text),
        eight.map(({ text }) => text),
      );
    });

    it('takes an utterance of one sample, and of none', async () => {
      assert.equal((await recognizer.recognize(toUtterance(new Int16Array(1)), {}, never)).text, '');
      assert.deepEqual(await recognizer.recognize(toUtterance(new Int16Array(0)), {}, never), { text: '', tokens: [] });
    });

    it('refuses a sample rate of nothing', async () => {
      const utterance = { samples: new Int16Array(RATE), sampleRate: 0, bandHz: 0 };
      await assert.rejects(recognizer.recognize(utterance, {}, never), { code: 'inference_failed' });
    });

    it('tells how much memory it holds', async () => {
      assert.ok((await recognizer.rssBytes()) > 2 ** 20);
    });
  });
}

describe('hotwords and beam search', () => {
  it('turn "sales wait" into "sails weight", beside requests without any', async () => {
    await using recognizer = await startFolder('offline-transducer');
    const { utterance } = await sentence('transfer-sales-wait');
    const hotwords = [{ phrase: 'Sails', score: 2.5 }, { phrase: 'weight' }];
    const [with_, without] = await Promise.all([
      recognizer.recognize(utterance, { hotwords, hotwordsScore: 2.5 }, never),
      recognizer.recognize(utterance, {}, never),
    ]);
    assert.equal(with_.text, 'transfer sails weight');
    assert.equal(without.text, 'transfer sales wait');
  });

  it('beam search alone hears the words too, with several widths', async () => {
    await using recognizer = await startFolder('offline-transducer');
    const { utterance, text } = await sentence('transfer-digits');
    for (const maxActivePaths of [1, 4, 8, 16]) {
      const options = { decodingMethod: 'modified_beam_search', maxActivePaths } as const;
      assert.equal((await recognizer.recognize(utterance, options, never)).text, text);
    }
  });

  it('survive phrases that no vocabulary spells', async () => {
    await using recognizer = await startFolder('offline-transducer');
    const { pid } = recognizer;
    const { utterance, text } = await sentence('hello-operator');
    const phrases = ['/', ' : ', ':9', '#', '@x', '€ \u0000 ☃', 'a/b:c', '日本', 'x'.repeat(100), '▁he', ' :NaN'];
    const options = { hotwords: phrases.map((phrase) => ({ phrase })) };
    assert.equal((await recognizer.recognize(utterance, options, never)).text, text);
    assert.equal(recognizer.pid, pid);
  });

  it('are refused by a CTC model, which goes on', async () => {
    await using recognizer = await startFolder('offline-ctc');
    const { pid } = recognizer;
    const { utterance, text } = await sentence('hello-operator');
    const hotwords = [{ phrase: 'sails' }];
    const refused = { code: 'capability_unavailable' };
    await assert.rejects(recognizer.recognize(utterance, { hotwords }, never), { ...refused, param: 'hotwords' });
    const beam = recognizer.recognize(utterance, { decodingMethod: 'modified_beam_search' }, never);
    await assert.rejects(beam, { ...refused, param: 'decoding_method' });
    assert.equal((await recognizer.recognize(utterance, {}, never)).text, text);
    assert.equal(recognizer.pid, pid);
  });

  it('are not offered for a transducer of NeMo', async () => {
    const model = { ...(await readModel('offline-transducer')), family: 'nemo_transducer' };
    const probe = await probeModel(model, { startTimeoutMs: 30_000, signal: never });
    assert.equal(probe.ok, false);
    assert.match(probe.ok ? '' : probe.reason, /encoder has no .*vocab_size/);
  });
});

describe('probing', () => {
  it('says what a model can do and what it holds', async () => {
    const probe = await probeModel(await readModel('offline-transducer'), { startTimeoutMs: 30_000, signal: never });
    assert.ok(probe.ok);
    assert.ok(probe.rssBytes > 2 ** 20);
    assert.deepEqual(probe.facts.decodingMethods, ['greedy_search', 'modified_beam_search']);
    assert.equal(probe.facts.capabilities.hotwords, true);
  });

  it('tries a streaming model too', async () => {
    const probe = await probeModel(await readModel('online-transducer'), { startTimeoutMs: 30_000, signal: never });
    assert.ok(probe.ok);
    assert.equal(probe.facts.capabilities.streaming, true);
    assert.ok(probe.rssBytes > 0);
  });

  it('ends when it is told to', async () => {
    const model = await readModel('offline-ctc');
    const signal = AbortSignal.abort(new Error('enough'));
    await assert.rejects(probeModel(model, { startTimeoutMs: 30_000, signal }), { message: 'enough' });
  });

  it('reads the versions of the native libraries', async () => {
    const versions = await readEngineVersions();
    assert.match(versions.sherpa_onnx, /^\d+\.\d+\.\d+/);
    assert.match(versions.onnxruntime, /^\d+\.\d+\.\d+/);
  });
});

describe('the end of a recogniser', () => {
  it('leaves no process, tells those who wait, and may come twice', async () => {
    const recognizer = await startFolder('offline-ctc');
    const pid = recognizer.pid!;
    process.kill(pid, 'SIGSTOP');
    const { utterance } = await sentence('hello-operator');
    const waiting = assert.rejects(recognizer.recognize(utterance, {}, never), { code: 'model_unavailable' });
    await Promise.all([recognizer[Symbol.asyncDispose](), recognizer[Symbol.asyncDispose]()]);
    await waiting;
    assert.equal(isAlive(pid), false);
    assert.equal(await recognizer.rssBytes(), 0);
    await assert.rejects(recognizer.recognize(utterance, {}, never), { code: 'model_unavailable' });
  });
});
