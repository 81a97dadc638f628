import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { problem } from '../src/core/codes.ts';
import { type Scripted, sayHello, startScripted, transcriptOf } from './scripted-speech.ts';

let service: Scripted;
before(async () => {
  service = await startScripted();
});
after(() => service[Symbol.asyncDispose]());
beforeEach(() => {
  service.stage.script = sayHello;
});

const PATH = '/api/v1/transcribe';
// biome-ignore lint/suspicious/noExplicitAny: bodies are what the test looks into.
type Json = any;
const json = async (response: Response): Promise<Json> => response.json();

describe('POST /api/v1/transcribe', () => {
  it('answers the result record with times and scores to three decimals and nothing unnamed', async () => {
    const response = await service.post(PATH);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(response.headers.get('x-service-warnings'), null);
    const body = await json(response);
    assert.deepEqual(Object.keys(body), [
      'id',
      'model',
      'language',
      'duration',
      'text',
      'timestamp_source',
      'segments',
      'silence',
      'stats',
      'warnings',
    ]);
    assert.deepEqual(body.warnings, []);
    assert.deepEqual(body.segments[0], {
      id: 0,
      start: 0.5,
      end: 1.75,
      text: 'hello world',
      channel: 0,
      speaker: null,
      avg_confidence: 0.5,
      words: [
        { word: 'hello', start: 0.5, end: 1, confidence: 0.25 },
        { word: 'world', start: 1.25, end: 1.75, confidence: 0.75 },
      ],
    });
    assert.equal(body.segments[1].end, 3);
    assert.deepEqual(await service.spooled(), [], 'the upload is gone');
  });

  it('asks for nothing that was not said', async () => {
    await service.post(PATH);
    assert.deepEqual(service.lastRequest(), {
      model: undefined,
      language: undefined,
      channelMode: undefined,
      diarize: false,
      numSpeakers: 0,
      punctuate: undefined,
      itn: undefined,
      hotwords: [],
      hotwordsScore: undefined,
      decodingMethod: undefined,
      maxActivePaths: undefined,
      wordTimestamps: undefined,
      voiceActivity: undefined,
      strict: false,
      warnings: [],
    });
    assert.equal(service.heard.at(-1)?.caller.name, 'user');
    assert.equal(service.heard.at(-1)?.upload.filename, 'sound.wav');
  });

  it('reads every field', async () => {
    await service.post(PATH, {
      model: 'english@1',
      language: 'en-GB',
      channel_mode: 'split',
      diarize: 'YES',
      num_speakers: '32',
      punctuate: '0',
      itn: 'on',
      hotwords: ['Parley, Debian ,', 'Debian'],
      'hotwords[]': 'a  b',
      hotwords_score: '1.75',
      decoding_method: 'modified_beam_search',
      max_active_paths: '8',
      word_timestamps: 'true',
      vad: 'off',
      strict: '1',
    });
    // The script refuses the revision, but has seen the request.
    assert.deepEqual(service.lastRequest(), {
      model: 'english@1',
      language: 'en',
      channelMode: 'split',
      diarize: true,
      numSpeakers: 32,
      punctuate: false,
      itn: true,
      hotwords: [{ phrase: 'Parley' }, { phrase: 'Debian' }, { phrase: 'a b' }],
      hotwordsScore: 1.75,
      decodingMethod: 'modified_beam_search',
      maxActivePaths: 8,
      wordTimestamps: true,
      voiceActivity: false,
      strict: true,
      warnings: [],
    });
  });

  it('takes empty values, auto and the last of several for what they are', async () => {
    await service.post(PATH, {
      model: '',
      language: 'auto',
      num_speakers: ' ',
      diarize: ['true', 'false'],
      webhook_url: '',
    });
    const { model, language, numSpeakers, diarize } = service.lastRequest();
    assert.deepEqual(
      { model, language, numSpeakers, diarize },
      {
        model: undefined,
        language: undefined,
        numSpeakers: 0,
        diarize: false,
      },
    );
  });

  const BAD: readonly [string, string][] = [
    ['model', '../etc/passwd'],
    ['model', `m${'x'.repeat(64)}`],
    ['language', 'not a language'],
    ['language', `en${'-abcdefgh'.repeat(4)}`],
    ['channel_mode', 'both'],
    ['diarize', 'maybe'],
    ['num_speakers', '33'],
    ['num_speakers', '-1'],
    ['num_speakers', '2.5'],
    ['punctuate', '2'],
    ['itn', 'ja'],
    ['hotwords_score', '10.1'],
    ['hotwords_score', 'NaN'],
    ['hotwords_score', '0x1'],
    ['decoding_method', 'beam'],
    ['max_active_paths', '0'],
    ['max_active_paths', '33'],
    ['word_timestamps', 'word'],
    ['vad', 'x'],
    ['strict', 'x'],
    ['response_format', 'verbose_json'],
    ['webhook_url', 'https://example.org/'],
  ];
  for (const [name, value] of BAD) {
    it(`refuses ${name}=${value.slice(0, 20)} by name`, async () => {
      const before = service.heard.length;
      const response = await service.post(PATH, { [name]: value });
      assert.equal(response.status, 400);
      assert.match(response.headers.get('content-type') ?? '', /^application\/problem\+json\b/);
      const body = await json(response);
      assert.equal(body.code, 'invalid_request');
      assert.equal(body.param, name);
      assert.equal(body.type, '/docs#error-invalid_request');
      assert.equal(body.title, 'Bad Request');
      assert.equal(body.status, 400);
      assert.equal(body.instance, PATH);
      assert.equal(body.request_id, response.headers.get('x-request-id'));
      assert.equal(service.heard.length, before);
      assert.deepEqual(await service.spooled(), []);
    });
  }

  it('names all bad fields at once', async () => {
    const body = await json(await service.post(PATH, { itn: 'x', num_speakers: '99' }));
    assert.deepEqual(body.errors.map(({ param }: Json) => param).sort(), ['itn', 'num_speakers']);
  });

  it('warns of unknown fields, and refuses them when strict', async () => {
    const lenient = await service.post(PATH, { colour: 'red' });
    assert.equal(lenient.status, 200);
    assert.equal(lenient.headers.get('x-service-warnings'), 'unknown_parameter');
    assert.deepEqual((await json(lenient)).warnings, [
      { code: 'unknown_parameter', message: 'There is no field colour.', param: 'colour' },
    ]);
    for (const init of [{ headers: { 'X-Service-Strict': '1' } }, {}]) {
      const strict = await service.post(PATH, { colour: 'red', ...('headers' in init ? {} : { strict: 'on' }) }, init);
      assert.equal(strict.status, 400);
      assert.equal((await json(strict)).param, 'colour');
    }
    const odd = await service.post(PATH, {}, { headers: { 'X-Service-Strict': 'perhaps' } });
    assert.equal((await json(odd)).param, 'X-Service-Strict');
  });

  it('cuts ten thousand hotwords down to what it takes, and says so', async () => {
    const hotwords = Array.from({ length: 5000 }, (_, at) => `word${at}`).join(',');
    const response = await service.post(PATH, { hotwords: [hotwords, hotwords.replaceAll('word', 'term')] });
    assert.equal(response.headers.get('x-service-warnings'), 'hotwords_truncated');
    assert.equal(service.lastRequest().hotwords.length, 500);
    await service.post(PATH, { hotwords: `${'x'.repeat(101)},ok` });
    assert.deepEqual(service.lastRequest().hotwords, [{ phrase: 'ok' }]);
    await service.post(PATH, {
      hotwords: Array.from({ length: 400 }, (_, at) => `${at}`.padEnd(100, 'ж'))
        .join(',')
        .slice(0, 30_000),
    });
    const bytes = service.lastRequest().hotwords.reduce((sum, { phrase }) => sum + Buffer.byteLength(phrase), 0);
    assert.ok(bytes > 15_000 && bytes <= 16_384, `${bytes}`);
  });

  it('leaves words out when told to', async () => {
    const body = await json(await service.post(PATH, { word_timestamps: 'false' }));
    assert.ok(body.segments.every((segment: Json) => !('words' in segment)));
    assert.equal(service.lastRequest().wordTimestamps, false);
  });

  const FORMATS: readonly [string, string, RegExp][] = [
    ['text', 'text/plain; charset=utf-8', /^hello world good bye\n$/],
    ['srt', 'application/x-subrip; charset=utf-8', /^1\n00:00:00,500 --> 00:00:01,750\nhello world\n\n2\n/],
    ['vtt', 'text/vtt; charset=utf-8', /^WEBVTT\n\n00:00:00\.500 --> 00:00:01\.750\nhello world\n\n/],
    [
      'tsv',
      'text/tab-separated-values; charset=utf-8',
      /^start\tend\ttext\n500\t1750\thello world\n2000\t3000\tgood bye\n$/,
    ],
  ];
  for (const [format, type, expected] of FORMATS) {
    it(`renders ${format}, with warnings in the header`, async () => {
      const response = await service.post(PATH, { response_format: format, colour: 'red' });
      assert.equal(response.headers.get('content-type'), type);
      assert.equal(response.headers.get('x-service-warnings'), 'unknown_parameter');
      assert.match(await response.text(), expected);
    });
  }

  it('refuses what is no recording, and keeps nothing of it', async () => {
    const form = (build: (form: FormData) => void): FormData => {
      const made = new FormData();
      build(made);
      return made;
    };
    const sound = new Blob(['sound']);
    const cases: readonly [number, string, FormData | string, Record<string, string>?][] = [
      [400, 'file', form((made) => made.append('model', 'english'))],
      [400, 'file', form((made) => made.append('file', 'no file at all'))],
      [400, 'file', form((made) => made.append('file', new Blob([]), 'empty.wav'))],
      [400, '', form((made) => ['a', 'b'].forEach((name) => void made.append('file', sound, name)))],
      [413, '', form((made) => made.append('file', new Blob([new Uint8Array(1_000_001)]), 'big'))],
      [415, '', '{}', { 'Content-Type': 'application/json' }],
      [415, '', 'x', { 'Content-Type': 'text/plain' }],
      [
        400,
        '',
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nsou',
        { 'Content-Type': 'multipart/form-data; boundary=x' },
      ],
    ];
    for (const [status, param, body, headers] of cases) {
      const response = await service.call(PATH, { method: 'POST', body, ...(headers ? { headers } : {}) });
      const answer = await json(response);
      assert.equal(response.status, status, JSON.stringify(answer));
      if (param) assert.equal(answer.param, param);
    }
    assert.deepEqual(await service.spooled(), []);
  });

  it('passes problems of the service on and removes the upload', async () => {
    service.stage.script = () => {
      throw problem('queue_full', 'Too much is waiting.', { retryAfterSec: 7.2 });
    };
    const full = await service.post(PATH);
    assert.equal(full.status, 429);
    assert.equal(full.headers.get('retry-after'), '8');
    service.stage.script = () => {
      throw problem('capability_unavailable', 'no words', { param: 'word_timestamps' });
    };
    assert.equal((await json(await service.post(PATH))).code, 'capability_unavailable');
    service.stage.script = () => {
      throw new TypeError('secret inner text');
    };
    const broken = await service.post(PATH);
    assert.equal(broken.status, 500);
    assert.ok(!(await broken.text()).includes('secret'));
    assert.deepEqual(await service.spooled(), []);
  });

  it('stops when the client goes away', async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    service.stage.script = (_heard, { signal }) => {
      start();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          resolve();
          reject(signal.reason);
        });
      });
    };
    const body = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nsound\r\n--x--\r\n';
    const request = httpRequest(`${service.url}${PATH}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.keys.user}`, 'Content-Type': 'multipart/form-data; boundary=x' },
    });
    request.on('error', () => undefined);
    request.end(body);
    await started;
    request.destroy();
    await aborted;
  });

  it('says that nobody spoke without failing', async () => {
    service.stage.script = () =>
      transcriptOf([], { text: '', warnings: [{ code: 'no_speech_detected', message: 'Nobody speaks.' }] });
    const response = await service.post(PATH);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-service-warnings'), 'no_speech_detected');
    assert.equal((await json(response)).text, '');
  });
});

describe('keys', () => {
  it('are asked for before the body is read, and answered in the dialect of the path', async () => {
    const missing = await service.post(PATH, {}, { headers: {} });
    assert.equal(missing.status, 200);
    for (const key of ['', 'sk-parley-wrong']) {
      const response = await service.call(PATH, { key, method: 'POST', body: new FormData() });
      assert.equal(response.status, 401);
      assert.equal(response.headers.get('www-authenticate'), 'Bearer realm="parley"');
      assert.equal((await json(response)).code, 'unauthorized');
    }
    const config = await service.call('/api/v1/config');
    assert.equal(config.status, 403);
    assert.equal((await json(config)).code, 'forbidden');
    assert.equal((await service.call('/api/v1/config', { key: service.keys.admin })).status, 200);
  });

  it('have a rate', async () => {
    assert.equal((await service.call('/api/v1/models', { key: service.keys.slow })).status, 200);
    const limited = await service.call('/api/v1/models', { key: service.keys.slow });
    assert.equal(limited.status, 429);
    assert.ok(Number(limited.headers.get('retry-after')) >= 1);
    assert.equal((await json(limited)).code, 'rate_limited');
  });
});

describe('the rest of the native dialect', () => {
  it('lists models and catalog', async () => {
    const models = await json(await service.call('/api/v1/models'));
    assert.deepEqual(
      models.data.map(({ id }: Json) => id),
      ['english', 'russian', 'silero-vad', 'live', 'broken'],
    );
    assert.deepEqual(await json(await service.call('/api/v1/catalog')), { data: [] });
  });

  it('answers unknown addresses and wrong methods as problems', async () => {
    const unknown = await service.call('/api/v1/nothing');
    assert.equal(unknown.status, 404);
    assert.equal((await json(unknown)).code, 'not_found');
    const wrong = await service.call(PATH);
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get('allow'), 'POST');
    assert.equal((await json(wrong)).code, 'method_not_allowed');
  });
});
