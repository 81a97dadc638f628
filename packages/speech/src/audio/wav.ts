/**
 * WAVE files, read in pieces: RIFF, RIFX, RF64 and BW64; PCM of 8 to 32 bits, floats, G.711; headers that lie about
 * their length. Sun/NeXT .au files have the same samples behind another header and are read here too.
 */
import { problem } from '../core/codes.ts';
import { decodeAlaw, decodeUlaw } from './pcm.ts';
import type { ByteSource } from './source.ts';

/** Planar samples of one piece. */
export type Block = { readonly channels: readonly Float32Array[]; readonly rate: number };

type Coding = 'int' | 'float' | 'alaw' | 'ulaw';

export type WavLayout = {
  readonly coding: Coding;
  readonly bits: number;
  readonly channels: number;
  readonly rate: number;
  readonly littleEndian: boolean;
  readonly dataAt: number;
  readonly dataBytes: number;
  /** True when the header promises more samples than the file has. */
  readonly truncated: boolean;
};

const MAX_CHANNELS = 64;
const MIN_RATE = 1_000;
const MAX_RATE = 768_000;
/** Chunks looked at before the samples; real files have a handful. */
const MAX_CHUNKS = 1_000;
/** Declared lengths from here on are a streaming writer's "not known yet". */
const UNKNOWN_LENGTH = 0x7fff_0000;
const BLOCK_BYTES = 128 * 1024;

const CODING_OF_TAG: Readonly<Record<number, Coding>> = { 1: 'int', 3: 'float', 6: 'alaw', 7: 'ulaw' };
const EXTENSIBLE = 0xfffe;
const BITS_OF: Readonly<Record<Coding, readonly number[]>> = {
  int: [8, 16, 24, 32],
  float: [32, 64],
  alaw: [8],
  ulaw: [8],
};

const textOf = (view: DataView, at: number): string =>
  String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const invalid = (message: string) => problem('invalid_audio', message, { param: 'file' });

/** Refuses rates and channel counts nobody records with; a header must not make us allocate for them. */
export const checkShape = (rate: number, channels: number): void => {
  if (!Number.isFinite(rate) || rate < MIN_RATE || rate > MAX_RATE)
    throw invalid(`The audio says its sample rate is ${rate} Hz; ${MIN_RATE} to ${MAX_RATE} are read.`);
  if (channels < 1 || channels > MAX_CHANNELS)
    throw invalid(`The audio says it has ${channels} channels; 1 to ${MAX_CHANNELS} are read.`);
};

/** Microsoft's and IMA's ADPCM. */
export const ADPCM_TAGS: readonly number[] = [2, 17];
/** The shortest head of a block, bytes a channel: Microsoft's is 7 bytes, IMA's 4 and at least one word of samples. */
const MIN_BLOCK_BYTES = 7;

/** The decoder walks from block to block: one that holds no samples would keep it at the same place for ever. */
const checkAdpcm = (blockBytes: number, channels: number): void => {
  if (blockBytes <= MIN_BLOCK_BYTES * channels)
    throw invalid(`The wav file says its blocks have ${blockBytes} bytes, which hold no samples.`);
};

type Fmt = Pick<WavLayout, 'coding' | 'bits' | 'channels' | 'rate'>;

/** Samples in a coding this file does not read: the format tag, and where they lie. */
export type OtherCoding = { readonly tag: number; readonly dataAt: number };

const readFmt = async (source: ByteSource, at: number, size: number, little: boolean): Promise<Fmt | number> => {
  const view = viewOf(await source.read(at, Math.min(size, 40)));
  if (view.byteLength < 16) throw invalid('The format chunk of the wav file is too short.');
  const tag = view.getUint16(0, little);
  const real = tag === EXTENSIBLE && view.byteLength >= 26 ? view.getUint16(24, little) : tag;
  const channels = view.getUint16(2, little);
  const rate = view.getUint32(4, little);
  checkShape(rate, channels);
  const coding = CODING_OF_TAG[real];
  if (coding === undefined) {
    if (ADPCM_TAGS.includes(real)) checkAdpcm(view.getUint16(12, little), channels);
    return real;
  }
  // 12 or 20 significant bits lie in the next whole number of bytes.
  const bits = Math.ceil(view.getUint16(14, little) / 8) * 8;
  if (!BITS_OF[coding].includes(bits)) throw invalid(`Wav samples of ${bits} bits are not read.`);
  return { coding, bits, channels, rate };
};

/** True when a chunk could start there: a printable name and a length that fits, or the end of the file. */
const chunkFollows = async (source: ByteSource, at: number, little: boolean): Promise<boolean> => {
  if (at + 8 > source.sizeBytes) return true;
  const view = viewOf(await source.read(at, 8));
  return /^[A-Za-z0-9_ ]{4}$/.test(textOf(view, 0)) && at + 8 + view.getUint32(4, little) <= source.sizeBytes + 1;
};

/** The samples' true extent: what is there, where the header lies in either direction. */
const dataExtent = async (source: ByteSource, at: number, declared: number, little: boolean) => {
  const rest = source.sizeBytes - at;
  if (declared > rest) return { dataBytes: rest, truncated: declared < UNKNOWN_LENGTH };
  if (declared === rest) return { dataBytes: rest, truncated: false };
  const honest = await chunkFollows(source, at + declared + (declared & 1), little);
  return { dataBytes: honest ? declared : rest, truncated: false };
};

type Chunk = { readonly name: string; readonly size: number; readonly at: number };

/** The chunks behind the RIFF header; `at` is where a chunk's body lies. */
async function* chunksOf(source: ByteSource, little: boolean): AsyncGenerator<Chunk> {
  for (let at = 12, count = 0; count < MAX_CHUNKS && at + 8 <= source.sizeBytes; count++) {
    const view = viewOf(await source.read(at, 8));
    const size = view.getUint32(4, little);
    yield { name: textOf(view, 0), size, at: at + 8 };
    at += 8 + size + (size & 1);
  }
}

/** The length of the samples in an RF64 file (EBU Tech 3306). */
const readLongData = async (source: ByteSource, at: number, little: boolean): Promise<number | undefined> => {
  const sizes = viewOf(await source.read(at, 16));
  return sizes.byteLength === 16 ? Number(sizes.getBigUint64(8, little)) : undefined;
};

/** Finds the samples of a WAVE file, also those in a coding for others to read. Problems: invalid_audio. */
export const readWavLayout = async (source: ByteSource): Promise<WavLayout | OtherCoding> => {
  const little = (await source.read(0, 4))[3] !== 'X'.charCodeAt(0);
  let fmt: Fmt | number | undefined;
  let longData: number | undefined;
  for await (const { name, size, at } of chunksOf(source, little)) {
    if (name === 'ds64') longData = await readLongData(source, at, little);
    if (name === 'fmt ') fmt = await readFmt(source, at, size, little);
    if (name !== 'data') continue;
    if (fmt === undefined) throw invalid('The wav file has no format chunk before its samples.');
    if (typeof fmt === 'number') return { tag: fmt, dataAt: at };
    const declared = size === 0xffff_ffff ? (longData ?? size) : size;
    return { ...fmt, littleEndian: little, dataAt: at, ...(await dataExtent(source, at, declared, little)) };
  }
  throw invalid('The wav file has no samples.');
};

const AU_CODINGS: Readonly<Record<number, readonly [Coding, number]>> = {
  1: ['ulaw', 8],
  2: ['int', 8],
  3: ['int', 16],
  4: ['int', 24],
  5: ['int', 32],
  6: ['float', 32],
  7: ['float', 64],
  27: ['alaw', 8],
};

/** Finds the samples of a Sun/NeXT .au file (six big-endian words). Problems: invalid_audio. */
export const readAuLayout = async (source: ByteSource): Promise<WavLayout | undefined> => {
  const header = await source.read(0, 24);
  if (header.length < 24) throw invalid('The .au header is too short.');
  const view = viewOf(header);
  const coding = AU_CODINGS[view.getUint32(12)];
  if (coding === undefined) return undefined;
  const [dataAt, declared, rate, channels] = [
    view.getUint32(4),
    view.getUint32(8),
    view.getUint32(16),
    view.getUint32(20),
  ];
  checkShape(rate, channels);
  const rest = Math.max(0, source.sizeBytes - dataAt);
  const truncated = declared > rest && declared < UNKNOWN_LENGTH;
  const dataBytes = Math.min(rest, declared);
  return { coding: coding[0], bits: coding[1], channels, rate, littleEndian: false, dataAt, dataBytes, truncated };
};

type Reader = (view: DataView, at: number) => number;

/** WAVE keeps 8-bit samples unsigned, .au (big-endian) signed. */
const readerOf = ({ coding, bits, littleEndian: little }: WavLayout): Reader => {
  if (coding === 'float')
    return bits === 32 ? (view, at) => view.getFloat32(at, little) : (view, at) => view.getFloat64(at, little);
  if (bits === 8) return little ? (view, at) => view.getUint8(at) / 128 - 1 : (view, at) => view.getInt8(at) / 128;
  if (bits === 16) return (view, at) => view.getInt16(at, little) / 32768;
  if (bits === 32) return (view, at) => view.getInt32(at, little) / 2147483648;
  return little
    ? (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 65536) / 8388608
    : (view, at) => (view.getInt8(at) * 65536 + view.getUint16(at + 1)) / 8388608;
};

const planar = (bytes: Uint8Array, layout: WavLayout): Float32Array[] => {
  const step = layout.bits / 8;
  const frames = Math.floor(bytes.length / (step * layout.channels));
  const channels = Array.from({ length: layout.channels }, () => new Float32Array(frames));
  const companded =
    layout.coding === 'alaw' ? decodeAlaw(bytes) : layout.coding === 'ulaw' ? decodeUlaw(bytes) : undefined;
  const view = viewOf(bytes);
  const read: Reader = companded === undefined ? readerOf(layout) : (_, at) => companded[at]! / 32768;
  for (let channel = 0; channel < layout.channels; channel++) {
    const samples = channels[channel]!;
    for (let i = 0, at = channel * step; i < frames; i++, at += step * layout.channels) samples[i] = read(view, at);
  }
  return channels;
};

/** The samples of a file whose layout is known, in pieces of about 128 KiB. */
export async function* readSamples(source: ByteSource, layout: WavLayout): AsyncGenerator<Block> {
  const frameBytes = (layout.bits / 8) * layout.channels;
  const blockBytes = Math.max(1, Math.floor(BLOCK_BYTES / frameBytes)) * frameBytes;
  const end = layout.dataAt + layout.dataBytes;
  for (let at = layout.dataAt; at < end; at += blockBytes) {
    const bytes = await source.read(at, Math.min(blockBytes, end - at));
    if (bytes.length < frameBytes) return;
    yield { channels: planar(bytes, layout), rate: layout.rate };
  }
}
