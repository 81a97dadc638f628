/**
 * A recording as planar float samples in pieces of a few seconds, whatever its format. Decoders are fed so little at a
 * time that no piece grows large, whatever the format packs into it.
 */
import { problem } from '../core/codes.ts';
import { type Codec, type Decoded, openCodec } from './codecs.ts';
import { decodeWithFfmpeg } from './ffmpeg.ts';
import { streamableMp4 } from './mp4.ts';
import { type Format, id3End, mpegChannels, SNIFF_BYTES, sniff, sniffMagic } from './sniff.ts';
import type { ByteSource } from './source.ts';
import { type Block, checkShape, readAuLayout, readSamples, readWavLayout } from './wav.ts';

export type Decoding = {
  readonly format: string;
  /** Channels of the recording where its header says so better than the decoder's output. */
  readonly channels: number | undefined;
  blocks: AsyncIterable<Block>;
  /** Asked after the last block: whether the file broke off early. */
  truncated(): boolean;
};

export type DecodeOptions = {
  readonly rawPcmRate: number | undefined;
  readonly ffmpegPath: string;
  readonly ffmpegTimeoutMs: number;
};

/** Bytes fed at once: digital silence in FLAC packs minutes into 64 KiB, so it starts small and follows what comes out. */
const FEED_FIRST_BYTES = 4 * 1024;
const FEED_MIN_BYTES = 512;
const FEED_MAX_BYTES = 32 * 1024;
const FEED_AIM_SEC = 1;
/** Formats whose decoder needs the whole file are refused beyond this. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
const WHOLE_FILE_FORMATS: ReadonlySet<Format> = new Set(['musepack']);

const invalid = (message: string, cause?: unknown) => problem('invalid_audio', message, { param: 'file', cause });

const toBlock = (decoded: Decoded): Block | undefined => {
  const first = decoded.channelData[0];
  const length = Math.min(decoded.samplesDecoded ?? Number.POSITIVE_INFINITY, first?.length ?? 0);
  if (first === undefined || length === 0) return undefined;
  checkShape(decoded.sampleRate, decoded.channelData.length);
  const channels = decoded.channelData.map((samples) => samples.subarray(0, length));
  return { channels, rate: decoded.sampleRate };
};

const nextFeed = (bytes: number, block: Block | undefined): number => {
  const seconds = block === undefined ? 0 : block.channels[0]!.length / block.rate;
  if (seconds > 2 * FEED_AIM_SEC) return Math.max(FEED_MIN_BYTES, bytes / 2);
  return seconds < FEED_AIM_SEC ? Math.min(FEED_MAX_BYTES, bytes * 2) : bytes;
};

type Feeding = { readonly source: ByteSource; readonly from: number; readonly firstBytes: number; readonly what: string };

/** Feeds a decoder from front to back. A fault after the first samples ends the recording there. */
async function* feed(codec: Codec, { source, from, firstBytes, what }: Feeding, broken: () => void): AsyncGenerator<Block> {
  let given = 0;
  const attempt = async (step: () => Decoded | Promise<Decoded>): Promise<Block | undefined> => {
    try {
      return toBlock(await step());
    } catch (error) {
      if (given === 0) throw invalid(`The file looks like ${what}, but it cannot be decoded.`, error);
      broken();
      return undefined;
    }
  };
  try {
    let bytes = firstBytes;
    for (let at = from; at < source.sizeBytes; ) {
      const piece = await source.read(at, bytes);
      if (piece.length === 0) break;
      at += piece.length;
      const block = await attempt(() => codec.decode(piece));
      if (block !== undefined) {
        given += block.channels[0]!.length;
        yield block;
      }
      bytes = nextFeed(Math.min(bytes, FEED_MAX_BYTES), block);
    }
    const rest = codec.flush === undefined ? undefined : await attempt(() => codec.flush!());
    if (rest !== undefined) yield rest;
    else if (given === 0) throw invalid(`The file looks like ${what}, but there are no samples in it.`);
  } finally {
    codec.free?.();
  }
}

/** Samples that STREAMINFO of a native FLAC file promises; 0 is unknown (RFC 9639 §8.2). */
const flacSamples = (head: Uint8Array): number =>
  head[0] === 0x66 && head.length > 26 ? (head[21]! & 15) * 2 ** 32 + new DataView(head.buffer).getUint32(22) : 0;

/** Tells whether a count of samples fell short of what the header promised. */
const countShort = async function* (blocks: AsyncIterable<Block>, promised: number, short: () => void) {
  let count = 0;
  for await (const block of blocks) {
    count += block.channels[0]!.length;
    yield block;
  }
  if (count < promised) short();
};

const openCoded = async (source: ByteSource, format: Format, head: Uint8Array, from: number): Promise<Decoding | undefined> => {
  const codec = await openCodec(format);
  if (codec === undefined) return undefined;
  let truncated = false;
  const broken = () => {
    truncated = true;
  };
  const whole = WHOLE_FILE_FORMATS.has(format);
  if (whole && source.sizeBytes > MAX_WHOLE_BYTES) throw invalid(`A ${format} file may have ${MAX_WHOLE_BYTES} bytes.`);
  const feeding = { source, from, firstBytes: whole ? source.sizeBytes : FEED_FIRST_BYTES, what: format };
  const blocks = feed(codec, feeding, broken);
  const promised = format === 'flac' ? flacSamples(head) : 0;
  return {
    format,
    channels: format === 'mp3' ? mpegChannels(head) : undefined,
    blocks: promised > 0 ? countShort(blocks, promised, broken) : blocks,
    truncated: () => truncated,
  };
};

const openMp4 = async (source: ByteSource): Promise<Decoding | undefined> => {
  const codec = await openCodec('mp4');
  if (codec === undefined) return undefined;
  const view = await streamableMp4(source);
  let truncated = view.truncated;
  const feeding = { source: view.source, from: 0, firstBytes: view.headBytes, what: 'm4a' };
  const blocks = feed(codec, feeding, () => {
    truncated = true;
  });
  return { format: 'm4a', channels: undefined, blocks, truncated: () => truncated };
};

const openSamples = async (source: ByteSource, format: 'wav' | 'au'): Promise<Decoding | undefined> => {
  const layout = format === 'wav' ? await readWavLayout(source) : await readAuLayout(source);
  if (layout === undefined) return undefined;
  if (layout.dataBytes < (layout.bits / 8) * layout.channels) throw invalid(`The ${format} file has no samples.`);
  const { channels, truncated } = layout;
  return { format, channels, blocks: readSamples(source, layout), truncated: () => truncated };
};

const openRaw = (source: ByteSource, rate: number): Decoding => {
  checkShape(rate, 1);
  const layout = { coding: 'int', bits: 16, channels: 1, rate, littleEndian: true, truncated: false } as const;
  const blocks = readSamples(source, { ...layout, dataAt: 0, dataBytes: source.sizeBytes });
  return { format: 'pcm', channels: 1, blocks, truncated: () => false };
};

/** By the format's own reader or decoder; `undefined` when nothing here knows it. */
const openKnown = async (source: ByteSource, format: Format, head: Uint8Array, from: number) => {
  if (format === 'mp4') return openMp4(source);
  if (format === 'wav' || format === 'au') {
    const samples = await openSamples(source, format);
    if (samples !== undefined || format === 'au') return samples;
  }
  return openCoded(source, format, head, from);
};

/**
 * Opens a recording by its bytes. Problems: invalid_audio (known but broken), unsupported_media_type (unknown and no
 * ffmpeg). Aborting ends ffmpeg; the decoders stop between two pieces.
 */
export const openRecording = async (
  source: ByteSource,
  options: DecodeOptions,
  signal: AbortSignal,
): Promise<Decoding> => {
  if (source.sizeBytes === 0) throw invalid('The audio is empty.');
  const start = await source.read(0, SNIFF_BYTES);
  const tag = id3End(start);
  const head = tag > 0 && tag < source.sizeBytes ? await source.read(tag, SNIFF_BYTES) : start;
  if (options.rawPcmRate !== undefined && sniffMagic(start) === undefined) return openRaw(source, options.rawPcmRate);
  const format = sniff(head) ?? (tag > 0 ? 'mp3' : undefined);
  const known = format === undefined ? undefined : await openKnown(source, format, head, tag);
  if (known !== undefined) return known;
  const other = await decodeWithFfmpeg(source, options, signal);
  if (other !== undefined) return { format: format ?? 'other', channels: undefined, ...other };
  throw problem('unsupported_media_type', 'The format of the audio is not known here.', { param: 'file' });
};
