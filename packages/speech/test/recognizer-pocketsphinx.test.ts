/**
 * PocketSphinx on the real library. Runs where a model folder of it is found: PARLEY_TEST_POCKETSPHINX, else the data
 * folder that `npm start` fills.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { readManifest, toEngineModel } from '../src/models/manifest.ts';
import { loadFaultOf } from '../src/recognizer/load.ts';
import { probeModel, readEngineVersions } from '../src/recognizer/probe.ts';
import type { EngineModel, Recognizer, Utterance } from '../src/recognizer/recognizer.ts';
import { createFolder, never, RATE, readSentences, type Sentence, start, toUtterance } from './recognizer-fixtures.ts';

failOnLeaks();

const DATA = fileURLToPath(new URL('../../../data/models', import.meta.url));
const findFolder = (): string | undefined => {
  const named = process.env.PARLEY_TEST_POCKETSPHINX;
  if (named !== undefined && named !== '') return named;
  const [found] = globSync(join(DATA, 'pocketsphinx*', 'model.json'));
  return found === undefined ? undefined : dirname(found);
};
const folder = findFolder();
const skip = folder === undefined ? 'no PocketSphinx model folder (PARLEY_TEST_POCKETSPHINX)' : false;

/** Decodes each clip with a fresh decoder of the library, in a bare process: what our answers are held against. */
const BARE = `
const koffi = require(process.argv[1]);
let input = '';
process.stdin.on('data', (chunk) => { input += chunk; });
process.stdin.on('end', () => {
  const { options, library, clips } = JSON.parse(input);
  const base = koffi.load('libsphinxbase.so.3');
  const sphinx = koffi.load(library);
  const parse = base.func('void *cmd_ln_parse_r(void *, void *, int, const char **, int)');
  const args = sphinx.func('void *ps_args()');
  const init = sphinx.func('void *ps_init(void *)');
  const start = sphinx.func('int ps_start_utt(void *)');
  const run = sphinx.func('int ps_process_raw(void *, const int16_t *, size_t, int, int)');
  const end = sphinx.func('int ps_end_utt(void *)');
  const hypothesis = sphinx.func('const char *ps_get_hyp(void *, _Out_ int32_t *)');
  const argv = ['bare', ...Object.entries(options).flat()];
  const texts = clips.map((clip) => {
    const bytes = Buffer.from(clip, 'base64');
    const samples = new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const decoder = init(parse(null, args(), argv.length, argv, 1));
    start(decoder);
    run(decoder, samples, samples.length, 0, 1);
    end(decoder);
    return hypothesis(decoder, [0]) ?? '';
  });
  process.stdout.write(JSON.stringify(texts));
});`;

const decodeBare = async (model: EngineModel, sentences: readonly Sentence[]): Promise<string[]> => {
  const { hmm, dict, lm } = model.files;
  const tuned = { '-lw': '6', '-fwdflat': 'no', '-bestpathlw': '8', '-maxhmmpf': '10000', '-maxwpf': '20' };
  const options = { ...tuned, '-remove_silence': 'no', '-hmm': hmm, '-dict': dict, '-lm': lm, '-logfn': '/dev/null' };
  const koffi = createRequire(import.meta.url).resolve('koffi');
  const run = promisify(execFile)(process.execPath, ['-e', BARE, koffi], {
    env: { LD_LIBRARY_PATH: model.libraryPaths.join(':') },
    maxBuffer: 2 ** 24,
  });
  const clips = sentences.map(({ utterance }) => Buffer.from(utterance.samples.buffer).toString('base64'));
  run.child.stdin?.end(JSON.stringify({ options, library: 'libpocketsphinx.so.3', clips }));
  return JSON.parse((await run).stdout);
};

const shift = ({ samples }: Utterance, seconds: number): Utterance => {
  const later = new Int16Array(samples.length + seconds * RATE);
  later.set(samples, seconds * RATE);
  return toUtterance(later);
};

describe('PocketSphinx', { skip }, () => {
  let model: EngineModel;
  let recognizer: Recognizer;
  let sentences: readonly Sentence[];
  before(async () => {
    model = toEngineModel(await readManifest(folder!), folder!);
    recognizer = await start(model);
    sentences = await readSentences();
  });
  after(() => recognizer?.[Symbol.asyncDispose]());

  it('answers as the library itself does, in any order and several at once', async () => {
    const expected = await decodeBare(model, sentences);
    const texts = await Promise.all(
      [...sentences, ...sentences].map(
        async ({ utterance }) => (await recognizer.recognize(utterance, {}, never)).text,
      ),
    );
    assert.deepEqual(texts, [...expected, ...expected]);
  });

  it('gives words with times in order, without fillers and marks of alternates', async () => {
    for (const { utterance } of sentences) {
      const { words = [], text } = await recognizer.recognize(utterance, {}, never);
      assert.equal(words.map(({ word }) => word).join(' '), text);
      for (const [at, { word, start: startSec, end, confidence }] of words.entries()) {
        assert.match(word, /^[a-z'.-]+$/);
        assert.ok(startSec >= (words[at - 1]?.end ?? 0) && end > startSec && end <= utterance.samples.length / RATE);
        assert.ok(confidence !== undefined && confidence >= 0 && confidence <= 1);
      }
    }
  });

  it('keeps the times of words behind a silence', async () => {
    const { utterance } = sentences[0]!;
    const plain = await recognizer.recognize(utterance, {}, never);
    const later = await recognizer.recognize(shift(utterance, 3), {}, never);
    assert.ok(Math.abs(later.words!.at(-1)!.end - 3 - plain.words!.at(-1)!.end) < 0.2);
  });

  it('takes narrow sound, short sound and silence', async () => {
    const { utterance } = sentences[0]!;
    assert.notEqual((await recognizer.recognize({ ...utterance, bandHz: 4000 }, {}, never)).text, '');
    for (const length of [1, 160, RATE]) {
      const heard = await recognizer.recognize(toUtterance(new Int16Array(length)), {}, never);
      assert.equal(heard.text, '');
    }
  });

  it('hears wide sound as before once it has heard narrow sound', async () => {
    const { utterance } = sentences[0]!;
    const before = await recognizer.recognize(utterance, {}, never);
    const narrow = await recognizer.recognize({ ...utterance, bandHz: 4000 }, {}, never);
    const again = await recognizer.recognize(utterance, {}, never);
    assert.deepEqual(again, before);
    assert.notDeepEqual(narrow, before);
  });

  it('gives words for an utterance that is cut in the middle of a word', async () => {
    const silent: number[] = [];
    for (const { utterance } of sentences) {
      for (let share = 0.5; share < 0.9; share += 0.05) {
        const cut = toUtterance(utterance.samples.slice(0, Math.floor(utterance.samples.length * share)));
        if ((await recognizer.recognize(cut, {}, never)).text === '') silent.push(share);
      }
    }
    assert.deepEqual(silent, []);
  });

  it('refuses what it cannot do', async () => {
    const { utterance } = sentences[0]!;
    const code = 'capability_unavailable';
    await assert.rejects(recognizer.recognize(utterance, { hotwords: [{ phrase: 'sails' }] }, never), { code });
    const beam = recognizer.recognize(utterance, { decodingMethod: 'modified_beam_search' }, never);
    await assert.rejects(beam, { code });
  });

  it('is probed, and tells its version', async () => {
    const probe = await probeModel(model, { startTimeoutMs: 30_000, signal: never });
    assert.ok(probe.ok);
    assert.equal(probe.facts.engine, 'pocketsphinx');
    assert.equal((await readEngineVersions({ libraryPaths: model.libraryPaths })).pocketsphinx, '5prealpha');
  });
});

describe('PocketSphinx without its files', () => {
  it('is refused with a reason, also when only a library with another API is there', async () => {
    await using folder_ = await createFolder();
    const hmm = join(folder_.dir, 'hmm');
    const named = { hmm, dict: join(folder_.dir, 'dict'), lm: join(folder_.dir, 'lm') };
    const bare: EngineModel = {
      id: 'ps',
      revision: '1',
      engine: 'pocketsphinx',
      family: 'pocketsphinx',
      streaming: false,
      sampleRate: RATE,
      featureDim: undefined,
      modelingUnit: undefined,
      modelType: undefined,
      files: named,
      libraryPaths: [folder_.dir],
      languages: ['en'],
      capabilities: {
        word_timestamps: true,
        confidence: true,
        language_detect: false,
        punctuation_builtin: false,
        hotwords: false,
        streaming: false,
      },
      numThreads: 1,
    };
    const refusedFor = (reason: RegExp) =>
      assert.rejects(start(bare), (thrown) => reason.test(loadFaultOf(thrown)?.reason ?? ''));
    await refusedFor(/hmm\/mdef is missing/);
    await folder_.write('hmm', ['mdef', 'means', 'variances', 'transition_matrices', 'feat.params']);
    await folder_.write('', ['dict', 'lm']);
    await writeFile(join(folder_.dir, 'libpocketsphinx.so.5.0.0'), 'newer');
    await refusedFor(/libpocketsphinx\.so\.5\.0\.0 has another interface/);
    await rename(join(folder_.dir, 'libpocketsphinx.so.5.0.0'), join(folder_.dir, 'libpocketsphinx.so.3'));
    await refusedFor(/load shared library/);
  });
});
