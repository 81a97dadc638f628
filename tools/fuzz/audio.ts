/** Recordings: WAVE heads made of odd numbers, and files of every format with bytes changed. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MediaOptions } from '@parley/speech/audio/audio.ts';
import { readRecording } from '@parley/speech/audio/recording.ts';
import type { Random } from './random.ts';
import type { OpenTarget, Target } from './target.ts';

const AUDIO = fileURLToPath(new URL('../../testdata/audio/', import.meta.url));
/** Decoders need the beginning of a file; the rest costs time and shows nothing new. */
const MAX_SAMPLE_BYTES = 24_000;

const OPTIONS: MediaOptions = {
  channelMode: 'downmix',
  maxSplitChannels: 2,
  sampleRate: 16_000,
  cut: { maxSec: 20, pauseSec: 0.3, padSec: 0.2 },
  voiceActivity: { enabled: false, threshold: 0.5, minSilenceMs: 300, minSpeechMs: 250, sileroPath: undefined },
  maxDurationSec: 60,
  rawPcmRate: undefined,
  ffmpegPath: '',
  ffmpegTimeoutMs: 5000,
};

const SINK = { emit: async () => undefined, progress: () => undefined };

/** `make` gives the bytes of a recording. */
const openRecordings = (make: (random: Random) => Buffer): OpenTarget => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
  const path = join(folder, 'recording');
  return {
    run: (random) => {
      writeFileSync(path, make(random));
      const rawPcmRate = random.chance(0.02) ? 16_000 : undefined;
      const channelMode = random.pick(['downmix', 'first', 'split'] as const);
      return readRecording(path, { ...OPTIONS, channelMode, rawPcmRate }, SINK, new AbortController().signal);
    },
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }),
  };
};

const chunk = (id: string, body: Buffer, size = body.length): Buffer => {
  const head = Buffer.alloc(8);
  head.write(id, 'latin1');
  head.writeUInt32LE(size >>> 0, 4);
  return Buffer.concat([head, body]);
};

const oddSize = (random: Random, usual: number): number =>
  random.chance(0.8)
    ? usual
    : random.pick([0, 1, 0xffffffff, 0x7fffffff, 0x80000000, usual + 1, usual - 1, random.int(1000)]);

const waveOf = (random: Random): Buffer => {
  const fmt = Buffer.alloc(random.pick([16, 16, 18, 40, 14, 0]));
  const field = (at: number, bytes: 2 | 4, values: readonly number[]): void => {
    if (at + bytes <= fmt.length)
      fmt.writeUIntLE(random.chance(0.95) ? random.pick(values) : random.int(2 ** 16), at, bytes);
  };
  field(0, 2, [1, 1, 3, 6, 7, 2, 17, 0x31, 0x55, 0xfffe, 0]);
  field(2, 2, [1, 2, 3, 0, 8, 65_535]);
  field(4, 4, [16_000, 8000, 44_100, 1, 0, 192_000, 0xffffffff]);
  field(8, 4, [32_000, 0, 0xffffffff]);
  field(12, 2, [2, 4, 1, 0, 65_535]);
  field(14, 2, [16, 8, 24, 32, 64, 0, 4, 65_535]);
  field(24, 2, [1, 3, 6]);
  const data = Buffer.from(random.list(400, () => random.int(256)));
  const chunks = [chunk('fmt ', fmt, oddSize(random, fmt.length)), chunk('data', data, oddSize(random, data.length))];
  if (random.chance(0.3))
    chunks.splice(
      random.int(3),
      0,
      chunk(random.pick(['LIST', 'ds64', 'fact', 'data', 'fmt ', 'JUNK']), data.subarray(0, 28), oddSize(random, 28)),
    );
  const body = Buffer.concat([Buffer.from('WAVE'), ...chunks]);
  const whole = chunk(
    random.pick(['RIFF', 'RIFF', 'RIFF', 'RF64', 'RIFX', 'FORM', '.snd']),
    body,
    oddSize(random, body.length),
  );
  return random.chance(0.2) ? random.mutate(whole) : whole;
};

export const waves: Target = { name: 'wav', weight: 1, open: () => openRecordings(waveOf) };

export const containers: Target = {
  name: 'container',
  weight: 0.05,
  open: () => {
    const samples = readdirSync(AUDIO).map((name) => readFileSync(join(AUDIO, name)).subarray(0, MAX_SAMPLE_BYTES));
    return openRecordings((random) => {
      const sample = random.pick(samples);
      // What stands at the beginning decides most.
      if (random.chance(0.5)) return Buffer.concat([random.mutate(sample.subarray(0, 512)), sample.subarray(512)]);
      return random.mutate(sample);
    });
  },
};
