/**
 * The WebAssembly decoders by sniffed format. Each is loaded when first needed; those under a copyleft licence, and the
 * containers that pull them in, are optional packages: without them their formats are left to ffmpeg.
 */
import type { Codec } from './codec.ts';
import { inWholeFrames } from './flac.ts';
import type { Format } from './sniff.ts';

type CodecPackage = { readonly decoder: () => Codec | Promise<Codec> };

const LOADERS: Readonly<Partial<Record<Format, () => Promise<CodecPackage>>>> = {
  mp3: () => import('@audio/decode-mp3'),
  flac: () => import('@audio/decode-flac'),
  ogg: () => import('@audio/decode-vorbis'),
  opus: () => import('@audio/decode-opus'),
  amr: () => import('@audio/decode-amr'),
  aiff: () => import('@audio/decode-aiff'),
  caf: () => import('@audio/decode-caf'),
  qoa: () => import('@audio/decode-qoa'),
  tta: () => import('@audio/decode-tta'),
  wavpack: () => import('@audio/decode-wavpack'),
  musepack: () => import('@audio/decode-mpc'),
  dsd: () => import('@audio/decode-dsd'),
  wav: () => import('@audio/decode-wav'),
  aac: () => import('@audio/decode-aac'),
  mp4: () => import('@audio/decode-mp4'),
  webm: () => import('@audio/decode-webm'),
  wma: () => import('@audio/decode-wma'),
  avi: () => import('@audio/decode-avi'),
  ac3: () => import('@audio/decode-ac3'),
  dts: () => import('@audio/decode-dts'),
};

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

/** A decoder for the format; `undefined` when there is none here. */
export const openCodec = async (format: Format): Promise<Codec | undefined> => {
  const load = LOADERS[format];
  if (load === undefined) return undefined;
  try {
    const codec = await (await load()).decoder();
    return format === 'flac' ? inWholeFrames(codec) : codec;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};
