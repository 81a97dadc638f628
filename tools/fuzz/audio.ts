/** Recordings: WAVE heads made of odd numbers, and files of every format with bytes changed. And archives of models. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { MediaOptions } from '@parley/speech/audio/audio.ts';
import { readRecording } from '@parley/speech/audio/recording.ts';
import { DownloadFault } from '@parley/speech/models/fault.ts';
import { unpackArchive } from '@parley/speech/models/unpack.ts';
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

const TAR_BLOCK = 512;
const NAMES = ['a', 'b/c', '../x', '/x', './a', 'a/../../b'];
/** File, folder, hard link, symbolic link, pipe, device, long name of GNU, extended header. */
const TAR_TYPES = ['0', '0', '0', '5', '1', '2', '6', '3', 'L', 'x'];

/** A member of a ustar archive (POSIX.1-1988): a head with its sum, and the content in whole blocks. */
const memberOf = (name: string, type: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(TAR_BLOCK);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;
  head.write(name, 0, 100);
  head.write(octal(0o644, 8) + octal(0, 8) + octal(0, 8) + octal(content.length, 12) + octal(0, 12), 100);
  head.write(`        ${type}/etc/passwd`, 148);
  head.write('ustar\0' + '00', 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${octal(sum, 7)} `, 148);
  return Buffer.concat([head, content, Buffer.alloc((TAR_BLOCK - (content.length % TAR_BLOCK)) % TAR_BLOCK)]);
};

const tarOf = (random: Random): Buffer => {
  const members = random.list(5, () => {
    const name = random.chance(0.7) ? random.pick(NAMES) : random.text();
    return memberOf(name, random.pick(TAR_TYPES), Buffer.from(random.text()));
  });
  return Buffer.concat([...members, Buffer.alloc(random.chance(0.9) ? 2 * TAR_BLOCK : 0)]);
};

export const archives: Target = {
  name: 'archive',
  weight: 0.01,
  open: () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
    const archive = join(folder, 'archive');
    const into = join(folder, 'into');
    return {
      run: async (random) => {
        const tar = tarOf(random);
        const [kind, whole] = random.chance(0.5) ? (['tar', tar] as const) : (['tar.gz', gzipSync(tar)] as const);
        writeFileSync(archive, random.chance(0.5) ? whole : random.mutate(whole));
        mkdirSync(into);
        try {
          await unpackArchive(archive, into, random.chance(0.9) ? kind : random.pick(['zip', 'tar.bz2']), {
            signal: new AbortController().signal,
          });
        } finally {
          rmSync(into, { recursive: true });
          const left = readdirSync(folder).filter((name) => name !== 'archive');
          // biome-ignore lint/correctness/noUnsafeFinally: what is left outside is worse than a refusal
          if (left.length > 0) throw new Error(`written outside: ${left.join()}`);
        }
      },
      isRefusal: (thrown) => thrown instanceof DownloadFault,
      [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }),
    };
  },
};
