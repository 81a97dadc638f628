import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createResampler } from './resample.ts';

const tone = (rate: number, hz: number, seconds = 1): Float32Array =>
  Float32Array.from({ length: Math.round(rate * seconds) }, (_, i) => Math.sin((2 * Math.PI * hz * i) / rate));

const convert = (input: Float32Array, inRate: number, outRate: number, piece = input.length): Float32Array => {
  const resampler = createResampler(inRate, outRate);
  const parts: Float32Array[] = [];
  for (let at = 0; at < input.length; at += piece) parts.push(resampler.push(input.subarray(at, at + piece)));
  parts.push(resampler.flush());
  return Float32Array.from(parts.flatMap((part) => [...part]));
};

/** Level of the middle of a signal against a full-scale tone. */
const levelDb = (samples: Float32Array): number => {
  const middle = samples.subarray(samples.length * 0.2, samples.length * 0.8);
  return 10 * Math.log10((2 * middle.reduce((sum, sample) => sum + sample * sample, 0)) / middle.length + 1e-20);
};

const RATES: readonly (readonly [number, number])[] = [
  [44_100, 16_000],
  [48_000, 16_000],
  [8_000, 16_000],
  [11_025, 16_000],
  [16_000, 8_000],
  [192_000, 16_000],
  [47_999, 16_000],
  [44_056, 8_000],
];

describe('createResampler', () => {
  for (const [inRate, outRate] of RATES) {
    const nyquist = Math.min(inRate, outRate) / 2;

    it(`keeps what fits, in place, from ${inRate} to ${outRate} Hz`, () => {
      for (const share of [0.05, 0.4, 0.8]) {
        const output = convert(tone(inRate, nyquist * share), inRate, outRate);
        const wanted = tone(outRate, nyquist * share);
        assert.equal(output.length, wanted.length);
        for (let i = 200; i < output.length - 200; i++)
          assert.ok(Math.abs(output[i]! - wanted[i]!) < 0.001, `sample ${i} at ${share}`);
      }
    });

    if (inRate > outRate)
      it(`keeps out what would alias, from ${inRate} to ${outRate} Hz`, () => {
        for (const share of [1.08, 1.3, 1.7, 2.4])
          if (nyquist * share < inRate / 2)
            assert.ok(levelDb(convert(tone(inRate, nyquist * share), inRate, outRate)) < -70, `at ${share}`);
      });
  }

  it('leaves no image above the band when it raises the rate', () => {
    const output = convert(tone(8_000, 3_000), 8_000, 16_000);
    const exact = tone(16_000, 3_000);
    assert.ok(levelDb(output.map((sample, i) => sample - exact[i]!)) < -70);
  });

  it('gives the same in pieces of any length as at once', () => {
    const input = Float32Array.from({ length: 30_000 }, (_, i) => Math.sin(i * i * 1e-5));
    for (const [inRate, outRate] of RATES) {
      const whole = convert(input, inRate, outRate);
      for (const piece of [1, 37, 4_801]) {
        const length = piece === 1 ? 2_000 : input.length;
        const short = convert(input.subarray(0, length), inRate, outRate, piece);
        const same = length === input.length ? whole : convert(input.subarray(0, length), inRate, outRate);
        assert.deepEqual(short, same, `${inRate} in pieces of ${piece}`);
      }
    }
  });

  it('passes samples through at one rate', () => {
    const input = tone(16_000, 440, 0.1);
    assert.deepEqual(convert(input, 16_000, 16_000), input);
  });
});
