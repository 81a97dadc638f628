/**
 * ffmpeg, where it is installed, for what the decoders here do not know. Fixed arguments, the bytes through a pipe,
 * no protocol but that pipe; ended by its time limit and by the signal.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { problem } from '../core/codes.ts';
import type { ByteSource } from './source.ts';
import type { Block } from './wav.ts';

export type FfmpegOptions = { readonly ffmpegPath: string; readonly ffmpegTimeoutMs: number };

/** What comes out: 32-bit floats at one rate; channels are mixed to one by ffmpeg. */
const RATE = 48_000;
const ARGUMENTS = [
  '-hide_banner',
  '-loglevel',
  'error',
  '-nostdin',
  '-protocol_whitelist',
  'pipe',
  '-i',
  'pipe:0',
].concat(['-map', '0:a:0', '-ac', '1', '-ar', String(RATE), '-f', 'f32le', 'pipe:1']);
const PIECE_BYTES = 64 * 1024;
const MAX_REASON = 300;

/** True when it started; ENOENT and its like mean that there is no ffmpeg here. */
const started = (child: ChildProcess): Promise<boolean> =>
  new Promise((resolve) => {
    child.once('spawn', () => resolve(true));
    child.once('error', () => resolve(false));
  });

/** Writes the file into the pipe, no faster than it is read; stops quietly when ffmpeg has had enough. */
const pour = async (source: ByteSource, child: ChildProcess): Promise<void> => {
  const input = child.stdin!;
  input.on('error', () => undefined);
  for (let at = 0; at < source.sizeBytes && input.writable; at += PIECE_BYTES) {
    const piece = await source.read(at, PIECE_BYTES);
    if (!input.write(piece) && input.writable)
      await Promise.race([once(input, 'drain'), once(input, 'close')]).catch(() => undefined);
  }
  input.end();
};

/** The pieces of its output; ends ffmpeg when it gives none for that long. Waiting for our own reader does not count. */
async function* piecesOf(child: ChildProcess, timeoutMs: number, timedOut: () => void): AsyncGenerator<Buffer> {
  const pieces: AsyncIterator<Buffer> = child.stdout![Symbol.asyncIterator]();
  for (;;) {
    const limit = setTimeout(() => {
      timedOut();
      child.kill('SIGKILL');
    }, timeoutMs);
    const next = await pieces.next().finally(() => clearTimeout(limit));
    if (next.done === true) return;
    yield next.value;
  }
}

async function* floats(pieces: AsyncIterable<Buffer>): AsyncGenerator<Block> {
  let left: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const joined = left.length === 0 ? piece : Buffer.concat([left, piece]);
    const whole = joined.length - (joined.length % 4);
    const samples = new Float32Array(whole / 4);
    for (let i = 0; i < samples.length; i++) samples[i] = joined.readFloatLE(4 * i);
    left = joined.subarray(whole);
    if (samples.length > 0) yield { channels: [samples], rate: RATE };
  }
}

async function* run(child: ChildProcess, source: ByteSource, timeoutMs: number): AsyncGenerator<Block> {
  let late = false;
  let reason = '';
  child.stderr!.on('data', (text: Buffer) => {
    reason = (reason + text.toString()).slice(-MAX_REASON);
  });
  const ended = once(child, 'close');
  const poured = pour(source, child).catch(() => undefined);
  let given = false;
  try {
    const pieces = piecesOf(child, timeoutMs, () => {
      late = true;
    });
    for await (const block of floats(pieces)) {
      given = true;
      yield block;
    }
    await ended;
  } finally {
    child.kill('SIGKILL');
    await poured;
  }
  if (late) throw problem('invalid_audio', 'Decoding the audio with ffmpeg took too long.', { param: 'file' });
  // Its reason may quote the bytes, so it stays in the cause.
  if (!given)
    throw problem('unsupported_media_type', 'The format of the audio is not known here.', {
      param: 'file',
      cause: reason,
    });
}

/** Decodes through ffmpeg; `undefined` when it is not installed. Problems while reading: invalid_audio, unsupported_media_type. */
export const decodeWithFfmpeg = async (
  source: ByteSource,
  options: FfmpegOptions,
  signal: AbortSignal,
): Promise<{ blocks: AsyncIterable<Block>; truncated: () => boolean } | undefined> => {
  if (options.ffmpegPath === '') return undefined;
  const child = spawn(options.ffmpegPath, ARGUMENTS, {
    stdio: 'pipe',
    killSignal: 'SIGKILL',
    signal,
  });
  if (!(await started(child))) return undefined;
  child.on('error', () => undefined);
  return { blocks: run(child, source, options.ffmpegTimeoutMs), truncated: () => false };
};
