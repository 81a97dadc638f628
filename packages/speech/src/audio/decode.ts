/**
 * A recording as planar float samples in pieces of a few seconds, whatever its format. Decoders are fed so little at a
 * time that no piece grows large, whatever the format packs into it.
 */
import { problem } from '../core/codes.ts';
import type { Codec, Decoded } from './codec.ts';
import { openCodec } from './codecs.ts';
import { decodeWithFfmpeg } from './ffmpeg.ts';
import { streamableMp4 } from './mp4.ts';
import { type Format, id3End, mpegChannels, SNIFF_BYTES, sniff, sniffMagic } from './sniff.ts';
import type { ByteSource } from './source.ts';
import { endsEarly } from './truncation.ts';
import { ADPCM_TAGS, type Block, checkShape, readAuLayout, readSamples, readWavLayout, type WavLayout } from './wav.ts';

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
/** Frames a decoder may hold back at the end; FLAC in small pieces holds one for each 300. */
const MAX_HELD = 20_000;
/** Decoders that keep all they were fed take files up to this size (bytes); longer ones are left to ffmpeg. */
const MAX_KEPT_BYTES: Readonly<Partial<Record<Format, number>>> = {
  wavpack: 32 * 1024 * 1024,
  musepack: 8 * 1024 * 1024,
};

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

type Feeding = {
  readonly source: ByteSource;
  readonly from: number;
  readonly firstBytes: number;
  readonly what: string;
  /** Samples the header promises; undefined when it says nothing. */
  readonly promised?: number | undefined;
  /** Told when the file broke off before its end. */
  broken(): void;
};

/** The pieces of the file, each as long as what came out of the last one suggests. */
async function* pieces(
  { source, from, firstBytes }: Feeding,
  last: () => Block | undefined,
): AsyncGenerator<Uint8Array> {
  let bytes = firstBytes;
  for (let at = from; at < source.sizeBytes; ) {
    const piece = await source.read(at, bytes);
    if (piece.length === 0) return;
    at += piece.length;
    yield piece;
    bytes = nextFeed(Math.min(bytes, FEED_MAX_BYTES), last());
  }
}

/** Feeds a decoder from front to back. A fault after the first samples ends the recording there. */
async function* feed(codec: Codec, feeding: Feeding): AsyncGenerator<Block> {
  const { what, promised } = feeding;
  let given = 0;
  let last: Block | undefined;
  const step = async (decode: () => Decoded | Promise<Decoded>): Promise<Block[]> => {
    try {
      last = toBlock(await decode());
      if (last === undefined) return [];
      given += last.channels[0]!.length;
      return [last];
    } catch (error) {
      if (given === 0) throw invalid(`The file looks like ${what}, but it cannot be decoded.`, error);
      feeding.broken();
      last = undefined;
      return [];
    }
  };
  try {
    for await (const piece of pieces(feeding, () => last)) yield* await step(() => codec.decode(piece));
    if (codec.flush !== undefined) yield* await step(() => codec.flush!());
    for (let held = 0; codec.drain !== undefined && held < MAX_HELD && !(given >= (promised ?? Infinity)); held++) {
      yield* await step(() => codec.drain!());
      if (last === undefined) break;
    }
    if (given === 0) throw invalid(`The file looks like ${what}, but there are no samples in it.`);
    if (promised !== undefined && given < promised) feeding.broken();
  } finally {
    codec.free?.();
  }
}

/** Samples that STREAMINFO of a native FLAC file promises; undefined when unknown (RFC 9639 §8.2). */
const flacSamples = (head: Uint8Array): number | undefined => {
  if (head[0] !== 0x66 || head.length < 42) return undefined;
  return (head[21]! & 15) * 2 ** 32 + new DataView(head.buffer).getUint32(22) || undefined;
};

const openCoded = async (
  source: ByteSource,
  format: Format,
  head: Uint8Array,
  from: number,
): Promise<Decoding | undefined> => {
  if (source.sizeBytes > (MAX_KEPT_BYTES[format] ?? Number.POSITIVE_INFINITY)) return undefined;
  const codec = await openCodec(format);
  if (codec === undefined) return undefined;
  let truncated = await endsEarly(source, format, head);
  const blocks = feed(codec, {
    source,
    from,
    firstBytes: FEED_FIRST_BYTES,
    what: format,
    promised: format === 'flac' ? flacSamples(head) : undefined,
    broken() {
      truncated = true;
    },
  });
  const channels = format === 'mp3' ? mpegChannels(head) : undefined;
  return { format, channels, blocks, truncated: () => truncated };
};

const openMp4 = async (source: ByteSource): Promise<Decoding | undefined> => {
  const codec = await openCodec('mp4');
  if (codec === undefined) return undefined;
  const view = await streamableMp4(source);
  let truncated = view.truncated;
  const blocks = feed(codec, {
    source: view.source,
    from: 0,
    firstBytes: view.headBytes,
    what: 'm4a',
    broken() {
      truncated = true;
    },
  });
  return { format: 'm4a', channels: undefined, blocks, truncated: () => truncated };
};

const openSamples = (source: ByteSource, layout: WavLayout, format: 'wav' | 'au'): Decoding => {
  if (layout.dataBytes < (layout.bits / 8) * layout.channels) throw invalid(`The ${format} file has no samples.`);
  const { channels, truncated } = layout;
  return { format, channels, blocks: readSamples(source, layout), truncated: () => truncated };
};

const MPEG_TAGS = [0x50, 0x55];

const openWav = async (source: ByteSource, head: Uint8Array): Promise<Decoding | undefined> => {
  const found = await readWavLayout(source);
  if ('coding' in found) return openSamples(source, found, 'wav');
  if (ADPCM_TAGS.includes(found.tag)) return openCoded(source, 'wav', head, 0);
  if (!MPEG_TAGS.includes(found.tag)) return undefined;
  return openCoded(source, 'mp3', await source.read(found.dataAt, SNIFF_BYTES), found.dataAt);
};

const openAu = async (source: ByteSource): Promise<Decoding | undefined> => {
  const layout = await readAuLayout(source);
  return layout === undefined ? undefined : openSamples(source, layout, 'au');
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
  if (format === 'wav') return openWav(source, head);
  if (format === 'au') return openAu(source);
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
  // Raw samples were promised: a header that nothing here knows is not given to a program that may guess.
  const other = options.rawPcmRate === undefined ? await decodeWithFfmpeg(source, options, signal) : undefined;
  if (other !== undefined) return { format: format ?? 'other', channels: undefined, ...other };
  throw problem('unsupported_media_type', 'The format of the audio is not known here.', { param: 'file' });
};
