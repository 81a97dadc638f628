/** Where the band of a stretch of speech ends: telephone audio that was stored at 16 kHz and more has nothing above 4 kHz. */

const SIZE = 512;
/** Places looked at in one segment. */
const LOOKS = 16;
const TELEPHONE_HZ = 4_000;
/** The upper band starts this far above, clear of the telephone filter's slope. */
const UPPER_FROM_HZ = 4_300;
const LOWER_FROM_HZ = 300;
const LOWER_TO_HZ = 3_600;
/** Below this the upper band counts as empty: a wideband "s" alone keeps speech within about 30 dB. */
const EMPTY_BELOW_DB = -45;

/** Above this a look has shown enough. */
const PLAIN_ABOVE_DB = -32;

const turns = (steps: number, of: (angle: number) => number): Readonly<Float64Array> =>
  Float64Array.from({ length: steps }, (_, i) => of((2 * Math.PI * i) / SIZE));
const COS: Readonly<Float64Array> = turns(SIZE / 2, Math.cos);
const SIN: Readonly<Float64Array> = turns(SIZE / 2, Math.sin);
/** Blackman: its side lobes lie 58 dB and more under, so the lower band does not leak into the upper. */
const WINDOW: Readonly<Float64Array> = turns(
  SIZE,
  (angle) => 0.42 - 0.5 * Math.cos(angle) + 0.08 * Math.cos(2 * angle),
);

/** In-place radix-2 FFT (Cooley-Tukey) of SIZE values. */
const transform = (re: Float64Array, im: Float64Array): void => {
  const n = SIZE;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j]] = [re[j]!, re[i]!];
  }
  for (let size = 2; size <= n; size *= 2) {
    for (let k = 0; k < size / 2; k++) {
      const c = COS[(k * SIZE) / size]!;
      const s = -SIN[(k * SIZE) / size]!;
      for (let a = k; a < n; a += size) {
        const b = a + size / 2;
        const x = re[b]! * c - im[b]! * s;
        const y = re[b]! * s + im[b]! * c;
        re[b] = re[a]! - x;
        im[b] = im[a]! - y;
        re[a]! += x;
        im[a]! += y;
      }
    }
  }
};

/** Energy from `from` to `to` Hz of a spectrum. */
const energyOf = (re: Float64Array, im: Float64Array, binHz: number, from: number, to: number): number => {
  let sum = 0;
  for (let bin = Math.ceil(from / binHz); bin < Math.min(SIZE / 2, to / binHz); bin++)
    sum += re[bin]! ** 2 + im[bin]! ** 2;
  return sum;
};

const toDb = (share: number): number => 10 * Math.log10(share);

/** The end of the band in Hz: 4000 when nothing is above, else half the rate. Samples at 12 kHz and more are looked at. */
export const bandOf = (samples: Int16Array, rate: number): number => {
  const full = rate / 2;
  if (full < 1.5 * TELEPHONE_HZ || samples.length < SIZE) return full;
  const re = new Float64Array(SIZE);
  const im = new Float64Array(SIZE);
  let lower = 0;
  let upper = 0;
  for (let look = 0; look < LOOKS; look++) {
    const at = Math.floor(((samples.length - SIZE) * (look + 0.5)) / LOOKS);
    for (let i = 0; i < SIZE; i++) re[i] = samples[at + i]! * WINDOW[i]!;
    im.fill(0);
    transform(re, im);
    lower += energyOf(re, im, rate / SIZE, LOWER_FROM_HZ, LOWER_TO_HZ);
    upper += energyOf(re, im, rate / SIZE, UPPER_FROM_HZ, full);
    if (look >= LOOKS / 4 && toDb(upper / lower) > PLAIN_ABOVE_DB) return full;
  }
  return lower > 0 && toDb(upper / lower) < EMPTY_BELOW_DB ? TELEPHONE_HZ : full;
};
