/** Recordings of any length: the speech of testdata, joined or repeated. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { repeatMp4 } from './mp4.ts';
import { repeatOpus } from './ogg.ts';

export const RATE = 16_000;
export const FORMATS = ['mp3', 'm4a', 'flac', 'opus'] as const;
export type CodedFormat = (typeof FORMATS)[number];

const TESTDATA = new URL('../../../testdata/', import.meta.url);
const SPEECH = [
  'transfer-digits',
  'hello-operator',
  'account-balance',
  'cancel-payment',
  'close-menu',
  'transfer-sales-wait',
];
/** Pauses between sentences, s, in turn. */
const PAUSES = [0.2, 0.4, 0.2, 0.45, 0.2, 0.9, 0.35];
/** What is softer is silence around a sentence. */
const SOFT = 100;
const WAV_HEAD_BYTES = 44;
const INT16_BYTES = 2;

export type Recording = { readonly path: string; readonly seconds: number };

const readTestdata = (path: string): Promise<Buffer> => readFile(fileURLToPath(new URL(path, TESTDATA)));

type Sentence = { readonly at: number; readonly samples: Int16Array };

const readSentence = async (name: string): Promise<Int16Array> => {
  const bytes = new Uint8Array((await readTestdata(`speech/${name}.wav`)).subarray(WAV_HEAD_BYTES));
  const all = new Int16Array(bytes.buffer, 0, bytes.length >> 1);
  const isLoud = (sample: number): boolean => Math.abs(sample) > SOFT;
  return all.subarray(all.findIndex(isLoud), all.findLastIndex(isLoud));
};

/** Sentences one after the other that begin within so many seconds. */
const speak = async (seconds: number, first: number): Promise<Sentence[]> => {
  const sentences = await Promise.all(SPEECH.map(readSentence));
  const said: Sentence[] = [];
  for (let at = 0, turn = first; at < seconds * RATE; turn += 1) {
    const samples = sentences[turn % sentences.length]!;
    said.push({ at, samples });
    at += samples.length + Math.round(PAUSES[turn % PAUSES.length]! * RATE);
  }
  return said;
};

/** Sentence after sentence with pauses as between phrases, 16 kHz mono; `first` is the sentence that begins. */
export const speakFor = async (seconds: number, first = 0): Promise<Int16Array> => {
  const samples = new Int16Array(Math.round(seconds * RATE));
  for (const sentence of await speak(seconds, first))
    samples.set(sentence.samples.subarray(0, samples.length - sentence.at), sentence.at);
  return samples;
};

/** A WAVE file of 16-bit mono samples. */
export const toWav = (samples: Int16Array): Buffer => {
  const head = Buffer.alloc(WAV_HEAD_BYTES);
  const dataBytes = samples.length * INT16_BYTES;
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(WAV_HEAD_BYTES - 8 + dataBytes, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  for (const [at, value] of [16, 0x1_0001, RATE, RATE * INT16_BYTES, 0x10_0002].entries())
    head.writeUInt32LE(value, 16 + 4 * at);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(dataBytes, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer, samples.byteOffset, dataBytes)]);
};

/** Writes a WAVE file of so many seconds into the folder. */
export const writeWav = async (folder: string, seconds: number, first = 0): Promise<Recording> => {
  const path = join(folder, `speech-${seconds}-${first}.wav`);
  await writeFile(path, toWav(await speakFor(seconds, first)));
  return { path, seconds };
};

/** Bytes of FLAC's marker and metadata; the frames follow (RFC 9639 §8). */
const flacHeadBytes = (file: Buffer): number => {
  let at = 4;
  for (let isLast = false; !isLast; ) {
    isLast = (file[at]! & 0x80) !== 0;
    at += 4 + file.readUIntBE(at + 1, 3);
  }
  return at;
};

/** Frames again as they are: their numbers repeat, which only matters to whoever seeks. */
const repeatFlac = (file: Buffer, times: number): Buffer => {
  const headBytes = flacHeadBytes(file);
  const head = Buffer.from(file.subarray(0, headBytes));
  const samples = (head[21]! & 15) * 2 ** 32 + head.readUInt32BE(22);
  head[21] = (head[21]! & 0xf0) | Math.floor((samples * times) / 2 ** 32);
  head.writeUInt32BE((samples * times) >>> 0, 22);
  // Of a checksum that is all zero nobody expects anything.
  head.fill(0, 26, 42);
  return Buffer.concat([head, ...Array<Buffer>(times).fill(file.subarray(headBytes))]);
};

const REPEAT: Readonly<Record<CodedFormat, (file: Buffer, times: number) => Buffer>> = {
  mp3: (file, times) => Buffer.concat(Array<Buffer>(times).fill(file)),
  m4a: repeatMp4,
  flac: repeatFlac,
  opus: repeatOpus,
};
/** Length of the recordings in testdata/bench, s. */
const CODED_SEC = 7.89;

/** Writes about so many seconds of speech in a format: 44.1 kHz stereo at 128 kbit/s, Opus 48 kHz mono at 32. */
export const writeCoded = async (folder: string, format: CodedFormat, seconds: number): Promise<Recording> => {
  const times = Math.max(1, Math.round(seconds / CODED_SEC));
  const path = join(folder, `speech-${seconds}.${format}`);
  await writeFile(path, REPEAT[format](await readTestdata(`bench/speech.${format}`), times));
  return { path, seconds: times * CODED_SEC };
};
