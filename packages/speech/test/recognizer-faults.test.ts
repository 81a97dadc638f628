import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { loadFaultOf } from '../src/recognizer/load.ts';
import type { Recognizer } from '../src/recognizer/recognizer.ts';
import {
  copyModel,
  createNoise,
  isAlive,
  type ModelFolder,
  never,
  readSentences,
  recognizeAll,
  sentence,
  start,
  startFolder,
  waitUntil,
} from './recognizer-fixtures.ts';

failOnLeaks();

const LONG_SEC = 60;

/** The process that follows the one with `pid`. */
const nextPid = (recognizer: Recognizer, pid: number): Promise<number> =>
  waitUntil(() => (recognizer.pid !== pid ? recognizer.pid : undefined), 'a fresh engine process');

const replaceIn = async (path: string, from: string, to: string): Promise<void> => {
  assert.equal(from.length, to.length);
  const bytes = await readFile(path);
  const at = bytes.indexOf(from);
  assert.ok(at >= 0);
  bytes.write(to, at, 'latin1');
  await writeFile(path, bytes);
};

/** A file in good order with a fact in it over which sherpa-onnx ends the process. */
const makeDeadly = (dir: string): Promise<void> =>
  replaceIn(join(dir, 'decoder.onnx'), 'vocab_size\x12\x0259', 'vocab_size\x12\x02-9');

describe('a process that dies', () => {
  it('costs a retry, not the answer', async () => {
    await using recognizer = await startFolder('offline-ctc');
    const sentences = await readSentences();
    const pid = recognizer.pid!;
    process.kill(pid, 'SIGSTOP');
    const heard = recognizeAll(recognizer, sentences);
    process.kill(pid, 'SIGKILL');
    assert.deepEqual(
      (await heard).map(({ text }) => text),
      sentences.map(({ text }) => text),
    );
    assert.notEqual(recognizer.pid, pid);
  });

  it('costs nothing while it stands idle', async () => {
    await using recognizer = await startFolder('offline-ctc');
    const pid = recognizer.pid!;
    process.kill(pid, 'SIGKILL');
    await waitUntil(() => (recognizer.pid === undefined ? true : undefined), 'the death');
    assert.equal(await recognizer.rssBytes(), 0);
    const { utterance, text } = await sentence('cancel-payment');
    assert.equal((await recognizer.recognize(utterance, {}, never)).text, text);
  });

  it('twice under one utterance fails that one, and its neighbours succeed', async () => {
    await using recognizer = await startFolder('offline-transducer');
    const sentences = (await readSentences()).slice(0, 2);
    const first = recognizer.pid!;
    process.kill(first, 'SIGSTOP');
    // Long enough that it is still at work when its second process is ended.
    const guilty = recognizer.recognize(createNoise(LONG_SEC), {}, never);
    const failed = assert.rejects(guilty, { code: 'inference_failed' });
    const neighbours = recognizeAll(recognizer, sentences);
    process.kill(first, 'SIGKILL');
    process.kill(await nextPid(recognizer, first), 'SIGKILL');
    await failed;
    assert.deepEqual(
      (await neighbours).map(({ text }) => text),
      sentences.map(({ text }) => text),
    );
  });

  it('because it does not answer is replaced', async () => {
    await using recognizer = await startFolder('offline-ctc', { heartbeatMs: 50 });
    const { utterance, text } = await sentence('close-menu');
    process.kill(recognizer.pid!, 'SIGSTOP');
    assert.equal((await recognizer.recognize(utterance, {}, never)).text, text);
  });

  it('at every start is told of, and the model is not tried again', async () => {
    await using copy = await copyModel('offline-transducer');
    await using recognizer = await start(copy.model);
    await makeDeadly(copy.dir);
    process.kill(recognizer.pid!, 'SIGKILL');
    await waitUntil(() => (recognizer.pid === undefined ? true : undefined), 'the death');
    const { utterance } = await sentence('cancel-payment');
    for (let count = 0; count < 2; count += 1) {
      await assert.rejects(recognizer.recognize(utterance, {}, never), { code: 'model_unavailable' });
    }
  });
});

describe('an engine process', () => {
  it('outlives the signals of a terminal', async () => {
    await using recognizer = await startFolder('offline-ctc');
    const pid = recognizer.pid!;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal);
    const { utterance, text } = await sentence('hello-operator');
    assert.equal((await recognizer.recognize(utterance, {}, never)).text, text);
    assert.equal(recognizer.pid, pid);
  });

  it('ends with its parent', async () => {
    const fixtures = fileURLToPath(new URL('./recognizer-fixtures.ts', import.meta.url));
    const program = `
      const { startFolder } = await import(${JSON.stringify(fixtures)});
      console.log((await startFolder('offline-ctc')).pid);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed] = await once(parent.stdout.setEncoding('utf8'), 'data');
    const pid = Number(printed);
    assert.ok(isAlive(pid));
    parent.kill('SIGKILL');
    await once(parent, 'close');
    await waitUntil(() => (isAlive(pid) ? undefined : true), 'the end of the engine process');
  });
});

describe('aborting', () => {
  it('drops what waits and the answer of what is in flight', async () => {
    await using recognizer = await startFolder('offline-ctc', { slots: 1 });
    const { utterance, text } = await sentence('hello-operator');
    process.kill(recognizer.pid!, 'SIGSTOP');
    const controller = new AbortController();
    const dropped = [1, 2, 3, 4].map(() => recognizer.recognize(utterance, {}, controller.signal));
    const kept = recognizer.recognize(utterance, {}, never);
    controller.abort(new Error('gone'));
    for (const each of dropped) await assert.rejects(each, { message: 'gone' });
    process.kill(recognizer.pid!, 'SIGCONT');
    assert.equal((await kept).text, text);
    await assert.rejects(recognizer.recognize(utterance, {}, AbortSignal.abort(new Error('late'))), {
      message: 'late',
    });
  });
});

type Spoiler = readonly [what: string, folder: ModelFolder, spoil: (dir: string) => Promise<void>, reason: RegExp];

const REFUSED: readonly Spoiler[] = [
  [
    'junk',
    'offline-ctc',
    (dir) => writeFile(join(dir, 'model.onnx'), 'this is no model '.repeat(100)),
    /not an ONNX model/,
  ],
  ['an empty file', 'offline-ctc', (dir) => writeFile(join(dir, 'model.onnx'), ''), /model is empty/],
  ['a truncated file', 'offline-ctc', (dir) => truncate(join(dir, 'model.onnx'), 300_000), /truncated/],
  [
    'missing metadata',
    'offline-ctc',
    (dir) => replaceIn(join(dir, 'model.onnx'), 'model_type', 'model_typo'),
    /model_type/,
  ],
  ['no blank', 'offline-ctc', (dir) => replaceIn(join(dir, 'tokens.txt'), '<blk>', '<bla>'), /no blank/],
  ['binary tokens', 'offline-ctc', (dir) => writeFile(join(dir, 'tokens.txt'), Buffer.alloc(900, 7)), /line 1/],
  ['too few tokens', 'offline-transducer', (dir) => writeFile(join(dir, 'tokens.txt'), '<blk> 0\n▁a 1\n'), /2 symbols/],
  ['a missing part', 'offline-transducer', (dir) => truncate(join(dir, 'joiner.onnx'), 0), /joiner is empty/],
];

describe('a model that would end the process', () => {
  for (const [what, folder, spoil, reason] of REFUSED) {
    it(`is refused with a reason: ${what}`, async () => {
      await using copy = await copyModel(folder);
      await spoil(copy.dir);
      await assert.rejects(start(copy.model), (thrown: { code: string }) => {
        assert.equal(thrown.code, 'model_unavailable');
        assert.match(loadFaultOf(thrown)?.reason ?? '', reason);
        assert.equal(loadFaultOf(thrown)?.quarantine, false);
        return true;
      });
    });
  }

  it('is refused when it names an unknown family or no files', async () => {
    await using copy = await copyModel('offline-ctc');
    const unknown = start({ ...copy.model, family: 'constructor' });
    await assert.rejects(unknown, (thrown) => /no offline model family/.test(loadFaultOf(thrown)?.reason ?? ''));
    await assert.rejects(start({ ...copy.model, files: {} }), (thrown) =>
      /names no model, tokens/.test(loadFaultOf(thrown)?.reason ?? ''),
    );
  });

  it('and does is quarantined after the second time, with what it printed last', async () => {
    await using copy = await copyModel('offline-transducer');
    await makeDeadly(copy.dir);
    await assert.rejects(start(copy.model), (thrown: { code: string; message: string }) => {
      assert.equal(thrown.code, 'model_unavailable');
      assert.ok(!thrown.message.includes(copy.dir));
      const fault = loadFaultOf(thrown);
      assert.equal(fault?.quarantine, true);
      assert.match(fault?.reason ?? '', /code 255 while loading .*vocab_size/s);
      return true;
    });
  });

  it('kills nobody else', async () => {
    await using good = await startFolder('offline-ctc');
    await using copy = await copyModel('offline-ctc');
    await writeFile(join(copy.dir, 'model.onnx'), 'junk');
    await assert.rejects(start(copy.model));
    const { utterance, text } = await sentence('hello-operator');
    assert.equal((await good.recognize(utterance, {}, never)).text, text);
  });

  it('gives up when loading takes too long', async () => {
    await using copy = await copyModel('offline-ctc');
    await assert.rejects(start(copy.model, { startTimeoutMs: 1 }), (thrown) =>
      /did not load within/.test(loadFaultOf(thrown)?.reason ?? ''),
    );
  });
});
