/**
 * Sample rate conversion by a windowed sinc (Kaiser), streaming, without delay: output sample n lies at input time
 * n · in / out. Large reductions go through half-band stages first, which halves the work of the last filter.
 */

/** Feed blocks in order, then `flush` once; the outputs joined have ceil(input · out / in) samples. */
export type Resampler = {
  push(input: Float32Array): Float32Array;
  flush(): Float32Array;
};

/** Zero crossings of the sinc on each side, at the lower of the two rates. */
const ZERO_CROSSINGS = 20;
/** Kaiser window shape for a stop band of 75 dB and more (A = 0.1102 (A - 8.7), Oppenheim & Schafer 7.62). */
const BETA = 7.4;
/** Middle of the transition band as a share of the lower Nyquist frequency. */
const CUTOFF = 0.945;
/** Rates without a small common ratio use this many phases, with linear interpolation between two of them. */
const MAX_PHASES = 1024;
/** A half-band stage is worth it while it leaves at least this much room above the wanted rate. */
const HALVING_ROOM = 1.3;

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

/** Input samples around the current position; the filter's first half starts in zeros. */
const createHistory = (lead: number) => {
  let held = new Float64Array(lead);
  let first = -lead;
  return {
    append(input: Float32Array): void {
      const joined = new Float64Array(held.length + input.length);
      joined.set(held);
      joined.set(input, held.length);
      held = joined;
    },
    /** Forgets everything before the absolute index. */
    dropBefore(index: number): void {
      const count = Math.min(Math.max(0, index - first), held.length);
      if (count === 0) return;
      held = held.slice(count);
      first += count;
    },
    samples: (): Float64Array => held,
    first: (): number => first,
    end: (): number => first + held.length,
  };
};

/** Taps per phase, each row scaled to unit gain at 0 Hz; row `phases` is row 0 moved by one sample. */
const phaseTable = (phases: number, half: number, cutoff: number): Float64Array => {
  const width = 2 * half;
  const table = new Float64Array((phases + 1) * width);
  for (let phase = 0; phase <= phases; phase++) {
    const row = table.subarray(phase * width, (phase + 1) * width);
    let sum = 0;
    for (let tap = 0; tap < width; tap++) {
      const distance = tap - half + 1 - phase / phases;
      const weight = sinc(cutoff * distance) * kaiser(distance / half);
      row[tap] = weight;
      sum += weight;
    }
    for (let tap = 0; tap < width; tap++) row[tap]! /= sum;
  }
  return table;
};

const dot = (samples: Float64Array, at: number, taps: Float64Array, row: number, width: number): number => {
  // Four sums: the additions of one would wait for each other.
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let i = 0; i < width; i += 4) {
    a += samples[at + i]! * taps[row + i]!;
    b += samples[at + i + 1]! * taps[row + i + 1]!;
    c += samples[at + i + 2]! * taps[row + i + 2]!;
    d += samples[at + i + 3]! * taps[row + i + 3]!;
  }
  return a + b + (c + d);
};

/** `up` output samples for every `down` input samples; both without a common divisor. */
const createPolyphase = (up: number, down: number): Resampler => {
  const cutoff = CUTOFF * Math.min(1, up / down);
  // Even, so that a row's length is a multiple of four.
  const half = 2 * Math.ceil((ZERO_CROSSINGS * Math.max(1, down / up)) / 2);
  const width = 2 * half;
  const exact = up <= MAX_PHASES;
  const phases = exact ? up : MAX_PHASES;
  const taps = phaseTable(phases, half, cutoff);
  const history = createHistory(half);
  let received = 0;
  let produced = 0;
  /** Whole part and remainder (in 1/up) of the next output's place in the input. */
  let whole = 0;
  let rest = 0;

  const valueAt = (samples: Float64Array, at: number): number => {
    if (exact) return dot(samples, at, taps, rest * width, width);
    const place = (rest / up) * phases;
    const phase = Math.floor(place);
    const low = dot(samples, at, taps, phase * width, width);
    return low + (place - phase) * (dot(samples, at, taps, (phase + 1) * width, width) - low);
  };
  const produce = (limit: number): Float32Array => {
    const samples = history.samples();
    const ready = Math.ceil(((history.end() - half - whole) * up - rest) / down);
    const output = new Float32Array(Math.max(0, Math.min(ready, limit)));
    for (let n = 0; n < output.length; n++) {
      output[n] = valueAt(samples, whole - half + 1 - history.first());
      rest += down;
      const steps = Math.floor(rest / up);
      whole += steps;
      rest -= steps * up;
    }
    produced += output.length;
    history.dropBefore(whole - half + 1);
    return output;
  };
  return {
    push(input) {
      received += input.length;
      history.append(input);
      return produce(Number.POSITIVE_INFINITY);
    },
    flush() {
      history.append(new Float32Array(width + 1));
      return produce(Math.ceil((received * up) / down) - produced);
    },
  };
};

/** Keeps every second sample behind a half-band filter; `keep` is the share of the input's Nyquist band to keep. */
const createHalver = (keep: number): Resampler => {
  // Kaiser's estimate of the length for 80 dB (Oppenheim & Schafer 7.63); only odd distances have weight.
  const pairs = Math.max(4, Math.ceil(72 / 14.36 / (0.5 - keep) / 4));
  const half = 2 * pairs;
  const weights = Float64Array.from({ length: pairs }, (_, i) => sinc((2 * i + 1) / 2) * kaiser((2 * i + 1) / half));
  const gain = 0.5 / weights.reduce((sum, weight) => sum + 2 * weight, 0);
  for (let i = 0; i < pairs; i++) weights[i]! *= gain;
  const history = createHistory(half);
  let received = 0;
  let next = 0;

  const produce = (limit: number): Float32Array => {
    const samples = history.samples();
    const ready = Math.ceil((history.end() - half - next) / 2);
    const output = new Float32Array(Math.max(0, Math.min(ready, limit)));
    let at = next - history.first();
    for (let n = 0; n < output.length; n++, at += 2) {
      let sum = 0.5 * samples[at]!;
      for (let i = 0; i < pairs; i++) sum += weights[i]! * (samples[at - 2 * i - 1]! + samples[at + 2 * i + 1]!);
      output[n] = sum;
    }
    next += 2 * output.length;
    history.dropBefore(next - half);
    return output;
  };
  return {
    push(input) {
      received += input.length;
      history.append(input);
      return produce(Number.POSITIVE_INFINITY);
    },
    flush() {
      history.append(new Float32Array(2 * half + 1));
      return produce(Math.ceil(received / 2) - next / 2);
    },
  };
};

const chain = (first: Resampler, second: Resampler): Resampler => ({
  push: (input) => second.push(first.push(input)),
  flush() {
    const middle = second.push(first.flush());
    const end = second.flush();
    const joined = new Float32Array(middle.length + end.length);
    joined.set(middle);
    joined.set(end, middle.length);
    return joined;
  },
});

const IDENTITY: Resampler = { push: (input) => input, flush: () => new Float32Array(0) };

/** A converter between two whole rates in Hz, both positive. */
export const createResampler = (inRate: number, outRate: number): Resampler => {
  if (inRate === outRate) return IDENTITY;
  const stages: Resampler[] = [];
  let halvings = 1;
  while (inRate / (2 * halvings) >= HALVING_ROOM * outRate) {
    stages.push(createHalver(outRate / (inRate / halvings)));
    halvings *= 2;
  }
  const up = outRate * halvings;
  const divisor = gcd(up, inRate);
  stages.push(createPolyphase(up / divisor, inRate / divisor));
  return stages.reduce(chain);
};
