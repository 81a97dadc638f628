/** The fixture models and synthetic sentences that the recogniser's tests run on. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSilentLog } from '@parley/kit/log.ts';
import { within } from '@parley/kit/testing/wait.ts';
import { readManifest, toEngineModel } from '../src/models/manifest.ts';
import { type RecognizerOptions, startRecognizer } from '../src/recognizer/host.ts';
import type { EngineModel, Recognition, Recognizer, Utterance } from '../src/recognizer/recognizer.ts';

const TESTDATA = fileURLToPath(new URL('../../../testdata', import.meta.url));
export const RATE = 16_000;
export const never = new AbortController().signal;
const START_TIMEOUT_MS = 30_000;

export type ModelFolder = 'offline-ctc' | 'offline-transducer' | 'online-transducer';
export type Sentence = { readonly name: string; readonly text: string; readonly utterance: Utterance };

export const readModel = async (folder: ModelFolder): Promise<EngineModel> => {
  const dir = join(TESTDATA, 'models', folder);
  return toEngineModel(await readManifest(dir), dir);
};

/** A copy of a model that a test may spoil; removed with the returned value. */
export const copyModel = async (folder: ModelFolder) => {
  const dir = await mkdtemp(join(tmpdir(), 'parley-model-'));
  await cp(join(TESTDATA, 'models', folder), dir, { recursive: true });
  return {
    dir,
    model: toEngineModel(await readManifest(dir), dir),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
};

/** An empty folder to put files into; removed with the returned value. */
export const createFolder = async () => {
  const dir = await mkdtemp(join(tmpdir(), 'parley-model-'));
  return {
    dir,
    /** Writes files with a word in them. */
    write: async (inner: string, names: readonly string[]): Promise<void> => {
      await mkdir(join(dir, inner), { recursive: true });
      await Promise.all(names.map((name) => writeFile(join(dir, inner, name), 'word')));
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
};

export const start = (model: EngineModel, options: Partial<RecognizerOptions> = {}): Promise<Recognizer> =>
  startRecognizer(model, { log: createSilentLog(), startTimeoutMs: START_TIMEOUT_MS, ...options });

export const startFolder = async (folder: ModelFolder, options: Partial<RecognizerOptions> = {}): Promise<Recognizer> =>
  start(await readModel(folder), options);

/** Samples of a 16-bit mono wav as our own tools write them. */
export const readSamples = async (path: string): Promise<Int16Array> => {
  const bytes = await readFile(path);
  const at = bytes.indexOf('data') + 8;
  const samples = new Int16Array(Math.floor((bytes.length - at) / 2));
  for (let index = 0; index < samples.length; index += 1) samples[index] = bytes.readInt16LE(at + 2 * index);
  return samples;
};

export const toUtterance = (samples: Int16Array): Utterance => ({ samples, sampleRate: RATE, bandHz: RATE / 2 });

export const readSentences = async (): Promise<readonly Sentence[]> => {
  const dir = join(TESTDATA, 'speech');
  const lines = (await readFile(join(dir, 'transcription'), 'utf8')).trim().split('\n');
  return await Promise.all(
    lines.map(async (line) => {
      const [, text, name] = /^(.*) \((.*)\)$/.exec(line) ?? [];
      assert.ok(text !== undefined && name !== undefined);
      return { name, text, utterance: toUtterance(await readSamples(join(dir, `${name}.wav`))) };
    }),
  );
};

export const sentence = async (name: string): Promise<Sentence> => {
  const found = (await readSentences()).find((each) => each.name === name);
  assert.ok(found);
  return found;
};

/** Soft noise, long enough that a process can be ended while it decodes. */
export const createNoise = (seconds: number): Utterance => {
  let seed = 1;
  const samples = Int16Array.from({ length: seconds * RATE }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return (seed >> 16) % 300;
  });
  return toUtterance(samples);
};

export const recognizeAll = (recognizer: Recognizer, sentences: readonly Sentence[]): Promise<readonly Recognition[]> =>
  Promise.all(sentences.map(({ utterance }) => recognizer.recognize(utterance, {}, never)));

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Looks at every turn of the event loop until `look` finds something. */
export const waitUntil = <T>(look: () => T | undefined, what: string): Promise<T> => {
  const watch = async (): Promise<T> => {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      await nextTurn();
    }
  };
  return within(watch(), what);
};
