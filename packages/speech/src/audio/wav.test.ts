import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ByteSource } from './source.ts';
import { readWavLayout } from './wav.ts';

const IMA_ADPCM = 17;

const toSource = (bytes: Uint8Array): ByteSource => ({
  sizeBytes: bytes.length,
  read: async (at, length) => bytes.slice(at, at + length),
});

const createWav = ({ tag = IMA_ADPCM, channels = 1, rate = 8000, blockBytes = 256 }): Uint8Array => {
  const bytes = Buffer.alloc(44 + blockBytes);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(tag, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(rate, 24);
  bytes.writeUInt16LE(blockBytes, 32);
  bytes.write('data', 36);
  bytes.writeUInt32LE(blockBytes, 40);
  return bytes;
};

describe('the head of an ADPCM wav file', () => {
  it('is left to the decoder when its numbers can be', async () => {
    assert.deepEqual(await readWavLayout(toSource(createWav({}))), { tag: IMA_ADPCM, dataAt: 44 });
  });

  it('is refused where the decoder would never come to an end', async () => {
    for (const head of [{ channels: 0 }, { channels: 65_535 }, { blockBytes: 0 }, { blockBytes: 7 }, { rate: 0 }]) {
      await assert.rejects(readWavLayout(toSource(createWav(head))), { code: 'invalid_audio' }, JSON.stringify(head));
    }
  });
});
