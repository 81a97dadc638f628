/** What strangers send by mistake or on purpose: the contract's answer each time, and nothing left behind. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { treeOf } from '../../../tools/soak/process-tree.ts';
import { readTestdata, startTestSpeech, type TestSpeech, testFile } from './start-test-speech.ts';

const MAX_UPLOAD_BYTES = 2 ** 20;

type Fields = Readonly<Record<string, string | readonly string[]>>;
type Expected = { readonly status: number; readonly code?: string; readonly param?: string; readonly warning?: string };

const named = (bytes: Buffer | string, name: string): File => new File([new Uint8Array(Buffer.from(bytes))], name);

const wavHead = (dataBytes: number, format = 1, bits = 16, rate = 16_000): Buffer => {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + dataBytes, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(format, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(((rate * bits) / 8) % 2 ** 32, 28);
  head.writeUInt16LE(bits / 8, 32);
  head.writeUInt16LE(bits, 34);
  head.write('data', 36);
  head.writeUInt32LE(dataBytes, 40);
  return head;
};

describe('bad input', () => {
  let speech: TestSpeech;
  before(async () => {
    speech = await startTestSpeech({
      settings: { 'server.max_upload_bytes': String(MAX_UPLOAD_BYTES), 'audio.max_duration': '60s' },
    });
  });
  after(() => speech[Symbol.asyncDispose]());

  const check = async (fields: Fields, file: File | undefined, expected: Expected): Promise<void> => {
    const response = await speech.post('/api/v1/transcribe', fields, file);
    const body = (await response.json()) as { code?: string; param?: string; warnings?: { code: string }[] };
    assert.equal(response.status, expected.status, JSON.stringify(body));
    if (expected.code !== undefined) assert.equal(body.code, expected.code);
    if (expected.param !== undefined) assert.equal(body.param, expected.param);
    if (expected.warning !== undefined)
      assert.ok(
        body.warnings?.some(({ code }) => code === expected.warning),
        JSON.stringify(body),
      );
    await speech.emptied();
  };

  it('asks for the file', () => check({}, undefined, { status: 400, code: 'invalid_request', param: 'file' }));
  it('refuses an empty file', () =>
    check({}, named('', 'x.wav'), { status: 400, code: 'invalid_request', param: 'file' }));
  it('refuses a text named .wav', () =>
    check({}, named('Dear Sir or Madam, please find enclosed.'.repeat(50), 'x.wav'), {
      status: 415,
      code: 'unsupported_media_type',
    }));
  it('uses what there is of an mp3 that breaks off', async () => {
    const whole = await readTestdata('audio/words.mp3');
    await check({}, named(whole.subarray(0, Math.floor(whole.length * 0.6)), 'x.mp3'), { status: 200 });
  });
  it('refuses an mp3 of which nothing is left', async () => {
    await check({}, named((await readTestdata('audio/words.mp3')).subarray(0, 40), 'x.mp3'), {
      status: 400,
      code: 'invalid_audio',
    });
  });
  it('reads a wav whose header lies about its length', async () => {
    const sound = (await readTestdata('speech/close-menu.wav')).subarray(44);
    for (const lie of [0, 10, sound.length * 100, 0xffff_ffff - 36]) {
      await check({}, named(Buffer.concat([wavHead(Math.min(lie, 0xffff_ffd0)), sound]), 'x.wav'), { status: 200 });
    }
  });
  it('refuses a wav without samples', () =>
    check({}, named(wavHead(0), 'x.wav'), { status: 400, code: 'invalid_audio' }));
  it('hears nothing in samples that are no numbers', () => {
    const samples = Buffer.from(new Float32Array(16_000).fill(Number.NaN).buffer);
    return check({}, named(Buffer.concat([wavHead(samples.length, 3, 32), samples]), 'x.wav'), {
      status: 200,
      warning: 'no_speech_detected',
    });
  });
  it('hears nothing in silence', () =>
    check({}, named(Buffer.concat([wavHead(64_000), Buffer.alloc(64_000)]), 'x.wav'), {
      status: 200,
      warning: 'no_speech_detected',
    }));
  it('refuses absurd headers', async () => {
    for (const head of [
      wavHead(1000, 1, 16, 0),
      wavHead(1000, 1, 16, 0xffff_ffff),
      wavHead(1000, 1, 0),
      wavHead(1000, 77),
    ]) {
      const response = await speech.post(
        '/api/v1/transcribe',
        {},
        named(Buffer.concat([head, Buffer.alloc(1000)]), 'x.wav'),
      );
      assert.ok([400, 415].includes(response.status), String(response.status));
    }
  });
  it('refuses an upload over the limit while it streams', () =>
    check({}, named(Buffer.alloc(MAX_UPLOAD_BYTES + 1), 'x.wav'), { status: 413, code: 'file_too_large' }));
  it('refuses a recording over the limit of its length', () => {
    const body = Buffer.alloc(61 * 8000);
    return check({}, named(Buffer.concat([wavHead(body.length, 7, 8, 8000), body]), 'x.wav'), {
      status: 413,
      code: 'duration_exceeded',
    });
  });
  it('refuses a model it does not have, and one that is no offline model', async () => {
    const file = await testFile('speech/close-menu.wav');
    await check({ model: 'nobody' }, file, { status: 404, code: 'model_not_found', param: 'model' });
    await check({ model: '../../etc/passwd' }, file, { status: 400, code: 'invalid_request', param: 'model' });
  });
  it('names each field whose value it does not know', async () => {
    const file = await testFile('speech/close-menu.wav');
    for (const [field, value] of [
      ['channel_mode', 'both'],
      ['decoding_method', 'magic'],
      ['response_format', 'pdf'],
      ['num_speakers', '33'],
      ['num_speakers', 'two'],
      ['diarize', 'maybe'],
      ['hotwords_score', '11'],
      ['max_active_paths', '0'],
      ['word_timestamps', '2'],
      ['language', 'x'.repeat(40)],
      ['webhook_url', 'https://example.org/'],
    ] as const) {
      await check({ [field]: value }, file, { status: 400, code: 'invalid_request', param: field });
    }
    await check({ nonsense: 'x' }, file, { status: 200, warning: 'unknown_parameter' });
    await check({ nonsense: 'x', strict: 'true' }, file, { status: 400, param: 'nonsense' });
  });
  it('cuts ten thousand hotwords to what it takes and says so', async () => {
    const hotwords = Array.from({ length: 10_000 }, (_, n) => `word${n}`).join(',');
    const response = await speech.post(
      '/api/v1/transcribe',
      { hotwords: hotwords.slice(0, 60_000) },
      await testFile('speech/close-menu.wav'),
    );
    assert.equal(response.status, 200);
    assert.match(response.headers.get('x-service-warnings') ?? '', /hotwords_truncated/);
    await speech.emptied();
  });
  it('refuses what is no form', async () => {
    const json = await speech.fetch('/api/v1/transcribe', {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(json.status, 415);
    const torn = await speech.fetch('/api/v1/transcribe', {
      method: 'POST',
      body: '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    assert.equal(torn.status, 400);
    await speech.emptied();
  });
  it('stops and cleans up when the client goes away', async () => {
    const leaving = new AbortController();
    const form = new FormData();
    const sound = (await readTestdata('audio/words.wav')).subarray(44);
    const body = Buffer.concat(Array.from({ length: 6 }, () => sound));
    form.append(
      'file',
      named(Buffer.concat([wavHead(body.length), body]).subarray(0, MAX_UPLOAD_BYTES - 1000), 'x.wav'),
    );
    const asked = speech.fetch('/api/v1/transcribe', { method: 'POST', body: form, signal: leaving.signal });
    while ((await speech.spooled()).length === 0) await new Promise(setImmediate);
    leaving.abort();
    await assert.rejects(asked);
    while ((await speech.spooled()).length > 0) await new Promise(setImmediate);
  });

  it('is still up, with no child process too many', async () => {
    assert.equal((await speech.fetch('/healthz', { key: '' })).status, 200);
    await check({}, await testFile('speech/transfer-digits.wav'), { status: 200 });
    const children = treeOf(process.pid).length - 1;
    assert.ok(children <= 4, `${children} processes`);
  });
});
