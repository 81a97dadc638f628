/** Sample formats and back: 16-bit PCM, floats, G.711. Pure; used by the decoders and by realtime sockets. */

const SAMPLE_MAX = 32767;
const SAMPLE_MIN = -32768;
const SCALE = 32768;

/** One A-law byte as a 16-bit sample (ITU-T G.711, table 1a). */
const alawSample = (byte: number): number => {
  const bits = byte ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = ((bits & 15) << 4) + 8;
  const size = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return bits & 0x80 ? size : -size;
};

/** One µ-law byte as a 16-bit sample (ITU-T G.711, table 2a). */
const ulawSample = (byte: number): number => {
  const bits = ~byte & 0xff;
  const size = (((bits & 15) << 3) + 132) << ((bits >> 4) & 7);
  return bits & 0x80 ? 132 - size : size - 132;
};

const tableOf = (sampleOf: (byte: number) => number): Int16Array =>
  Int16Array.from({ length: 256 }, (_, b) => sampleOf(b));
const ALAW: Readonly<Int16Array> = tableOf(alawSample);
const ULAW: Readonly<Int16Array> = tableOf(ulawSample);

const expand = (bytes: Uint8Array, table: Readonly<Int16Array>): Int16Array => {
  const samples = new Int16Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) samples[i] = table[bytes[i]!]!;
  return samples;
};

/** G.711 A-law bytes as 16-bit samples. */
export const decodeAlaw = (bytes: Uint8Array): Int16Array => expand(bytes, ALAW);

/** G.711 µ-law bytes as 16-bit samples. */
export const decodeUlaw = (bytes: Uint8Array): Int16Array => expand(bytes, ULAW);

/** Little-endian 16-bit PCM bytes as samples; a last odd byte is left out. */
export const decodePcm16 = (bytes: Uint8Array): Int16Array => {
  const samples = new Int16Array(bytes.length >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = bytes[2 * i]! | (bytes[2 * i + 1]! << 8);
  return samples;
};

/** 16-bit samples as floats in [-1, 1). */
export const toFloats = (samples: Int16Array): Float32Array => {
  const floats = new Float32Array(samples.length);
  for (let i = 0; i < samples.length; i++) floats[i] = samples[i]! / SCALE;
  return floats;
};

/** Floats as 16-bit samples, rounded and clipped; what is not a finite number becomes 0. */
export const toInt16 = (floats: Float32Array): Int16Array => {
  const samples = new Int16Array(floats.length);
  for (let i = 0; i < floats.length; i++) {
    // Storing truncates; half a step away from zero makes that rounding, several times faster than Math.round.
    const scaled = floats[i]! * SCALE;
    const rounded = scaled < 0 ? scaled - 0.5 : scaled + 0.5;
    samples[i] = Math.max(SAMPLE_MIN, Math.min(SAMPLE_MAX, rounded));
  }
  return samples;
};

/**
 * Adds up the length of blocks of samples; `add` answers the seconds so far. Samples are counted, because seconds that
 * are added up piece by piece depend on where a recording happened to be cut.
 */
export const createDuration = (): { add(samples: number, rateHz: number): number } => {
  let [beforeSec, samples, rateHz] = [0, 0, 1];
  return {
    add: (more, atHz) => {
      if (atHz !== rateHz) {
        beforeSec += samples / rateHz;
        samples = 0;
        rateHz = atHz;
      }
      samples += more;
      return beforeSec + samples / rateHz;
    },
  };
};
