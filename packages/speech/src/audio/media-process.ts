/**
 * The media process: started by media.ts, reads recordings and sends segments. It outlives Ctrl-C, which reaches the
 * whole process group, and ends on the message `end` or when its parent is gone.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { asProblem } from '@parley/kit/problem.ts';
import { CODES, type Code } from '../core/codes.ts';
import type { AudioSegment, LaidSegment } from './audio.ts';
import { readRecording } from './recording.ts';
import { AHEAD_SEC, BEAT_MS, type FromMedia, type ToMedia } from './wire.ts';

/** Seconds of audio between two reports of progress. */
const PROGRESS_SEC = 5;
const PRIVATE_FILE = 0o600;

type Open = Extract<ToMedia, { type: 'open' }>;
type Running = { readonly abort: AbortController; waitingSec: number; more: (() => void) | undefined };

const send = (message: FromMedia): void => {
  // The parent may be gone between the check and the write; `disconnect` then ends this process.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
};

const isCode = (code: string): code is Code => code in CODES;

/** What went wrong, in words a caller may read; anything unforeseen is written to stderr for the parent's log. */
const toFailure = (id: number, thrown: unknown, aborted: boolean): FromMedia => {
  const { code, message, param } = asProblem(thrown);
  if (code === 'internal' && !aborted) process.stderr.write(`${thrown instanceof Error ? thrown.stack : thrown}\n`);
  const fault = { type: 'failed', id, code: isCode(code) ? code : 'internal', message } as const;
  return param === undefined ? fault : { ...fault, param };
};

/** The segment with its samples in a file of the folder. Where that cannot be written they go with the message. */
const lay = (segment: AudioSegment, folder: string | undefined): LaidSegment => {
  if (folder === undefined) return segment;
  const { buffer, byteOffset, byteLength, length } = segment.samples;
  const path = join(folder, String(segment.index));
  try {
    writeFileSync(path, new Uint8Array(buffer, byteOffset, byteLength), { mode: PRIVATE_FILE });
  } catch {
    return segment;
  }
  return { ...segment, samples: { path, length } };
};

const createRecordings = () => {
  const running = new Map<number, Running>();

  const emitter =
    ({ id, skip, folder }: Open, state: Running) =>
    async (segment: AudioSegment) => {
      // Those before `skip` reached the consumer from a process that died; decoding gives the same again.
      if (segment.index < skip) return;
      send({ type: 'segment', id, segment: lay(segment, folder) });
      state.waitingSec += segment.samples.length / segment.sampleRate;
      while (state.waitingSec >= AHEAD_SEC && !state.abort.signal.aborted)
        await new Promise<void>((resolve) => {
          state.more = resolve;
        });
      state.abort.signal.throwIfAborted();
    };
  const run = async (open: Open): Promise<void> => {
    const { id, path, options } = open;
    const state: Running = { abort: new AbortController(), waitingSec: 0, more: undefined };
    running.set(id, state);
    let toldSec = 0;
    const progress = (decodedSec: number, readShare: number): void => {
      if (decodedSec - toldSec < PROGRESS_SEC) return;
      toldSec = decodedSec;
      send({ type: 'progress', id, decodedSec, readShare });
    };
    try {
      const sink = { emit: emitter(open, state), progress };
      send({ type: 'done', id, summary: await readRecording(path, options, sink, state.abort.signal) });
    } catch (thrown) {
      send(toFailure(id, thrown, state.abort.signal.aborted));
    } finally {
      running.delete(id);
    }
  };
  return {
    run,
    taken(id: number, seconds: number): void {
      const state = running.get(id);
      if (state === undefined) return;
      state.waitingSec = Math.max(0, state.waitingSec - seconds);
      state.more?.();
    },
    abort(id: number): void {
      const state = running.get(id);
      state?.abort.abort();
      state?.more?.();
    },
  };
};

const beat = async (): Promise<never> => {
  for (;;) {
    send({ type: 'beat', rssBytes: process.memoryUsage.rss() });
    await delay(BEAT_MS);
  }
};

const main = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => process.exit(0));
  const recordings = createRecordings();
  process.on('message', (message: ToMedia) => {
    if (message.type === 'open') void recordings.run(message);
    else if (message.type === 'taken') recordings.taken(message.id, message.seconds);
    else if (message.type === 'abort') recordings.abort(message.id);
    else process.exit(0);
  });
  send({ type: 'ready' });
  void beat();
};

main();
