/** Whether a file breaks off before its end: in the middle of a frame or page, or before the length its header gives. */
import { adtsFrameBytes, type Format, mpegFrameBytes } from './sniff.ts';
import type { ByteSource } from './source.ts';

/** Enough for a few frames of MPEG audio and for the longest Ogg page (RFC 3533 §6: 65307 bytes). */
const TAIL_BYTES = 66_000;
/** Frames in a row that make a chain out of what might be chance. */
const CHAIN = 3;

type FrameSize = (bytes: Uint8Array, at: number) => number;

/** Follows frames from `at`; says how many there are and whether the last one reaches past the end. */
const follow = (tail: Uint8Array, at: number, sizeAt: FrameSize): { frames: number; cut: boolean } => {
  let place = at;
  for (let frames = 0; ; frames++) {
    if (place + 6 > tail.length) return { frames, cut: false };
    const size = sizeAt(tail, place);
    if (size === 0) return { frames, cut: false };
    if (place + size > tail.length) return { frames, cut: true };
    place += size;
  }
};

const framesEndEarly = (tail: Uint8Array, sizeAt: FrameSize): boolean => {
  for (let at = 0; at + 4 <= tail.length; at++) {
    if (tail[at] !== 0xff) continue;
    const { frames, cut } = follow(tail, at, sizeAt);
    if (frames >= CHAIN) return cut;
  }
  return false;
};

const oggEndsEarly = (tail: Uint8Array): boolean => {
  const at = Buffer.from(tail.buffer).lastIndexOf('OggS', 'latin1');
  if (at < 0) return true;
  const table = tail.subarray(at + 27, at + 27 + (tail[at + 26] ?? 0));
  return table.reduce((end, length) => end + length, at + 27 + (tail[at + 26] ?? 255)) > tail.length;
};

/** The EBML element that holds a whole Matroska file, and its length when that is known (RFC 8794 §4, RFC 9559). */
const segmentEnd = (head: Uint8Array): number => {
  const at = Buffer.from(head.buffer).indexOf(Buffer.from([0x18, 0x53, 0x80, 0x67]));
  const first = head[at + 4] ?? 0;
  const length = Math.clz32(first) - 23;
  if (at < 0 || first === 0 || at + 4 + length > head.length) return 0;
  const size = head.subarray(at + 5, at + 4 + length).reduce((sum, byte) => sum * 256 + byte, first & (0xff >> length));
  return size >= 2 ** (7 * length) - 1 ? 0 : at + 4 + length + size;
};

/** The end that the file's header promises; 0 when it says nothing. */
const promisedEnd = (head: Uint8Array, format: Format): number => {
  if (format === 'webm') return segmentEnd(head);
  return format === 'aiff' && head.length > 8 ? 8 + new DataView(head.buffer).getUint32(4) : 0;
};

/** True when the file lacks its end. `head` are its first bytes. */
export const endsEarly = async (source: ByteSource, format: Format, head: Uint8Array): Promise<boolean> => {
  if (promisedEnd(head, format) > source.sizeBytes) return true;
  if (!['mp3', 'aac', 'ogg', 'opus'].includes(format)) return false;
  const from = Math.max(0, source.sizeBytes - TAIL_BYTES);
  const tail = await source.read(from, source.sizeBytes - from);
  if (format === 'mp3') return framesEndEarly(tail, mpegFrameBytes);
  return format === 'aac' ? framesEndEarly(tail, adtsFrameBytes) : oggEndsEarly(tail);
};
