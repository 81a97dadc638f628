/** Marks, capitals and digits through the real service, with the constructed punctuation model. */
import assert from 'node:assert/strict';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startTestSpeech, type TestSpeech, testFile } from './start-test-speech.ts';

type Word = { word: string; start: number; end: number; original?: string };
type Result = {
  text: string;
  segments: { text: string; start: number; end: number; words?: Word[] }[];
  warnings: { code: string; param?: string }[];
};

const read = async (response: Response): Promise<Result> => {
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()) as Result;
};
const wordsOf = (result: Result): Word[] => result.segments.flatMap(({ words }) => words ?? []);
const timesOf = (result: Result): number[][] => wordsOf(result).map(({ start, end }) => [start, end]);
const codesOf = (result: Result): string[] => result.warnings.map(({ code }) => code);

describe('text after recognition', () => {
  let speech: TestSpeech;
  const transcribe = async (name: string, fields: Record<string, string>): Promise<Result> =>
    read(await speech.post('/api/v1/transcribe', fields, await testFile(`speech/${name}.wav`)));
  before(async () => {
    speech = await startTestSpeech({ models: ['offline-transducer', 'offline-ctc', 'punct', 'itn'] });
  });
  after(() => speech[Symbol.asyncDispose]());

  it('is punctuated when asked, and no word time changes', async () => {
    const plain = await transcribe('hello-operator', {});
    const marked = await transcribe('hello-operator', { punctuate: 'true', strict: 'true' });
    assert.deepEqual([plain.text, marked.text], ['hello operator', 'Hello, operator.']);
    assert.deepEqual(
      wordsOf(marked).map(({ word }) => word),
      ['Hello,', 'operator.'],
    );
    assert.deepEqual(timesOf(marked), timesOf(plain));
    assert.deepEqual(codesOf(marked), []);
  });

  it('is punctuated without words too', async () => {
    const marked = await transcribe('hello-operator', { punctuate: 'true', word_timestamps: 'false' });
    assert.deepEqual(
      [marked.text, marked.segments[0]!.text, wordsOf(marked)],
      ['Hello, operator.', 'Hello, operator.', []],
    );
  });

  it('has numbers in digits when asked: merged words have the span and what was said', async () => {
    const plain = await transcribe('transfer-digits', {});
    const digits = await transcribe('transfer-digits', { itn: 'true', strict: 'true' });
    assert.equal(digits.text, 'transfer 3579');
    const spoken = wordsOf(plain).slice(1);
    assert.deepEqual(
      wordsOf(digits).map(({ word, start, end, original }) => ({ word, start, end, original })),
      [
        { word: 'transfer', start: wordsOf(plain)[0]!.start, end: wordsOf(plain)[0]!.end, original: undefined },
        { word: '3579', start: spoken[0]!.start, end: spoken.at(-1)!.end, original: 'three five seven nine' },
      ],
    );
  });

  it('takes both, marks first', async () => {
    const both = await transcribe('account-balance', { itn: 'true', punctuate: 'true' });
    assert.equal(both.text, 'Account balance 126.');
    assert.equal(wordsOf(both).at(-1)!.original, 'one two six.');
    assert.equal(
      (await transcribe('account-balance', { itn: 'true', word_timestamps: 'false' })).text,
      'account balance 126',
    );
  });

  it('comes the same from jobs, streams and subtitles', async () => {
    const file = await testFile('speech/transfer-digits.wav');
    const srt = await speech.post(
      '/api/v1/transcribe',
      { itn: 'true', punctuate: 'true', response_format: 'srt' },
      file,
    );
    assert.match(await srt.text(), /\nTransfer 3579\.\n/);
  });

  it('cannot be finished in a language without model and rules: a warning, and a refusal when strict', async () => {
    const dir = join(speech.dataDir, 'models');
    const name = (await readdir(dir)).find((one) => one.startsWith('demo-ctc-en'))!;
    const manifest = JSON.parse(await readFile(join(dir, name, 'model.json'), 'utf8'));
    await writeFile(join(dir, name, 'model.json'), JSON.stringify({ ...manifest, languages: ['de'] }));
    const fields = { model: 'demo-ctc-en', punctuate: 'true', itn: 'true' };
    assert.deepEqual(codesOf(await transcribe('hello-operator', fields)), [
      'punctuation_unavailable',
      'itn_unavailable',
    ]);
    for (const field of ['punctuate', 'itn']) {
      const file = await testFile('speech/hello-operator.wav');
      const refused = await speech.post(
        '/api/v1/transcribe',
        { model: 'demo-ctc-en', [field]: 'true', strict: '1' },
        file,
      );
      assert.deepEqual([refused.status, ((await refused.json()) as { param: string }).param], [422, field]);
    }
  });

  it('is taken as punctuated from a model that punctuates itself', async () => {
    const dir = join(speech.dataDir, 'models');
    const name = (await readdir(dir)).find((one) => one.startsWith('demo-ctc-en'))!;
    const manifest = JSON.parse(await readFile(join(dir, name, 'model.json'), 'utf8'));
    const capabilities = { ...manifest.capabilities, punctuation_builtin: true };
    await writeFile(join(dir, name, 'model.json'), JSON.stringify({ ...manifest, languages: ['en'], capabilities }));
    const result = await transcribe('hello-operator', { model: 'demo-ctc-en', punctuate: 'true' });
    assert.deepEqual([result.text, codesOf(result)], ['hello operator', []]);
  });

  it('stays as it was recognised when the model fails, and says so', async () => {
    await using broken = await startTestSpeech({
      models: ['offline-transducer', 'punct'],
      settings: { 'postproc.punctuation.enabled': 'true' },
    });
    const [name] = (await readdir(join(broken.dataDir, 'models'))).filter((one) => one.startsWith('demo-punct'));
    const model = join(broken.dataDir, 'models', name!, 'model.onnx');
    const whole = await readFile(model);
    await writeFile(model, whole.subarray(0, whole.length / 2));
    const file = await testFile('speech/hello-operator.wav');
    const result = await read(await broken.post('/api/v1/transcribe', { itn: 'true' }, file));
    assert.deepEqual([result.text, codesOf(result)], ['hello operator', ['postprocessing_degraded']]);
    await rm(join(broken.dataDir, 'models', name!), { recursive: true });
    const without = await read(await broken.post('/api/v1/transcribe', {}, file));
    assert.deepEqual([without.text, codesOf(without)], ['hello operator', []]);
  });

  it('has the capitals of a model that writes them; the settings choose between two', async () => {
    await using two = await startTestSpeech({
      models: ['offline-transducer', 'punct', 'punct-online'],
      settings: { 'postproc.punctuation.model': 'demo-punct-case-en', 'postproc.punctuation.enabled': 'true' },
    });
    const file = await testFile('speech/transfer-sales-wait.wav');
    assert.equal((await read(await two.post('/api/v1/transcribe', {}, file))).text, 'Transfer sales wait.');
    const menu = await read(await two.post('/api/v1/transcribe', {}, await testFile('speech/close-menu.wav')));
    assert.match(menu.text, /^close mobile menu\? No, help agent$/);
  });

  it('is punctuated by default when the settings say so', async () => {
    await using always = await startTestSpeech({
      models: ['offline-transducer', 'punct'],
      settings: { 'postproc.punctuation.enabled': 'true', 'postproc.itn.enabled': 'true' },
    });
    const file = await testFile('speech/transfer-digits.wav');
    assert.equal((await read(await always.post('/api/v1/transcribe', {}, file))).text, 'Transfer 3579.');
    const off = { punctuate: 'false', itn: 'false' };
    assert.equal(
      (await read(await always.post('/api/v1/transcribe', off, file))).text,
      'transfer three five seven nine',
    );
  });
});
