import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { Problem } from '@parley/kit/problem.ts';
import type { AudioSegment, MediaStream } from '../src/audio/audio.ts';
import { type MediaPool, startMedia } from '../src/audio/media.ts';
import { toInt16 } from '../src/audio/pcm.ts';
import { AHEAD_SEC } from '../src/audio/wire.ts';
import { encode, hear, OPTIONS, openFolder, readWords, sampleFile, WHOLE, wavFile } from './audio-fixtures.ts';

const never = (): AbortSignal => new AbortController().signal;

const collect = async (stream: MediaStream): Promise<AudioSegment[]> => {
  const segments: AudioSegment[] = [];
  for await (const segment of stream.segments) segments.push(segment);
  return segments;
};

const thrownBy = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => assert.fail('it should have failed'),
    (error: unknown) => error,
  );

/** Waits until the process is gone; the kernel tells no stranger. */
const gone = async (pid: number): Promise<void> => {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
};

/** A wav of the spoken sentence over and over, written in pieces. */
const writeLong = async (path: string, minutes: number): Promise<number> => {
  const words = await readWords();
  const data = encode([words], { tag: 1, bits: 16 });
  const times = Math.ceil((minutes * 60 * 32_000) / data.length);
  const file = createWriteStream(path);
  file.write(wavFile(Buffer.alloc(0), 1, { tag: 1, bits: 16 }, times * data.length));
  for (let i = 0; i < times; i++) if (!file.write(data)) await once(file, 'drain');
  file.end();
  await once(file, 'close');
  return times;
};

describe('startMedia', () => {
  let folder: Awaited<ReturnType<typeof openFolder>>;
  let long: string;
  let times: number;
  before(async () => {
    folder = await openFolder();
    long = join(folder.path, 'long.wav');
    times = await writeLong(long, 30);
  });
  after(() => folder[Symbol.asyncDispose]());

  const start = (processes = 1): MediaPool => startMedia({ processes, log: createSilentLog() });

  it('gives through a process what reading here gives', async () => {
    await using media = start();
    for (const name of ['words.wav', 'words.mp3', 'words-moov-last.m4a']) {
      const stream = media.open(sampleFile(name), OPTIONS, never());
      const segments = await collect(stream);
      const here = await hear(sampleFile(name));
      assert.deepEqual(segments, here.segments);
      const { decodeMs, voiceActivityMs, ...summary } = await stream.summary;
      assert.ok(decodeMs >= 0 && voiceActivityMs >= 0);
      assert.deepEqual({ ...here.summary, decodeMs, voiceActivityMs }, { ...summary, decodeMs, voiceActivityMs });
      assert.equal(stream.decodedSec(), summary.durationSec);
      assert.equal(stream.readShare(), 1);
    }
  });

  it('hands problems over with their code, status and field', async () => {
    await using media = start();
    const text = await folder.write('text.wav', Buffer.from('no recording '.repeat(100)));
    for (const [path, options, code, param] of [
      [text, OPTIONS, 'unsupported_media_type', 'file'],
      [sampleFile('words.wav'), { ...OPTIONS, maxDurationSec: 1 }, 'duration_exceeded', 'file'],
      [
        sampleFile('two-channels.mp3'),
        { ...OPTIONS, channelMode: 'split', maxSplitChannels: 1 },
        'invalid_request',
        'channel_mode',
      ],
    ] as const) {
      const stream = media.open(path, options, never());
      const thrown = await thrownBy(collect(stream));
      assert.ok(thrown instanceof Problem);
      assert.deepEqual([thrown.code, thrown.param], [code, param]);
      assert.equal(await thrownBy(stream.summary), thrown);
    }
    assert.equal((await collect(media.open(sampleFile('words.wav'), OPTIONS, never()))).length, 2);
  });

  it('reads more recordings at once than it has processes', async () => {
    await using media = start(2);
    const names = ['words.wav', 'words.mp3', 'words.flac', 'words.ogg', 'words.opus', 'words.webm', 'words.amr'];
    const streams = Array.from({ length: 42 }, (_, i) =>
      media.open(sampleFile(names[i % names.length]!), OPTIONS, never()),
    );
    for (const segments of await Promise.all(streams.map(collect))) assert.equal(segments.length, 2);
    assert.ok(media.pids().length <= 2);
  });

  it('lets a short recording pass while a long one waits for its reader', async () => {
    await using media = start();
    const slow = media.open(long, OPTIONS, never());
    const reading = slow.segments[Symbol.asyncIterator]();
    await reading.next();
    assert.equal((await collect(media.open(sampleFile('words.wav'), OPTIONS, never()))).length, 2);
    await reading.return?.();
  });

  it('runs only a little ahead of its reader', async () => {
    await using media = start();
    const stream = media.open(long, OPTIONS, never());
    const reading = stream.segments[Symbol.asyncIterator]();
    let takenSec = 0;
    for (let i = 0; i < 40; i++) {
      const { value } = await reading.next();
      takenSec = value.start + value.samples.length / value.sampleRate;
      // Another recording from start to end gives the process time to run ahead if it could.
      if (i % 10 === 0) await collect(media.open(sampleFile('words.wav'), OPTIONS, never()));
      // Speech that waits, as much silence again, the longest segment, and one report of progress.
      assert.ok(stream.decodedSec() - takenSec < 3 * AHEAD_SEC + 25, `${stream.decodedSec()} s against ${takenSec} s`);
    }
    await reading.return?.();
    assert.ok(takenSec < 200);
  });

  it('keeps a process under 250 MB over half an hour, for wav at the least', async () => {
    await using media = start();
    const stream = media.open(long, OPTIONS, never());
    const segments = await collect(stream);
    assert.equal(segments.length, 2 * times);
    const { durationSec } = await stream.summary;
    assert.ok(durationSec >= 1800);
    const status = await readFile(`/proc/${media.pids()[0]}/status`, 'utf8');
    const peakKb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
    assert.ok(peakKb > 0 && peakKb < 250 * 1024, `${peakKb} kB`);
  });

  it('stops in the middle when aborted, and leaves neither file nor work behind', async () => {
    await using media = start();
    const abort = new AbortController();
    const stream = media.open(long, OPTIONS, abort.signal);
    const reading = stream.segments[Symbol.asyncIterator]();
    await reading.next();
    const reason = new Error('the caller left');
    abort.abort(reason);
    assert.equal(await thrownBy(collect(stream)), reason);
    assert.equal(await thrownBy(stream.summary), reason);
    assert.deepEqual(await readdir(folder.path), ['long.wav', 'text.wav']);
    assert.equal((await collect(media.open(sampleFile('words.wav'), OPTIONS, never()))).length, 2);
  });

  it('does not begin when it is aborted already', async () => {
    await using media = start();
    const reason = new Error('too late');
    const stream = media.open(long, OPTIONS, AbortSignal.abort(reason));
    assert.equal(await thrownBy(collect(stream)), reason);
  });

  it('stops when its reader goes away', async () => {
    await using media = start();
    const stream = media.open(long, OPTIONS, never());
    for await (const segment of stream.segments) if (segment.index === 1) break;
    const thrown = await thrownBy(stream.summary);
    assert.ok(thrown instanceof DOMException && thrown.name === 'AbortError');
  });

  it('goes on where it stopped when its process is killed', async () => {
    await using media = start();
    const stream = media.open(long, OPTIONS, never());
    const [pid] = media.pids();
    const segments: AudioSegment[] = [];
    for await (const segment of stream.segments) {
      segments.push(segment);
      if (segments.length === 5) process.kill(pid!, 'SIGKILL');
    }
    assert.equal(segments.length, 2 * times);
    assert.ok(segments.every((segment, i) => segment.index === i));
    assert.ok(segments.every((segment, i) => i === 0 || segment.start > segments[i - 1]!.start));
    assert.ok(!media.pids().includes(pid!));
  });

  it('blames a recording that ends two processes, and goes on with others', async () => {
    await using media = start();
    const killed = new Set<number>();
    const stream = media.open(long, OPTIONS, never());
    const reading = (async () => {
      for await (const _ of stream.segments)
        for (const pid of media.pids())
          if (!killed.has(pid) && killed.size < 4) {
            killed.add(pid);
            process.kill(pid, 'SIGKILL');
          }
    })();
    const thrown = await thrownBy(reading);
    assert.ok(thrown instanceof Problem);
    assert.deepEqual([thrown.code, thrown.status], ['invalid_audio', 400]);
    assert.equal((await collect(media.open(sampleFile('words.wav'), OPTIONS, never()))).length, 2);
  });

  it('says inference_failed when no process can be started', async () => {
    await using media = startMedia({ processes: 1, log: createSilentLog(), nodeArgs: ['--no-such-option'] });
    const thrown = await thrownBy(collect(media.open(long, OPTIONS, never())));
    assert.ok(thrown instanceof Problem);
    assert.equal(thrown.code, 'inference_failed');
  });

  it('ignores SIGINT and SIGTERM, ends all its processes and refuses work when disposed', async () => {
    const media = start(2);
    const streams = [media.open(long, OPTIONS, never()), media.open(long, WHOLE, never())];
    const readings = streams.map((stream) => stream.segments[Symbol.asyncIterator]());
    await Promise.all(readings.map((reading) => reading.next()));
    const pids = media.pids();
    for (const pid of pids) for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(pid, signal);
    assert.ok(!(await readings[0]!.next()).done);
    await media[Symbol.asyncDispose]();
    await Promise.all(pids.map(gone));
    for (const stream of [...streams, media.open(long, OPTIONS, never())]) {
      const thrown = await thrownBy(stream.summary);
      assert.ok(thrown instanceof Problem && thrown.code === 'draining');
    }
    await media[Symbol.asyncDispose]();
  });

  it('sends samples that are its own', async () => {
    await using media = start();
    const segments = await collect(media.open(sampleFile('words.wav'), WHOLE, never()));
    assert.deepEqual(segments[0]!.samples, toInt16(await readWords()));
  });
});
