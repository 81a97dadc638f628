import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDuration, decodeAlaw, decodePcm16, decodeUlaw, toFloats, toInt16 } from './pcm.ts';

describe('pcm', () => {
  it('expands G.711 to the values of the recommendation', () => {
    assert.deepEqual([...decodeUlaw(Uint8Array.of(0xff, 0x7f, 0x80, 0x00, 0xf0))], [0, 0, 32124, -32124, 120]);
    assert.deepEqual([...decodeAlaw(Uint8Array.of(0xd5, 0x55, 0xaa, 0x2a))], [8, -8, 32256, -32256]);
  });

  it('reads little-endian samples and leaves out an odd byte', () => {
    assert.deepEqual([...decodePcm16(Uint8Array.of(0x01, 0x00, 0xff, 0xff, 0x00, 0x80, 0x12))], [1, -1, -32768]);
  });

  it('goes to floats and back without loss', () => {
    const samples = Int16Array.from({ length: 65_536 }, (_, i) => i - 32_768);
    assert.deepEqual(toInt16(toFloats(samples)), samples);
  });

  it('rounds, clips and clears what is no number', () => {
    const floats = Float32Array.of(0.6 / 32_768, -0.6 / 32_768, 0.4 / 32_768, 2, -2, Number.NaN, Infinity, -Infinity);
    assert.deepEqual([...toInt16(floats)], [1, -1, 0, 32_767, -32_768, 0, 32_767, -32_768]);
  });

  it('knows the length of a recording however it was cut, also when its rate changes', () => {
    const tenths = createDuration();
    const seen = Array.from({ length: 10 }, () => tenths.add(1600, 16_000));
    assert.equal(seen.at(-1), 1);
    assert.equal(tenths.add(44_100, 44_100), 2);
    assert.equal(tenths.add(11_025, 44_100), 2.25);
  });
});
