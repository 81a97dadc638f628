import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { mpegChannels, sniff, sniffMagic } from './sniff.ts';

const FILES = new URL('../../../../testdata/audio/', import.meta.url);
const bytesOf = async (name: string): Promise<Uint8Array> => new Uint8Array(await readFile(new URL(name, FILES)));

describe('sniff', () => {
  for (const [name, format] of [
    ['words.wav', 'wav'],
    ['words.mp3', 'mp3'],
    ['words.flac', 'flac'],
    ['words.ogg', 'ogg'],
    ['words.opus', 'opus'],
    ['words.webm', 'webm'],
    ['words-moov-last.m4a', 'mp4'],
    ['words.aac', 'aac'],
    ['words.amr', 'amr'],
    ['words.wma', 'wma'],
  ] as const)
    it(`knows ${format} by its bytes`, async () => assert.equal(sniff(await bytesOf(name)), format));

  it('does not take text or noise for audio', () => {
    const noise = Uint8Array.from({ length: 16_384 }, (_, i) => (i * 7919 + (i >> 3) * 104_729) & 255);
    assert.equal(sniff(Buffer.from('TAG this is a text that calls itself a recording\n'.repeat(100))), undefined);
    assert.equal(sniff(noise), undefined);
    assert.equal(sniff(new Uint8Array(16_384).fill(255)), undefined);
    assert.equal(sniff(new Uint8Array(3)), undefined);
    assert.equal(sniff(new Uint8Array(0)), undefined);
  });

  it('asks for a magic number where the bytes may be headerless samples', async () => {
    assert.equal(sniffMagic((await bytesOf('words.mp3')).subarray(2_000)), undefined);
    assert.equal(sniffMagic(await bytesOf('words.wav')), 'wav');
  });

  it('reads the number of channels from MPEG audio', async () => {
    assert.equal(mpegChannels((await bytesOf('words.mp3')).subarray(45)), 1);
    assert.equal(mpegChannels((await bytesOf('words-44k-stereo.mp3')).subarray(45)), 2);
  });
});
