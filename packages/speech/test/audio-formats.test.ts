import assert from 'node:assert/strict';
import { chmod, readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { Problem } from '@parley/kit/problem.ts';
import { decodeAlaw, decodeUlaw, toInt16 } from '../src/audio/pcm.ts';
import { readRecording } from '../src/audio/recording.ts';
import { createResampler } from '../src/audio/resample.ts';
import {
  companded,
  encode,
  hear,
  joined,
  OPTIONS,
  openFolder,
  readWords,
  sampleFile,
  type WavKind,
  WHOLE,
  wavFile,
} from './audio-fixtures.ts';

const PCM16: WavKind = { tag: 1, bits: 16 };

const problemOf = async (run: Promise<unknown>): Promise<Problem> => {
  const thrown: unknown = await run.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof Problem, `a Problem, not ${thrown}`);
  return thrown;
};

/** Energy in 20 ms steps: what is said when, whatever the codec did to the phases. */
const envelope = (samples: Int16Array): number[] =>
  Array.from({ length: Math.floor(samples.length / 320) }, (_, i) =>
    Math.sqrt(samples.subarray(i * 320, (i + 1) * 320).reduce((sum, sample) => sum + sample * sample, 0) / 320),
  );

/** Correlation of two series, the second moved by up to five steps. */
const likeness = (a: readonly number[], b: readonly number[]): number => {
  const at = (shift: number): number => {
    const pairs = a.flatMap((value, i) => (b[i + shift] === undefined ? [] : [[value, b[i + shift]!] as const]));
    const sum = (of: (p: number, q: number) => number) => pairs.reduce((total, [p, q]) => total + of(p, q), 0);
    return sum((p, q) => p * q) / Math.sqrt(sum((p) => p * p) * sum((_, q) => q * q) + 1e-9);
  };
  return Math.max(...[-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5].map(at));
};

describe('readRecording', () => {
  let folder: Awaited<ReturnType<typeof openFolder>>;
  let words: Float32Array;
  before(async () => {
    folder = await openFolder();
    words = await readWords();
  });
  after(() => folder[Symbol.asyncDispose]());

  describe('WAVE files', () => {
    const kinds: readonly (readonly [string, WavKind, number])[] = [
      ['16 bit', PCM16, 1],
      ['8 bit', { tag: 1, bits: 8 }, 260],
      ['24 bit', { tag: 1, bits: 24 }, 1],
      ['32 bit', { tag: 1, bits: 32 }, 1],
      ['32-bit float', { tag: 3, bits: 32 }, 1],
      ['64-bit float', { tag: 3, bits: 64 }, 1],
      ['extensible 24 bit', { tag: 1, bits: 24, extensible: true }, 1],
      ['big-endian 16 bit', { tag: 1, bits: 16, big: true }, 1],
      ['big-endian 24 bit', { tag: 1, bits: 24, big: true }, 1],
      ['big-endian float', { tag: 3, bits: 32, big: true }, 1],
    ];
    for (const [name, kind, tolerance] of kinds)
      it(`reads ${name}`, async () => {
        const { segments, summary } = await hear(
          await folder.write('a.wav', wavFile(encode([words], kind), 1, kind)),
          WHOLE,
        );
        const heard = joined(segments);
        const wanted = toInt16(words);
        assert.equal(heard.length, wanted.length);
        for (let i = 0; i < wanted.length; i++) assert.ok(Math.abs(heard[i]! - wanted[i]!) <= tolerance, `sample ${i}`);
        assert.equal(summary.format, 'wav');
        assert.equal(summary.truncated, false);
      });

    for (const [name, tag, decode] of [
      ['A-law', 6, decodeAlaw],
      ['µ-law', 7, decodeUlaw],
    ] as const)
      it(`reads ${name} at 8 kHz as telephone audio`, async () => {
        const narrow = createResampler(16_000, 8_000).push(words);
        const bytes = wavFile(companded(narrow, decode), 1, { tag, bits: 8, rate: 8_000 });
        const { segments, summary } = await hear(await folder.write('a.wav', bytes), WHOLE);
        assert.equal(summary.sourceRate, 8_000);
        assert.ok(segments.every((segment) => segment.bandHz === 4_000 && segment.sampleRate === 16_000));
        assert.ok(likeness(envelope(toInt16(words)), envelope(joined(segments))) > 0.98);
      });

    it('uses what is there when the header promises more, and says so', async () => {
      const data = encode([words], PCM16);
      const file = await folder.write('a.wav', wavFile(data, 1, PCM16, data.length * 3));
      const { summary } = await hear(file);
      assert.equal(summary.truncated, true);
      assert.ok(Math.abs(summary.durationSec - words.length / 16_000) < 0.001);
    });

    it('reads on to the end when a streaming writer left the length open or at 0', async () => {
      const data = encode([words], PCM16);
      for (const declared of [0xffff_ffff, 0x7fff_f000, 0, 1000]) {
        const { summary } = await hear(await folder.write('a.wav', wavFile(data, 1, PCM16, declared)));
        assert.ok(Math.abs(summary.durationSec - words.length / 16_000) < 0.001, `declared ${declared}`);
        assert.equal(summary.truncated, false);
      }
    });

    it('clears NaN and infinity without harm to their neighbours', async () => {
      const kind: WavKind = { tag: 3, bits: 32, rate: 48_000 };
      const bad = words.map((sample, i) => (i % 5_000 === 0 ? [Number.NaN, Infinity, -Infinity][i % 3]! : sample));
      for (const channels of [[bad], [bad, words]]) {
        const file = await folder.write('a.wav', wavFile(encode(channels, kind), channels.length, kind));
        const { segments } = await hear(file, WHOLE);
        const clean = await folder.write('b.wav', wavFile(encode([words], kind), 1, kind));
        assert.ok(likeness(envelope(joined((await hear(clean, WHOLE)).segments)), envelope(joined(segments))) > 0.999);
      }
    });

    it('refuses headers that make no sense', async () => {
      const data = encode([words.subarray(0, 100)], PCM16);
      const cases: readonly (readonly [string, Buffer])[] = [
        ['rate 0', wavFile(data, 1, { ...PCM16, rate: 0 })],
        ['rate of 4 GHz', wavFile(data, 1, { ...PCM16, rate: 0xffff_ffff })],
        ['no channels', wavFile(data, 0, PCM16)],
        ['65535 channels', wavFile(data, 65_535, PCM16)],
        ['13 bytes a sample', wavFile(data, 1, { tag: 1, bits: 104 })],
        ['no samples', wavFile(Buffer.alloc(0), 1, PCM16)],
        ['half a sample', wavFile(Buffer.alloc(1), 1, PCM16)],
        ['nothing but RIFF', Buffer.from('RIFF\0\0\0\0WAVE', 'latin1')],
        ['no fmt', Buffer.from('RIFF\x10\0\0\0WAVEdata\x04\0\0\0abcd', 'latin1')],
      ];
      for (const [name, bytes] of cases) {
        const { code, status } = await problemOf(hear(await folder.write('a.wav', bytes)));
        assert.deepEqual([name, code, status], [name, 'invalid_audio', 400]);
      }
    });

    it('reads an .au file', async () => {
      const header = Buffer.alloc(24);
      for (const [i, word] of [0x2e73_6e64, 24, 0xffff_ffff, 3, 16_000, 1].entries()) header.writeUInt32BE(word, 4 * i);
      const bytes = Buffer.concat([header, encode([words], { ...PCM16, big: true })]);
      const { segments, summary } = await hear(await folder.write('a.au', bytes), WHOLE);
      assert.deepEqual(joined(segments), toInt16(words));
      assert.equal(summary.format, 'au');
    });

    it('takes headerless samples where they are announced, and a wav file all the same', async () => {
      const raw = await folder.write('raw', encode([words], PCM16));
      const { summary } = await hear(raw, { ...OPTIONS, rawPcmRate: 16_000 });
      assert.deepEqual([summary.format, summary.sourceRate], ['pcm', 16_000]);
      assert.equal((await hear(sampleFile('words.wav'), { ...OPTIONS, rawPcmRate: 8_000 })).summary.format, 'wav');
      assert.equal((await problemOf(hear(raw))).code, 'unsupported_media_type');
    });
  });

  describe('other formats', () => {
    for (const [name, format, least] of [
      ['words.mp3', 'mp3', 0.99],
      ['words-44k-stereo.mp3', 'mp3', 0.99],
      ['words.flac', 'flac', 0.9999],
      ['words.ogg', 'ogg', 0.99],
      ['words.opus', 'opus', 0.98],
      ['words.webm', 'webm', 0.98],
      ['words-moov-last.m4a', 'm4a', 0.99],
      // ADTS does not say how much the encoder put in front.
      ['words.aac', 'aac', 0.9],
      ['words.wma', 'wma', 0.97],
      ['words.amr', 'amr', 0.9],
      ['words-ima.wav', 'wav', 0.95],
    ] as const) {
      it(`hears in ${name} what the wav says`, async () => {
        const whole = await hear(sampleFile(name), WHOLE);
        assert.equal(whole.summary.format, format);
        assert.equal(whole.summary.truncated, false);
        assert.ok(Math.abs(whole.summary.durationSec - words.length / 16_000) < 0.2);
        assert.ok(likeness(envelope(toInt16(words)), envelope(joined(whole.segments))) > least);
        const { segments } = await hear(sampleFile(name));
        const places = (await hear(sampleFile('words.wav'))).segments.map((segment) => segment.start);
        assert.deepEqual(segments.length, places.length);
        for (const [i, segment] of segments.entries()) assert.ok(Math.abs(segment.start - places[i]!) < 0.3);
      });
    }

    it('gives every sample of a FLAC file', async () => {
      const { segments } = await hear(sampleFile('words.flac'), WHOLE);
      const heard = joined(segments);
      assert.equal(heard.length, words.length);
      // The decoder scales by 32767, so the loudest samples are off by one.
      for (const [i, sample] of toInt16(words).entries()) assert.ok(Math.abs(heard[i]! - sample) <= 1, `sample ${i}`);
    });

    it('uses what is left of a file that broke off, and says so', async () => {
      for (const name of ['words.mp3', 'words.wav', 'words.opus', 'words.webm', 'words.aac', 'words.flac']) {
        const bytes = await readFile(sampleFile(name));
        const { summary, segments } = await hear(await folder.write('cut', bytes.subarray(0, bytes.length * 0.6 - 7)));
        assert.equal(summary.truncated, true, name);
        assert.ok(summary.durationSec > 1.5 && summary.durationSec < 3.5, `${name}: ${summary.durationSec} s`);
        assert.ok(segments.length > 0);
      }
    });

    it('says invalid_audio for a known format that holds nothing to decode', async () => {
      for (const name of ['words.mp3', 'words.flac', 'words.ogg', 'words.opus', 'words-moov-last.m4a', 'words.wma']) {
        const bytes = await readFile(sampleFile(name));
        const cut = await problemOf(hear(await folder.write('cut', bytes.subarray(0, 60))));
        assert.ok(['invalid_audio', 'unsupported_media_type'].includes(cut.code), `${name}: ${cut.code}`);
        const noise = Buffer.from(bytes.map((byte, i) => (i < 400 ? byte : (i * 7_919) & 255)));
        const spoiled = await hear(await folder.write('spoiled', noise)).catch((error: unknown) => error);
        if (spoiled instanceof Error)
          assert.ok(spoiled instanceof Problem && spoiled.status < 500, `${name}: ${spoiled}`);
      }
    });

    it('survives an index that promises more than it holds', async () => {
      const bytes = await readFile(sampleFile('words-moov-last.m4a'));
      for (const table of ['stsz', 'stco', 'stsc', 'stts']) {
        const hostile = Buffer.from(bytes);
        const at = hostile.indexOf(table, 'latin1');
        hostile.writeUInt32BE(0xffff_fff0, at + (table === 'stsz' ? 12 : 8));
        assert.equal((await problemOf(hear(await folder.write('a.m4a', hostile)))).code, 'invalid_audio', table);
      }
      const constant = Buffer.from(bytes);
      const at = constant.indexOf('stsz', 'latin1');
      constant.writeUInt32BE(1, at + 8);
      constant.writeUInt32BE(0xffff_fff0, at + 12);
      assert.equal((await problemOf(hear(await folder.write('a.m4a', constant)))).code, 'invalid_audio');
    });

    it('does not know text, noise or an empty file', async () => {
      const text = await folder.write('text.wav', Buffer.from('this is no recording\n'.repeat(500)));
      const { code, status } = await problemOf(hear(text));
      assert.deepEqual([code, status], ['unsupported_media_type', 415]);
      const gsm = await problemOf(hear(sampleFile('words-gsm.wav')));
      assert.equal(gsm.code, 'unsupported_media_type');
      assert.equal((await problemOf(hear(await folder.write('empty', Buffer.alloc(0))))).code, 'invalid_audio');
    });

    it('gives ffmpeg what the decoders do not know, and ends it when it says nothing or is not wanted any more', async () => {
      // Stands for ffmpeg where there is none: the same pipes, one second of samples.
      const script = async (name: string, body: string): Promise<string> => {
        const file = await folder.write(name, Buffer.from(`#!/bin/sh\n${body}\n`));
        await chmod(file, 0o700);
        return file;
      };
      const gsm = sampleFile('words-gsm.wav');
      const talks = await script('talks', 'cat > /dev/null; head -c 192000 /dev/zero');
      assert.equal((await hear(gsm, { ...OPTIONS, ffmpegPath: talks })).summary.durationSec, 1);
      const fails = await script('fails', 'cat > /dev/null; echo "cannot read this" >&2; exit 1');
      const failed = await problemOf(hear(gsm, { ...OPTIONS, ffmpegPath: fails }));
      assert.equal(failed.code, 'unsupported_media_type');
      assert.ok(!failed.message.includes('cannot read this'));
      const hangs = await script('hangs', 'exec sleep 600');
      const late = await problemOf(hear(gsm, { ...OPTIONS, ffmpegPath: hangs, ffmpegTimeoutMs: 50 }));
      assert.equal(late.code, 'invalid_audio');
      const abort = new AbortController();
      const sink = { emit: async () => undefined, progress: () => undefined };
      const reading = readRecording(gsm, { ...OPTIONS, ffmpegPath: hangs }, sink, abort.signal);
      abort.abort(new Error('gone'));
      await assert.rejects(reading);
    });

    it('falls back to 415 when the named ffmpeg is not there', async () => {
      const { code } = await problemOf(
        hear(sampleFile('words-gsm.wav'), { ...OPTIONS, ffmpegPath: '/nowhere/ffmpeg' }),
      );
      assert.equal(code, 'unsupported_media_type');
    });
  });

  describe('channels, length and silence', () => {
    const silent = () => new Float32Array(words.length);

    it('splits channels: each is cut by itself, in order', async () => {
      const { segments, summary } = await hear(sampleFile('two-channels.mp3'), { ...OPTIONS, channelMode: 'split' });
      assert.deepEqual([summary.channels, summary.sourceChannels], [2, 2]);
      const of = (channel: number) => segments.filter((segment) => segment.channel === channel);
      assert.ok(of(0).length > 0 && of(1).length > 0);
      assert.ok(of(0)[0]!.start < 0.5 && of(1)[0]!.start > 1);
      assert.deepEqual(
        segments.map((segment) => segment.index),
        segments.map((_, i) => i),
      );
    });

    it('counts one channel in a mono mp3', async () => {
      const { summary } = await hear(sampleFile('words.mp3'), { ...OPTIONS, channelMode: 'split' });
      assert.equal(summary.channels, 1);
    });

    it('takes the first channel, or the mean of all', async () => {
      const file = await folder.write('a.wav', wavFile(encode([words, silent()], PCM16), 2, PCM16));
      const first = joined((await hear(file, { ...WHOLE, channelMode: 'first' })).segments);
      assert.deepEqual(first, toInt16(words));
      const mixed = joined((await hear(file, WHOLE)).segments);
      for (let i = 0; i < mixed.length; i += 97) assert.ok(Math.abs(mixed[i]! - first[i]! / 2) <= 1);
    });

    it('refuses to split more channels than allowed, naming the field', async () => {
      const file = await folder.write('a.wav', wavFile(encode([words, words, words], PCM16), 3, PCM16));
      const { code, param } = await problemOf(hear(file, { ...OPTIONS, channelMode: 'split' }));
      assert.deepEqual([code, param], ['invalid_request', 'channel_mode']);
    });

    it('refuses what is longer than allowed', async () => {
      const { code, status } = await problemOf(hear(sampleFile('words.wav'), { ...OPTIONS, maxDurationSec: 3 }));
      assert.deepEqual([code, status], ['duration_exceeded', 413]);
    });

    it('gives no segment for silence, and all of it as silence', async () => {
      const file = await folder.write('a.wav', wavFile(encode([silent()], PCM16), 1, PCM16));
      const { segments, summary } = await hear(file);
      assert.deepEqual([segments.length, summary.speechSec], [0, 0]);
      assert.deepEqual(summary.silence, [{ start: 0, end: words.length / 16_000 }]);
    });

    it('finds the two phrases and the pauses around them', async () => {
      for (const sampleRate of [16_000, 8_000]) {
        const { segments, summary } = await hear(sampleFile('words.wav'), { ...OPTIONS, sampleRate });
        assert.equal(segments.length, 2);
        assert.ok(segments[0]!.start < 0.35 && segments[1]!.start > 1.9 && segments[1]!.start < 3);
        assert.equal(summary.silence.length, 3);
        assert.ok(segments.every((segment) => segment.sampleRate === sampleRate));
      }
    });

    it('finds them in noise too', async () => {
      let seed = 7;
      const noisy = words.map((sample) => {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
        return sample + (seed / 2 ** 30 - 1) * 0.01;
      });
      const { summary } = await hear(await folder.write('a.wav', wavFile(encode([noisy], PCM16), 1, PCM16)));
      assert.ok(summary.speechSec > 1.8, `${summary.speechSec} s of speech`);
    });
  });
});
