/** Samples that go from the media process to the engine process through files. */
import assert from 'node:assert/strict';
import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import type { LaidSegment, LaidStream } from '../src/audio/audio.ts';
import { type MediaPool, startMedia } from '../src/audio/media.ts';
import type { PieceFile } from '../src/core/piece.ts';
import { EngineRefusal } from '../src/recognizer/engines/engine.ts';
import { readPiece } from '../src/recognizer/piece.ts';
import { hear, OPTIONS, openFolder, sampleFile } from './audio-fixtures.ts';
import { RATE, sentence, startFolder } from './recognizer-fixtures.ts';

const never = new AbortController().signal;
const WORDS = sampleFile('words.wav');

const start = (folder: string): MediaPool => startMedia({ processes: 1, log: createSilentLog(), folder });

const collect = async (stream: LaidStream): Promise<LaidSegment[]> => {
  const segments: LaidSegment[] = [];
  for await (const segment of stream.segments) segments.push(segment);
  return segments;
};

const fileOf = ({ samples }: LaidSegment): PieceFile => {
  assert.ok('path' in samples, 'the samples lie in a file');
  return samples;
};

/** Asks for it as the engine process does. */
const read = (segment: LaidSegment) => {
  const { samples, sampleRate, bandHz } = segment;
  return { ...segment, samples: readPiece({ samples, sampleRate, bandHz }).samples };
};

describe('samples laid as files', () => {
  it('are what reading here gives, for nobody else to read, and gone when discarded', async () => {
    await using folder = await openFolder();
    await using media = start(join(folder.path, 'pieces'));
    await using stream = media.openLaid(WORDS, OPTIONS, never);
    const segments = await collect(stream);
    assert.deepEqual(segments.map(read), (await hear(WORDS)).segments);
    for (const { path } of segments.map(fileOf)) assert.equal((await stat(path)).mode & 0o777, 0o600);
    stream.discard(segments[0]!);
    for (;;) {
      const left = await readdir(join(folder.path, 'pieces', '1'));
      if (left.length === 1) break;
    }
  });

  it('are gone with their recording, read to its end or not', async () => {
    await using folder = await openFolder();
    await using media = start(folder.path);
    for (const wanted of [0, 1, 9]) {
      const abort = new AbortController();
      await using stream = media.openLaid(WORDS, OPTIONS, abort.signal);
      let taken = 0;
      for await (const segment of stream.segments) if (fileOf(segment) && ++taken >= wanted) break;
      abort.abort(new Error('the caller left'));
    }
    assert.deepEqual(await readdir(folder.path), []);
  });

  it('are all there when the process is killed in the middle', async () => {
    await using folder = await openFolder();
    await using media = start(folder.path);
    await using stream = media.openLaid(WORDS, OPTIONS, never);
    const segments: LaidSegment[] = [];
    for await (const segment of stream.segments) {
      segments.push(segment);
      if (segments.length === 1) for (const pid of media.pids()) process.kill(pid, 'SIGKILL');
    }
    assert.deepEqual(segments.map(read), (await hear(WORDS)).segments);
  });

  it('travel in the messages where no file can be written', async () => {
    await using folder = await openFolder();
    await using media = start(await folder.write('no folder', Buffer.of()));
    await using stream = media.openLaid(WORDS, OPTIONS, never);
    assert.deepEqual(await collect(stream), (await hear(WORDS)).segments);
  });

  it('are read again by the engine process that follows one that died', async () => {
    await using folder = await openFolder();
    await using recognizer = await startFolder('offline-ctc');
    const { utterance, text } = await sentence('cancel-payment');
    assert.ok(utterance.samples instanceof Int16Array);
    const { buffer, byteOffset, byteLength, length } = utterance.samples;
    const path = await folder.write('0', new Uint8Array(buffer, byteOffset, byteLength));
    const pid = recognizer.pid!;
    process.kill(pid, 'SIGSTOP');
    const laid = { ...utterance, samples: { path, length } };
    const heard = recognizer.recognize(laid, {}, never);
    process.kill(pid, 'SIGKILL');
    assert.equal((await heard).text, text);
    assert.equal((await readFile(path)).length, byteLength);
  });

  it('are refused in words without the path when the file is short or gone', async () => {
    await using folder = await openFolder();
    const path = join(folder.path, '0');
    await writeFile(path, Buffer.alloc(20));
    const ask = { samples: { path, length: 10 }, sampleRate: RATE, bandHz: 8000 };
    assert.equal(readPiece(ask).samples.length, 10);
    const isRefusal = (thrown: unknown): boolean => thrown instanceof EngineRefusal && !thrown.message.includes(path);
    await truncate(path, 19);
    assert.throws(() => readPiece(ask), isRefusal);
    assert.throws(() => readPiece({ ...ask, samples: { path: `${path}1`, length: 10 } }), isRefusal);
  });
});
