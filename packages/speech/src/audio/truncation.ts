/** Whether a file breaks off in the middle of one of its frames or pages: formats that do not say their length. */
import { type Format, mpegFrameBytes } from './sniff.ts';
import type { ByteSource } from './source.ts';

/** Enough for a few frames of MPEG audio and for the longest Ogg page (RFC 3533 §6: 65307 bytes). */
const TAIL_BYTES = 66_000;
/** Frames in a row that make a chain out of what might be chance. */
const CHAIN = 3;

/** Follows frames from `at`; says how many there are and whether the last one reaches past the end. */
const follow = (tail: Uint8Array, at: number): { frames: number; cut: boolean } => {
  let place = at;
  for (let frames = 0; ; frames++) {
    if (place + 4 > tail.length) return { frames, cut: false };
    const size = mpegFrameBytes(tail, place);
    if (size === 0) return { frames, cut: false };
    if (place + size > tail.length) return { frames, cut: true };
    place += size;
  }
};

const mpegEndsEarly = (tail: Uint8Array): boolean => {
  for (let at = 0; at + 4 <= tail.length; at++) {
    if (tail[at] !== 0xff) continue;
    const { frames, cut } = follow(tail, at);
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

/** True when the file ends in the middle of a frame or page. */
export const endsEarly = async (source: ByteSource, format: Format): Promise<boolean> => {
  if (!['mp3', 'ogg', 'opus'].includes(format)) return false;
  const from = Math.max(0, source.sizeBytes - TAIL_BYTES);
  const tail = await source.read(from, source.sizeBytes - from);
  return format === 'mp3' ? mpegEndsEarly(tail) : oggEndsEarly(tail);
};
