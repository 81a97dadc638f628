/**
 * Sample rate conversion by a windowed sinc (Kaiser), streaming, without delay: output sample n lies at input time
 * n · in / out. The work is a dot product a sample, done in resample-kernel.ts.
 */
import { createKernel } from './resample-kernel.ts';

/** Feed blocks in order, then `flush` once; the outputs joined have ceil(input · out / in) samples. */
export type Resampler = {
  push(input: Float32Array): Float32Array;
  flush(): Float32Array;
};

/** Zero crossings of the sinc on each side, at the lower of the two rates. */
const ZERO_CROSSINGS = 20;
/** Kaiser window shape for a stop band of 75 dB and more (0.1102 (A - 8.7), Oppenheim & Schafer 7.62). */
const BETA = 7.4;
/** Middle of the transition band as a share of the lower Nyquist frequency. */
const CUTOFF = 0.945;
/** Rates whose ratio needs more phases than this use the nearest of as many: -78 dB of jitter at worst. */
const MAX_PHASES = 4096;
/** The same, for filters so long that their table would grow beyond a few MB. */
const MAX_TAPS = 2_000_000;
/** Taps are taken eight at a time. */
const LANES = 8;
const PIECE_SAMPLES = 8192;
const FLOAT_BYTES = 4;

/** Modified Bessel function of the first kind, order 0, by its series. */
const bessel0 = (x: number): number => {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > 1e-12 * sum; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
};

/** Kaiser window at t in -1..1. */
const kaiser = (t: number): number => (Math.abs(t) >= 1 ? 0 : bessel0(BETA * Math.sqrt(1 - t * t)) / bessel0(BETA));

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** One row of taps for each phase, each scaled to unit gain at 0 Hz. */
const phaseTable = (phases: number, half: number, cutoff: number): Float32Array => {
  const width = 2 * half;
  const table = new Float32Array(phases * width);
  for (let phase = 0; phase < phases; phase++) {
    const weights = Array.from({ length: width }, (_, tap) => {
      const distance = tap - half + 1 - phase / phases;
      return sinc(cutoff * distance) * kaiser(distance / half);
    });
    const gain = weights.reduce((sum, weight) => sum + weight, 0);
    table.set(
      weights.map((weight) => weight / gain),
      phase * width,
    );
  }
  return table;
};

/** `up` output samples for every `down` input samples. */
type Ratio = { readonly up: number; readonly down: number; readonly half: number };

/** The exact ratio where its table is small enough, else the nearest with fewer phases. */
const ratioOf = (inRate: number, outRate: number): Ratio => {
  const half = Math.ceil((ZERO_CROSSINGS * Math.max(1, inRate / outRate)) / (LANES / 2)) * (LANES / 2);
  const divisor = gcd(inRate, outRate);
  const phases = Math.max(1, Math.min(MAX_PHASES, Math.floor(MAX_TAPS / (2 * half))));
  const up = outRate / divisor;
  if (up <= phases) return { up, down: inRate / divisor, half };
  return { up: phases, down: (inRate / outRate) * phases, half };
};

/** Keeps the filter's surroundings in the kernel's memory: taps, then input, then output. */
const createPolyphase = (inRate: number, outRate: number): Resampler => {
  const { up, down, half } = ratioOf(inRate, outRate);
  const width = 2 * half;
  const taps = phaseTable(up, half, CUTOFF * Math.min(1, outRate / inRate));
  const inputAt = taps.byteLength;
  const capacity = 2 * width + PIECE_SAMPLES;
  const outputAt = inputAt + capacity * FLOAT_BYTES;
  const mostOut = Math.ceil((capacity * outRate) / inRate) + 1;
  const { memory, fir } = createKernel(outputAt + mostOut * FLOAT_BYTES);
  new Float32Array(memory.buffer, 0, taps.length).set(taps);
  const held = new Float32Array(memory.buffer, inputAt, capacity);
  const exact = Number.isInteger(down);
  /** Input samples held; the first lies `half - 1` before the input place 0 of `position`. */
  let count = half - 1;
  /** Place of the next output in units of 1/up of an input sample, from the first held sample's filter centre. */
  let position = 0;
  let received = 0;
  let produced = 0;

  const run = (outputs: number): Float32Array => {
    if (exact) {
      const whole = Math.floor(position / up);
      fir(inputAt + whole * FLOAT_BYTES, 0, outputAt, outputs, width * FLOAT_BYTES, position % up, up, down);
    } else
      for (let n = 0; n < outputs; n++) {
        const place = Math.round(position + n * down);
        const input = inputAt + Math.floor(place / up) * FLOAT_BYTES;
        fir(input, 0, outputAt + n * FLOAT_BYTES, 1, width * FLOAT_BYTES, place % up, up, 0);
      }
    position += outputs * down;
    return new Float32Array(memory.buffer, outputAt, outputs).slice();
  };
  /** Everything that can be said with the samples held, `limit` outputs at most; then forgets what is behind. */
  const produce = (limit: number): Float32Array => {
    const last = (count - width + 0.5) * up;
    const ready = position > last ? 0 : Math.floor((last - position) / down) + 1;
    const output = run(Math.max(0, Math.min(ready, limit)));
    const behind = Math.min(count, Math.floor(position / up));
    held.copyWithin(0, behind, count);
    count -= behind;
    position -= behind * up;
    produced += output.length;
    return output;
  };
  const feed = (input: Float32Array, limit: () => number): Float32Array => {
    const outputs: Float32Array[] = [];
    for (let at = 0; at < input.length; at += PIECE_SAMPLES) {
      const piece = input.subarray(at, at + PIECE_SAMPLES);
      held.set(piece, count);
      count += piece.length;
      outputs.push(produce(limit()));
    }
    if (outputs.length === 1) return outputs[0]!;
    const joined = new Float32Array(outputs.reduce((sum, output) => sum + output.length, 0));
    let at = 0;
    for (const output of outputs) {
      joined.set(output, at);
      at += output.length;
    }
    return joined;
  };
  return {
    push(input) {
      received += input.length;
      return feed(input, () => Number.POSITIVE_INFINITY);
    },
    flush: () => feed(new Float32Array(width + 1), () => Math.ceil((received * outRate) / inRate) - produced),
  };
};

const IDENTITY: Resampler = { push: (input) => input, flush: () => new Float32Array(0) };

/** A converter between two whole rates in Hz, both positive. */
export const createResampler = (inRate: number, outRate: number): Resampler =>
  inRate === outRate ? IDENTITY : createPolyphase(inRate, outRate);
