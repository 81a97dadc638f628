/**
 * What a file is, by its first bytes; never by its name. Formats without a magic number (MPEG audio, ADTS, AC-3, DTS)
 * count only when a second frame follows where the first says it ends.
 */

/** How the decoders are called; `undefined` when nothing known matches. */
export type Format =
  | 'wav'
  | 'mp3'
  | 'aac'
  | 'flac'
  | 'ogg'
  | 'opus'
  | 'mp4'
  | 'webm'
  | 'amr'
  | 'wma'
  | 'aiff'
  | 'caf'
  | 'au'
  | 'avi'
  | 'ac3'
  | 'dts'
  | 'qoa'
  | 'tta'
  | 'wavpack'
  | 'musepack'
  | 'dsd'
  | 'pcm';

/** Bytes to give to `sniff`; enough for two frames of any frame format behind a short lead-in. */
export const SNIFF_BYTES = 16 * 1024;
/** Frames looked for in a row before bytes without a magic number count as that format. */
const FRAMES_IN_A_ROW = 2;
/** Bytes of junk allowed before the first frame of MPEG audio. */
const MAX_LEAD_IN = 4096;

const ascii = (bytes: Uint8Array, at: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(at, at + length));

/** [offset, text, format]; the first match stands. */
const MAGIC: readonly (readonly [number, string, Format])[] = [
  [0, 'fLaC', 'flac'],
  [4, 'ftyp', 'mp4'],
  [4, 'moov', 'mp4'],
  [4, 'mdat', 'mp4'],
  [4, 'wide', 'mp4'],
  [0, '\x1aE\xdf\xa3', 'webm'],
  [0, '#!AMR', 'amr'],
  [0, '\x30\x26\xb2\x75\x8e\x66\xcf\x11', 'wma'],
  [0, 'caff', 'caf'],
  [0, '.snd', 'au'],
  [0, 'qoaf', 'qoa'],
  [0, 'TTA1', 'tta'],
  [0, 'TTA2', 'tta'],
  [0, 'wvpk', 'wavpack'],
  [0, 'MPCK', 'musepack'],
  [0, 'MP+', 'musepack'],
  [0, 'DSD ', 'dsd'],
  [0, 'FRM8', 'dsd'],
];

const RIFF = ['RIFF', 'RIFX', 'RF64', 'BW64'];

const riffFormat = (bytes: Uint8Array): Format | undefined => {
  const form = ascii(bytes, 8, 4);
  if (RIFF.includes(ascii(bytes, 0, 4)) && form === 'WAVE') return 'wav';
  if (ascii(bytes, 0, 4) === 'RIFF' && form === 'AVI ') return 'avi';
  if (ascii(bytes, 0, 4) === 'FORM' && (form === 'AIFF' || form === 'AIFC')) return 'aiff';
  return undefined;
};

/** The codec of an Ogg stream is named by its first packet (RFC 3533; RFC 7845, Vorbis I, Ogg FLAC mappings). */
const oggFormat = (bytes: Uint8Array): Format | undefined => {
  if (ascii(bytes, 0, 4) !== 'OggS') return undefined;
  const body = 27 + (bytes[26] ?? 0);
  if (ascii(bytes, body, 8) === 'OpusHead') return 'opus';
  if (ascii(bytes, body, 5) === '\x7fFLAC') return 'flac';
  return ascii(bytes, body, 7) === '\x01vorbis' ? 'ogg' : undefined;
};

const BITRATES_V1 = [
  [],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
];
const BITRATES_V2 = [
  [],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
];
const RATES_V1 = [44100, 48000, 32000];

/** Bytes of the MPEG audio frame at `at`, 0 when there is none (ISO/IEC 11172-3 §2.4.1.3, 13818-3). */
export const mpegFrameBytes = (bytes: Uint8Array, at: number): number => {
  if (bytes[at] !== 0xff || (bytes[at + 1]! & 0xe0) !== 0xe0) return 0;
  const version = (bytes[at + 1]! >> 3) & 3;
  const layer = (bytes[at + 1]! >> 1) & 3;
  const rate = RATES_V1[(bytes[at + 2]! >> 2) & 3];
  const kbps = (version === 3 ? BITRATES_V1 : BITRATES_V2)[layer]?.[bytes[at + 2]! >> 4];
  if (version === 1 || layer === 0 || rate === undefined || !kbps) return 0;
  const hz = version === 3 ? rate : version === 2 ? rate / 2 : rate / 4;
  const padding = (bytes[at + 2]! >> 1) & 1;
  if (layer === 3) return (Math.floor((12 * kbps * 1000) / hz) + padding) * 4;
  return Math.floor(((layer === 1 && version !== 3 ? 72 : 144) * kbps * 1000) / hz) + padding;
};

/** Bytes of the ADTS frame at `at`, 0 when there is none (ISO/IEC 13818-7 §6.2). */
export const adtsFrameBytes = (bytes: Uint8Array, at: number): number => {
  if (bytes[at] !== 0xff || (bytes[at + 1]! & 0xf6) !== 0xf0 || ((bytes[at + 2]! >> 2) & 15) > 12) return 0;
  const length = ((bytes[at + 3]! & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5);
  return length > 7 ? length : 0;
};

/** True when frames follow one another from `at` on, or one frame reaches past the end of what was read. */
const framesFollow = (bytes: Uint8Array, at: number, sizeAt: typeof mpegFrameBytes): boolean => {
  let place = at;
  for (let frame = 0; frame <= FRAMES_IN_A_ROW; frame++) {
    if (frame > 0 && place + 6 > bytes.length) return true;
    const size = sizeAt(bytes, place);
    if (size === 0) return false;
    place += size;
  }
  return true;
};

/** Where the ID3v2 tag at the start ends; 0 without one (id3.org, ID3v2.4 §3.1). */
export const id3End = (bytes: Uint8Array): number => {
  if (ascii(bytes, 0, 3) !== 'ID3' || bytes.length < 10) return 0;
  const size = bytes.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 127), 0);
  return 10 + size + (bytes[5]! & 0x10 ? 10 : 0);
};

const frameFormat = (bytes: Uint8Array): Format | undefined => {
  if (framesFollow(bytes, 0, adtsFrameBytes)) return 'aac';
  for (let at = 0; at < Math.min(MAX_LEAD_IN, bytes.length - 4); at++)
    if (bytes[at] === 0xff && framesFollow(bytes, at, mpegFrameBytes)) return 'mp3';
  if (bytes[0] === 0x0b && bytes[1] === 0x77) return 'ac3';
  return ascii(bytes, 0, 4) === '\x7f\xfe\x80\x01' ? 'dts' : undefined;
};

/** A format with a magic number; safe to ask of bytes that may as well be headerless samples. */
export const sniffMagic = (bytes: Uint8Array): Format | undefined =>
  riffFormat(bytes) ??
  oggFormat(bytes) ??
  MAGIC.find(([at, text]) => ascii(bytes, at, text.length) === text)?.[2] ??
  (id3End(bytes) > 0 ? 'mp3' : undefined);

/** The format of a file that starts with these bytes (give `SNIFF_BYTES` of them, behind any ID3v2 tag). */
export const sniff = (bytes: Uint8Array): Format | undefined => sniffMagic(bytes) ?? frameFormat(bytes);

/** Channels that the first MPEG audio frame codes; its decoder always gives two (ISO/IEC 11172-3 §2.4.2.3). */
export const mpegChannels = (bytes: Uint8Array): 1 | 2 => {
  for (let at = 0; at < bytes.length - 4; at++)
    if (bytes[at] === 0xff && framesFollow(bytes, at, mpegFrameBytes)) return bytes[at + 3]! >> 6 === 3 ? 1 : 2;
  return 2;
};
