/** Recordings made in the tests: WAVE files of every kind, and the options of an ordinary request. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AudioSegment, AudioSummary, MediaOptions } from '../src/audio/audio.ts';
import { readRecording } from '../src/audio/recording.ts';

export const OPTIONS: MediaOptions = {
  channelMode: 'downmix',
  maxSplitChannels: 2,
  sampleRate: 16_000,
  cut: { maxSec: 20, pauseSec: 0.3, padSec: 0.2 },
  voiceActivity: { enabled: true, threshold: 0.5, minSilenceMs: 300, minSpeechMs: 250, sileroPath: undefined },
  maxDurationSec: 4 * 3600,
  rawPcmRate: undefined,
  ffmpegPath: '',
  ffmpegTimeoutMs: 20_000,
};

/** All of a recording as one stretch of samples, without a detector's opinion. */
export const WHOLE: MediaOptions = {
  ...OPTIONS,
  cut: { maxSec: 60, pauseSec: 1, padSec: 0 },
  voiceActivity: { ...OPTIONS.voiceActivity, enabled: false },
};

export const sampleFile = (name: string): string =>
  fileURLToPath(new URL(`../../../testdata/audio/${name}`, import.meta.url));

export const openFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'parley-audio-'));
  return {
    path,
    async write(name: string, bytes: Uint8Array): Promise<string> {
      const file = join(path, name);
      await writeFile(file, bytes);
      return file;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
};

export type Heard = { readonly segments: readonly AudioSegment[]; readonly summary: AudioSummary };

/** Reads a recording in this process. */
export const hear = async (path: string, options: MediaOptions = OPTIONS): Promise<Heard> => {
  const segments: AudioSegment[] = [];
  const sink = {
    async emit(segment: AudioSegment) {
      segments.push(segment);
    },
    progress: () => undefined,
  };
  return { summary: await readRecording(path, options, sink, new AbortController().signal), segments };
};

export const joined = (segments: readonly AudioSegment[]): Int16Array =>
  Int16Array.from(segments.flatMap((segment) => [...segment.samples]));

/** The spoken sentence that all files in testdata/audio were made of: 16 kHz, mono. */
export const readWords = async (): Promise<Float32Array> => {
  const file = new Uint8Array(await readFile(sampleFile('words.wav')));
  const at = Buffer.from(file.buffer).indexOf('data', 'latin1') + 8;
  return Float32Array.from(new Int16Array(file.buffer.slice(at)), (sample) => sample / 32_768);
};

export type WavKind = {
  readonly tag: number;
  readonly bits: number;
  readonly rate?: number;
  readonly extensible?: boolean;
  readonly big?: boolean;
};

const ascii = (text: string): Buffer => Buffer.from(text, 'latin1');

/** µ-law and A-law by search: the code whose value is nearest (slow, and right by definition). */
export const companded = (samples: Float32Array, decode: (bytes: Uint8Array) => Int16Array): Buffer => {
  const values = decode(Uint8Array.from({ length: 256 }, (_, i) => i));
  const nearest = (sample: number): number =>
    values.reduce(
      (best, value, code) => (Math.abs(value - sample) < Math.abs(values[best]! - sample) ? code : best),
      0,
    );
  return Buffer.from(Array.from(samples, (sample) => nearest(sample * 32_768)));
};

const writeSample = (out: Buffer, at: number, value: number, { tag, bits, big }: WavKind): void => {
  const whole = Math.round(Math.max(-1, Math.min(1 - 2 ** (1 - bits), value)) * 2 ** (bits - 1));
  if (tag === 3 && bits === 32) big ? out.writeFloatBE(value, at) : out.writeFloatLE(value, at);
  else if (tag === 3) big ? out.writeDoubleBE(value, at) : out.writeDoubleLE(value, at);
  else if (bits === 8) out.writeUInt8(whole + 128, at);
  else if (big) out.writeIntBE(whole, at, bits / 8);
  else out.writeIntLE(whole, at, bits / 8);
};

/** Interleaved samples of some channels. */
export const encode = (channels: readonly Float32Array[], kind: WavKind): Buffer => {
  const bytes = kind.bits / 8;
  const out = Buffer.alloc(channels[0]!.length * channels.length * bytes);
  for (const [channel, samples] of channels.entries())
    for (const [i, value] of samples.entries()) writeSample(out, (i * channels.length + channel) * bytes, value, kind);
  return out;
};

/** A WAVE file around encoded samples; `declared` is the length its data chunk claims. */
export const wavFile = (data: Buffer, channels: number, kind: WavKind, declared = data.length): Buffer => {
  const { tag, bits, rate = 16_000, extensible = false, big = false } = kind;
  const fmt = Buffer.alloc(extensible ? 40 : 16);
  const u16 = (value: number, at: number) => (big ? fmt.writeUInt16BE(value, at) : fmt.writeUInt16LE(value, at));
  const u32 = (value: number, at: number) => (big ? fmt.writeUInt32BE(value, at) : fmt.writeUInt32LE(value, at));
  u16(extensible ? 0xfffe : tag, 0);
  u16(channels, 2);
  u32(rate, 4);
  u32(((rate * channels * bits) / 8) % 2 ** 32, 8);
  u16(((channels * bits) / 8) % 65_536, 12);
  u16(bits, 14);
  if (extensible) {
    u16(22, 16);
    u16(bits, 18);
    u16(tag, 24);
  }
  const size = (value: number): Buffer => {
    const out = Buffer.alloc(4);
    if (big) out.writeUInt32BE(value);
    else out.writeUInt32LE(value);
    return out;
  };
  const chunk = (name: string, body: Buffer, length = body.length) => Buffer.concat([ascii(name), size(length), body]);
  const odd = chunk('note', Buffer.from([1, 2, 3, 0]), 3);
  const body = Buffer.concat([ascii('WAVE'), odd, chunk('fmt ', fmt), chunk('data', data, declared)]);
  return Buffer.concat([ascii(big ? 'RIFX' : 'RIFF'), size(body.length), body]);
};
