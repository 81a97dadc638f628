/** The legacy dialect on the real service: clients of the Whisper ASR web service as they are found in the wild. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createLegacyClient, type LegacyClient } from './legacy-client.ts';
import {
  readTestdata,
  startTestSpeech,
  type TestSpeech,
  testdataPath,
  testFile,
  USER_KEY,
} from './start-test-speech.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies are what the test looks into.
type Json = any;

const SAYS = 'transfer three five seven nine';
let speech: TestSpeech;
let client: LegacyClient;
let wav: File;
/** The samples of `wav` without its header, as ffmpeg makes them for Bazarr. */
let samples: Buffer;

before(async () => {
  speech = await startTestSpeech();
  client = createLegacyClient(speech);
  wav = await testFile('speech/transfer-digits.wav');
  const bytes = await readTestdata('speech/transfer-digits.wav');
  samples = bytes.subarray(bytes.indexOf('data') + 8);
});
after(() => speech[Symbol.asyncDispose]());

describe('POST /asr', () => {
  const BODIES: Readonly<Record<string, RegExp>> = {
    txt: new RegExp(`^${SAYS}\n$`),
    srt: new RegExp(`^1\n00:00:00,\\d{3} --> 00:00:02,\\d{3}\n${SAYS}\n\n$`),
    vtt: new RegExp(`^WEBVTT\n\n00:00\\.\\d{3} --> 00:02\\.\\d{3}\n${SAYS}\n\n$`),
    tsv: new RegExp(`^start\tend\ttext\n\\d{3}\t2\\d{3}\t${SAYS}\n$`),
    json: /^\{"text":"transfer three five seven nine","segments":\[\{"id":0,.*"language":"en"\}$/,
  };
  for (const [output, body] of Object.entries(BODIES)) {
    it(`answers ${output} as text/plain with the headers of the web service`, async () => {
      const answer = await client.post(`/asr?output=${output}`, wav);
      assert.equal(answer.status, 200);
      assert.match(answer.text, body);
      assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
      assert.equal(answer.headers.get('asr-engine'), 'parley');
      assert.equal(answer.headers.get('content-disposition'), `attachment; filename="transfer-digits.wav.${output}"`);
      assert.equal(answer.headers.get('x-service-warnings'), null);
    });
  }

  it('takes txt when nothing or `text` is asked, and for what it does not know, with a warning', async () => {
    const bare = await client.post('/asr', wav);
    assert.match(bare.text, BODIES.txt!);
    const text = await client.post('/asr?output=text', wav);
    assert.match(text.headers.get('content-disposition')!, /wav\.txt"$/);
    assert.deepEqual(text.warnings, []);
    const odd = await client.post(`/asr?output=${encodeURIComponent('do"c\r\nx: y')}`, wav);
    assert.match(odd.text, BODIES.txt!);
    assert.match(odd.headers.get('content-disposition')!, /wav\.docxy"$/);
    assert.deepEqual(odd.warnings, ['output_unknown_rendered_as_txt']);
  });

  it('quotes the name of the upload as Python does', async () => {
    const odd = await client.post('/asr', new File([wav], 'folder/Grüße (7).wav'));
    assert.equal(odd.headers.get('content-disposition'), 'attachment; filename="Gr%C3%BC%C3%9Fe%20%287%29.wav.txt"');
  });

  it('shows words in json when they are asked for, and only then', async () => {
    const plain: Json = JSON.parse((await client.post('/asr?output=json', wav)).text);
    assert.ok(!('words' in plain.segments[0]) && !('word_segments' in plain));
    const full: Json = JSON.parse((await client.post('/asr?output=json&word_timestamps=true', wav)).text);
    assert.deepEqual(Object.keys(full), ['text', 'segments', 'word_segments', 'language']);
    assert.equal(full.segments[0].text, ` ${SAYS}`);
    assert.deepEqual(
      full.word_segments.map(({ word }: Json) => word),
      SAYS.split(' '),
    );
    assert.deepEqual(full.segments[0].words, full.word_segments);
    const { probability, score, start, end } = full.word_segments[1];
    assert.ok(probability === score && probability > 0.5 && end > start);
  });

  it('takes parameters from query and form, the query first, empty ones as not sent', async () => {
    const form = await client.post('/asr', wav, { output: 'tsv' });
    assert.match(form.text, BODIES.tsv!);
    const both = await client.post('/asr?output=srt', wav, { output: 'tsv', task: 'transcribe' });
    assert.match(both.text, BODIES.srt!);
    const empty = await client.post('/asr?output=&language=&encode=&min_speakers=&task=', wav, { output: 'vtt' });
    assert.match(empty.text, BODIES.vtt!);
  });

  it('serves speakr, whatever else it sends', async () => {
    const query =
      'encode=true&task=transcribe&output=json&language=en&diarize=true&min_speakers=2&max_speakers=2' +
      '&enable_diarization=true&return_speaker_embeddings=true&hotwords_file=x';
    const answer = await client.post(`/asr?${query}`, wav);
    assert.equal(answer.status, 200);
    const body: Json = JSON.parse(answer.text);
    assert.equal(body.language, 'en');
    const [first] = body.segments;
    assert.equal(first.text.trim(), SAYS);
    assert.ok(first.end > first.start && first.words.length === 5);
    // Without a model for it nobody is told apart, and the answer says so.
    assert.ok(first.speaker?.startsWith('SPEAKER_') || answer.warnings.includes('diarization_unavailable'));
  });

  it('reads initial_prompt as hotwords, and says what vad_filter, ranges of speakers and languages come to', async () => {
    const prompt = await client.post('/asr?initial_prompt=Parley,%20menu', wav);
    assert.ok(prompt.warnings.includes('initial_prompt_mapped_to_hotwords'));
    assert.deepEqual((await client.post('/asr?vad_filter=true', wav)).warnings, ['vad_filter_ignored']);
    assert.deepEqual((await client.post('/asr?language=ru', wav)).warnings, ['language_mismatch']);
    assert.deepEqual((await client.post('/asr?language=English', wav)).warnings, []);
    assert.deepEqual((await client.post('/asr?language=en-GB', wav)).warnings, []);
    const range = await client.post('/asr?diarize=1&min_speakers=2&max_speakers=5', wav);
    assert.ok(range.warnings.includes('speaker_range_reduced'));
    const exact = await client.post('/asr?diarize=1&min_speakers=2&max_speakers=2', wav);
    assert.ok(!exact.warnings.includes('speaker_range_reduced'));
    assert.deepEqual((await client.post('/asr?diarize=0&min_speakers=2&max_speakers=5', wav)).warnings, []);
  });

  it('answers an empty file for silence', async () => {
    const silence = new File([new Uint8Array(64_000)], 'silence.raw');
    const srt = await client.post('/asr?encode=false&output=srt', silence);
    assert.equal(srt.text, '');
    assert.deepEqual(srt.warnings.toSorted(), ['no_speech_detected', 'raw_pcm_assumed']);
    assert.equal((await client.post('/asr?encode=no&output=vtt', silence)).text, 'WEBVTT\n\n');
    assert.equal((await client.post('/asr?encode=f&output=tsv', silence)).text, 'start\tend\ttext\n');
  });

  it('decodes what has a header although encode is off, and takes the rest as samples', async () => {
    const headed = await client.post('/asr?encode=false', wav);
    assert.deepEqual([headed.text, headed.warnings], [`${SAYS}\n`, []]);
    const bare = await client.post('/asr?encode=false', new File([new Uint8Array(samples)], 'audio_file'));
    assert.deepEqual([bare.text, bare.warnings], [`${SAYS}\n`, ['raw_pcm_assumed']]);
  });

  it('keeps nothing', async () => {
    await speech.emptied();
  });
});

/** A request as Bazarr makes it with Python's requests: credentials out of the endpoint's address, one part without a type. */
const bazarrPost = async (
  endpoint: string,
  path: string,
  audio: Buffer,
): Promise<{ status: number; body: Buffer; headers: IncomingMessage['headers'] }> => {
  const boundary = '0fd2a1d1f2f44a7ab0c4e7dbd5ea4d2d';
  const { username, password, hostname, port } = new URL(endpoint);
  const body = Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="audio_file"; filename="audio_file"\r\n\r\n`),
    audio,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const sent = httpRequest({
    hostname,
    port,
    path,
    method: 'POST',
    auth: `${username}:${password}`,
    headers: {
      'User-Agent': 'Subliminal/2.1',
      'Content-Type': `multipart/form-data; boundary=${boundary}`,
      'Content-Length': body.length,
    },
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode!, body: Buffer.concat(await response.toArray()), headers: response.headers };
};

describe('Bazarr', () => {
  const endpointOf = (user: string, password: string): string =>
    speech.url.replace('http://', `http://${user}:${password}@`);

  it('asks for the language, then for subtitles, with samples and a key in its endpoint', async () => {
    const endpoint = endpointOf('x', USER_KEY);
    const language = await bazarrPost(endpoint, '/detect-language?encode=false', samples);
    assert.equal(language.status, 200);
    assert.equal(language.headers['x-service-warnings'], 'raw_pcm_assumed');
    const detected: Json = JSON.parse(language.body.toString());
    assert.deepEqual(detected, { detected_language: 'english', language_code: 'en', confidence: 1 });
    const path = `/asr?task=transcribe&language=${detected.language_code}&output=srt&encode=false`;
    const subtitles = await bazarrPost(endpoint, path, samples);
    assert.equal(subtitles.status, 200);
    assert.match(
      subtitles.body.toString(),
      /^1\n00:00:00,\d{3} --> 00:00:02,\d{3}\ntransfer three five seven nine\n\n$/,
    );
    assert.equal(subtitles.headers['content-disposition'], 'attachment; filename="audio_file.srt"');
    assert.equal(subtitles.headers['x-service-warnings'], 'raw_pcm_assumed');
  });

  it('may give the key as the user, is refused with a bad one, and is told that nothing is translated', async () => {
    assert.equal((await bazarrPost(endpointOf(USER_KEY, ''), '/detect-language?encode=false', samples)).status, 200);
    const bad = await bazarrPost(endpointOf('x', 'sk-test-nobody-0123456789'), '/asr', samples);
    assert.equal(bad.status, 401);
    assert.equal(JSON.parse(bad.body.toString()).detail.code, 'unauthorized');
    const path = '/asr?task=translate&language=en&output=srt&encode=false';
    assert.equal((await bazarrPost(endpointOf('x', USER_KEY), path, samples)).status, 501);
  });
});

describe('basic auth', () => {
  const basic = `Basic ${Buffer.from(`x:${USER_KEY}`).toString('base64')}`;
  const statusOf = async (path: string, method: string, authorization: string, to = speech): Promise<number> => {
    const response = await to.fetch(path, { key: '', method, headers: { authorization } });
    await response.text();
    return response.status;
  };

  it('opens the legacy paths and no other', async () => {
    assert.equal(await statusOf('/asr', 'POST', basic), 422);
    assert.equal(await statusOf('/asr_task', 'POST', basic), 422);
    assert.equal(await statusOf('/asr_task/nothing', 'GET', basic), 404);
    assert.equal(await statusOf('/detect-language', 'POST', basic), 422);
    for (const path of ['/api/v1/models', '/v1/models', '/api/v1/jobs'])
      assert.equal(await statusOf(path, 'GET', basic), 401);
    for (const broken of ['Basic', 'Basic !!', 'Basic Og==', `Basic ${USER_KEY}`]) {
      assert.equal(await statusOf('/asr', 'POST', broken), 401, broken);
    }
  });

  it('can be switched off', async () => {
    await using strict = await startTestSpeech({ settings: { 'auth.legacy_basic': 'false' } });
    assert.equal(await statusOf('/asr', 'POST', basic, strict), 401);
    assert.equal(await statusOf('/asr', 'POST', `Bearer ${USER_KEY}`, strict), 422);
  });
});

describe('curl', () => {
  const curl = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)('curl', ['-sS', '--max-time', '60', ...args])).stdout;
  const file = `audio_file=@${testdataPath('speech/transfer-digits.wav')}`;
  const bearer = ['-H', `Authorization: Bearer ${USER_KEY}`];

  it('works as the web service’s own examples have it', async (t) => {
    try {
      await curl('--version');
    } catch {
      t.skip('curl is not installed');
      return;
    }
    const json: Json = JSON.parse(await curl(...bearer, '-F', file, `${speech.url}/asr?output=json`));
    assert.equal(json.text, SAYS);
    assert.equal(await curl('-u', `x:${USER_KEY}`, '-F', file, `${speech.url}/asr?output=text`), `${SAYS}\n`);
    assert.match(await curl(...bearer, '-F', file, '-F', 'output=srt', `${speech.url}/asr`), /^1\n00:00:00,/);
    const plain = ['-X', 'POST', '-H', 'content-type: multipart/form-data', '-F', `${file};type=audio/mpeg`];
    assert.match(await curl(...bearer, ...plain, `${speech.url}/detect-language`), /"language_code":"en"/);
  });
});
