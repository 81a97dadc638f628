import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bandOf } from './band.ts';
import { toInt16 } from './pcm.ts';
import { createResampler } from './resample.ts';

/** Noise from a fixed seed. */
const noise = (length: number): Float32Array => {
  let seed = 1;
  return Float32Array.from({ length }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return (seed / 2 ** 30 - 1) * 0.3;
  });
};

describe('bandOf', () => {
  it('finds telephone audio that was stored at 16 kHz', () => {
    assert.equal(bandOf(toInt16(createResampler(8_000, 16_000).push(noise(16_000))), 16_000), 4_000);
  });

  it('leaves wideband audio, silence and scraps alone', () => {
    assert.equal(bandOf(toInt16(noise(32_000)), 16_000), 8_000);
    assert.equal(bandOf(new Int16Array(32_000), 16_000), 8_000);
    assert.equal(bandOf(new Int16Array(100), 16_000), 8_000);
    assert.equal(bandOf(toInt16(noise(8_000)), 8_000), 4_000);
  });
});
