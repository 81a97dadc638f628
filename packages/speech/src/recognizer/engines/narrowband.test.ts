import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fillUpperBand, isNarrowband } from './narrowband.ts';

const RATE = 16_000;

const tone = (hz: number, peak: number): Int16Array =>
  Int16Array.from({ length: RATE }, (_, index) => Math.round(peak * Math.sin((2 * Math.PI * hz * index) / RATE)));

/** Amplitude of one frequency (Goertzel's sum, written out). */
const amplitudeAt = (samples: Int16Array, hz: number): number => {
  let [real, imaginary] = [0, 0];
  for (const [index, sample] of samples.entries()) {
    real += sample * Math.cos((2 * Math.PI * hz * index) / RATE);
    imaginary -= sample * Math.sin((2 * Math.PI * hz * index) / RATE);
  }
  return (2 * Math.hypot(real, imaginary)) / samples.length;
};

describe('filling the upper band', () => {
  it('is for sound that ends near 4 kHz', () => {
    assert.deepEqual([0, 3400, 4000, 5512, 8000].map(isNarrowband), [false, true, true, false, false]);
  });

  it('leaves the lower band and mirrors it about 4 kHz, weaker with height', () => {
    for (const [hz, image] of [
      [3000, 0.5 * Math.cos((Math.PI * 5000) / RATE) ** 2],
      [1500, 0.5 * Math.cos((Math.PI * 6500) / RATE) ** 2],
    ] as const) {
      const filled = fillUpperBand(tone(hz, 8000));
      assert.ok(Math.abs(amplitudeAt(filled, hz) - 8000) < 10);
      assert.ok(Math.abs(amplitudeAt(filled, 8000 - hz) - 8000 * image) < 10);
    }
  });

  it('gives the same samples every time and never overflows', () => {
    const loud = tone(2000, 32_767);
    const filled = fillUpperBand(loud);
    assert.deepEqual(filled, fillUpperBand(loud));
    assert.ok(
      filled.every((sample, index) => Math.sign(sample) === Math.sign(loud[index]!) || Math.abs(loud[index]!) < 20_000),
    );
  });
});
