/**
 * FLAC in pieces that end where a frame ends, and the frames that the decoder still holds at the end. The parser of
 * @audio/decode-flac 1.3.5 misses a frame whose header a piece cuts in two: it hands over two frames as one, from then on
 * libFLAC holds a frame more, and all it holds is lost at the end (0.7 s of an hour in pieces of 32 KiB).
 */
import type { Codec, Decoded } from './codec.ts';

export type FlacCodec = Codec & { readonly _decoder?: { decodeFrames?(frames: readonly Uint8Array[]): Decoded } };

/** No frame is longer; beyond this a piece is handed over as it is. */
const MAX_WAITING_BYTES = 1024 * 1024;

const NOTHING: Decoded = { channelData: [], sampleRate: 0 };

/** Where the last frame header may start (RFC 9639 §9.1: 14 bits of sync code, a zero, the blocking strategy). */
const lastSync = (bytes: Uint8Array): number => {
  for (let at = bytes.length - 1; at >= 0; at--)
    if (bytes[at] === 0xff && (at + 1 === bytes.length || (bytes[at + 1]! & 0xfe) === 0xf8)) return at;
  return bytes.length;
};

const join = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
};

/** The same decoder, to be fed in pieces of any length. */
export const inWholeFrames = (codec: FlacCodec): Codec => {
  let waiting = new Uint8Array(0);
  let ogg: boolean | undefined;
  return {
    decode(bytes) {
      ogg ??= bytes[0] === 'O'.charCodeAt(0);
      if (ogg) return codec.decode(bytes);
      const joined = waiting.length === 0 ? bytes : join(waiting, bytes);
      const end = joined.length > MAX_WAITING_BYTES ? joined.length : lastSync(joined);
      waiting = joined.slice(end);
      return end === 0 ? NOTHING : codec.decode(joined.slice(0, end));
    },
    // The last frame itself: behind it comes nothing that could be cut in two.
    flush() {
      const rest = waiting;
      waiting = new Uint8Array(0);
      return rest.length === 0 ? codec.flush!() : codec.decode(rest);
    },
    drain() {
      const last = codec.flush?.();
      if (last !== undefined && !(last instanceof Promise) && last.channelData.length > 0) return last;
      // One byte of nothing brings out one held frame.
      return codec._decoder?.decodeFrames?.([new Uint8Array(1)]) ?? NOTHING;
    },
    free: () => codec.free?.(),
  };
};
