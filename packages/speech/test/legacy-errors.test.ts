/** Every way the legacy dialect says no, in FastAPI's shapes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Code, problem } from '../src/core/codes.ts';
import { createLegacyClient, type LegacyClient } from './legacy-client.ts';
import { type Scripted, sayHello, startScripted } from './scripted-speech.ts';
import { startTestSpeech, type TestSpeech, testFile, USER_KEY } from './start-test-speech.ts';

let speech: TestSpeech;
let client: LegacyClient;
let wav: File;

before(async () => {
  speech = await startTestSpeech({
    settings: { 'server.max_upload_bytes': '150KiB', 'audio.max_duration': '2s', 'audio.ffmpeg_path': '' },
  });
  client = createLegacyClient(speech);
  wav = await testFile('speech/transfer-digits.wav');
});
after(async () => {
  await speech.emptied();
  await speech[Symbol.asyncDispose]();
});

const POSTS = ['/asr', '/asr_task', '/detect-language'];
const REQUIRED = { loc: ['body', 'audio_file'], msg: 'field required', type: 'value_error.missing' };
const BOOL = { msg: 'value could not be parsed to a boolean', type: 'type_error.bool' };
const INT = { msg: 'value is not a valid integer', type: 'type_error.integer' };
const notBelow = (limit: number) => ({
  msg: `ensure this value is greater than or equal to ${limit}`,
  type: 'value_error.number.not_ge',
  ctx: { limit_value: limit },
});

describe('parameters that cannot be read', () => {
  for (const path of POSTS) {
    it(`are a list when the recording of ${path} is missing`, async () => {
      const empty = await client.post(path, undefined, { output: 'srt' });
      assert.equal(empty.status, 422);
      assert.equal(empty.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.deepEqual(empty.detail(), [REQUIRED]);
      const nothing = await client.get(path, { method: 'POST' });
      assert.deepEqual([nothing.status, nothing.detail()], [422, [REQUIRED]]);
      const text = await client.post(path, undefined, { audio_file: 'not a file' });
      assert.deepEqual(text.detail(), [
        { loc: ['body', 'audio_file'], msg: "Expected UploadFile, received: <class 'str'>", type: 'value_error' },
      ]);
    });
  }

  const ROWS: readonly [string, Record<string, string>, readonly object[]][] = [
    ['?encode=maybe', {}, [{ loc: ['query', 'encode'], ...BOOL }]],
    ['', { encode: '2' }, [{ loc: ['body', 'encode'], ...BOOL }]],
    ['?encode=maybe', { encode: 'true' }, [{ loc: ['query', 'encode'], ...BOOL }]],
    ['?word_timestamps=ja', {}, [{ loc: ['query', 'word_timestamps'], ...BOOL }]],
    ['?vad_filter=x', {}, [{ loc: ['query', 'vad_filter'], ...BOOL }]],
    ['?diarize=x', {}, [{ loc: ['query', 'diarize'], ...BOOL }]],
    ['?enable_diarization=x', {}, [{ loc: ['query', 'enable_diarization'], ...BOOL }]],
    ['?min_speakers=two', {}, [{ loc: ['query', 'min_speakers'], ...INT }]],
    ['?min_speakers=1.5', {}, [{ loc: ['query', 'min_speakers'], ...INT }]],
    ['?min_speakers=-1', {}, [{ loc: ['query', 'min_speakers'], ...notBelow(0) }]],
    ['?min_speakers=4', { max_speakers: '3' }, [{ loc: ['body', 'max_speakers'], ...notBelow(4) }]],
    ['?language=%3F', {}, [{ loc: ['query', 'language'], msg: 'value is not a language code', type: 'value_error' }]],
    [
      '?task=sing',
      {},
      [
        {
          loc: ['query', 'task'],
          msg: "unexpected value; permitted: 'transcribe', 'translate'",
          type: 'value_error.const',
          ctx: { given: 'sing', permitted: ['transcribe', 'translate'] },
        },
      ],
    ],
    [
      '?encode=0.5',
      { max_speakers: 'x' },
      [
        { loc: ['query', 'encode'], ...BOOL },
        { loc: ['body', 'max_speakers'], ...INT },
      ],
    ],
  ];
  for (const [query, fields, detail] of ROWS) {
    it(`are named: ${query} ${JSON.stringify(fields)}`, async () => {
      for (const path of ['/asr', '/asr_task']) {
        const answer = await client.post(`${path}${query}`, wav, fields);
        assert.deepEqual([answer.status, answer.detail()], [422, detail]);
      }
    });
  }

  it('come all at once, the query before the form', async () => {
    const answer = await client.post('/asr?encode=x', undefined, { diarize: 'x' });
    assert.deepEqual(
      answer.detail().map(({ loc }: { loc: string[] }) => loc.join('.')),
      ['query.encode', 'body.audio_file', 'body.diarize'],
    );
    const detect = await client.post('/detect-language?encode=x', wav);
    assert.deepEqual([detect.status, detect.detail()], [422, [{ loc: ['query', 'encode'], ...BOOL }]]);
  });
});

describe('task=translate', () => {
  it('is refused before anything is decoded, wherever it stands', async () => {
    const rubbish = new File(['no sound at all'], 'x.wav');
    for (const path of ['/asr', '/asr_task']) {
      for (const answer of [
        await client.post(`${path}?task=translate&encode=maybe`, rubbish),
        await client.post(`${path}?task=transcribe&task=translate`, rubbish),
        await client.post(path, rubbish, { task: 'translate' }),
        await client.post(path, undefined, { task: 'translate' }),
      ]) {
        assert.equal(answer.status, 501);
        const { message, ...rest } = answer.detail();
        assert.match(message, /transcribes only/);
        assert.deepEqual(rest, { code: 'not_implemented', param: 'task' });
        assert.equal(answer.headers.get('x-should-retry'), 'false');
      }
    }
    const overruled = await client.post('/asr?task=transcribe', wav.slice(0, 40_000), { task: 'translate' });
    assert.equal(overruled.status, 200);
  });
});

describe('recordings and requests', () => {
  const big = new File([new Uint8Array(200_000)], 'big.raw');
  const long = new File([new Uint8Array(16_000 * 2 * 3)], 'long.raw');
  const form = (body: string, type = 'multipart/form-data; boundary=b') => ({
    method: 'POST',
    body,
    headers: { 'content-type': type },
  });

  const ROWS: readonly [string, () => Promise<unknown>, number, string, string?][] = [
    ['an empty recording', () => client.post('/asr', new File([], 'x.wav')), 400, 'invalid_request', 'audio_file'],
    [
      'a broken recording',
      () => client.post('/asr', new File(['RIFF\0\0\0\0WAVEfmt '], 'x')),
      400,
      'invalid_audio',
      'audio_file',
    ],
    [
      'one byte of samples',
      () => client.post('/asr?encode=false', new File(['x'], 'x')),
      400,
      'invalid_audio',
      'audio_file',
    ],
    [
      'an unknown format',
      () => client.post('/asr', new File(['what is this'], 'x')),
      415,
      'unsupported_media_type',
      'audio_file',
    ],
    ['too many bytes', () => client.post('/asr', big), 413, 'file_too_large', 'audio_file'],
    ['too many seconds', () => client.post('/asr?encode=false', long), 413, 'duration_exceeded', 'audio_file'],
    ['an unknown model', () => client.post('/asr?model=nope', wav), 404, 'model_not_found', 'model'],
    ['no form', () => client.get('/asr', form('{}', 'application/json')), 415, 'unsupported_media_type'],
    ['a broken form', () => client.get('/asr', form('--b\r\nrubbish')), 400, 'invalid_request'],
    [
      'a broken switch',
      () => client.post('/asr', wav, {}, { headers: { 'x-service-strict': 'so so' } }),
      400,
      'invalid_request',
      'X-Service-Strict',
    ],
    [
      'another language when strict',
      () => client.post('/asr?language=ru', wav, {}, { headers: { 'x-service-strict': '1' } }),
      422,
      'capability_unavailable',
      'language',
    ],
    [
      'no speakers when strict',
      () => client.post('/asr_task?diarize=1', wav, {}, { headers: { 'x-service-strict': '1' } }),
      422,
      'capability_unavailable',
      'diarize',
    ],
    [
      'a broken recording to detect',
      () => client.post('/detect-language', new File(['RIFF\0\0\0\0WAVEfmt '], 'x')),
      400,
      'invalid_audio',
      'audio_file',
    ],
    [
      'an empty recording to detect',
      () => client.post('/detect-language', new File([], 'x')),
      400,
      'invalid_request',
      'audio_file',
    ],
    [
      'an unknown format to detect',
      () => client.post('/detect-language', new File(['what is this'], 'x')),
      415,
      'unsupported_media_type',
      'audio_file',
    ],
    ['too many bytes to detect', () => client.post('/detect-language', big), 413, 'file_too_large', 'audio_file'],
    [
      'an unknown model to detect',
      () => client.post('/detect-language?model=nope', wav),
      404,
      'model_not_found',
      'model',
    ],
    ['an unknown task', () => client.get('/asr_task/job_0123~srt'), 404, 'job_not_found'],
    ['an unknown model of a task', () => client.post('/asr_task?model=nope', wav), 404, 'model_not_found', 'model'],
    ['an empty task', () => client.post('/asr_task', new File([], 'x.wav')), 400, 'invalid_request', 'audio_file'],
    ['no key', () => client.post('/asr', wav, {}, { key: '' }), 401, 'unauthorized'],
  ];
  for (const [what, ask, status, code, param] of ROWS) {
    it(`${what}: ${status} ${code}`, async () => {
      const answer = (await ask()) as Awaited<ReturnType<LegacyClient['get']>>;
      assert.equal(answer.status, status, answer.text);
      const { message, ...rest } = answer.detail();
      assert.ok(typeof message === 'string' && message.length > 5);
      assert.deepEqual(rest, param === undefined ? { code } : { code, param });
    });
  }

  it('a task of nobody says so in the words of the web service', async () => {
    for (const path of ['/asr_task/job_x~srt', '/asr_task/~', '/asr_task/%7E%7E', '/asr_task/x'])
      assert.deepEqual((await client.get(path)).detail(), { message: 'task not found', code: 'job_not_found' });
  });

  it('unknown addresses and methods are plain sentences', async () => {
    const unknown = await client.get('/asr_tasks');
    assert.deepEqual([unknown.status, unknown.detail()], [404, 'Not Found']);
    const method = await client.get('/asr');
    assert.deepEqual([method.status, method.detail()], [405, 'Method Not Allowed']);
    assert.equal(method.headers.get('allow'), 'POST');
  });

  it('the list of 401 asks for a bearer key', async () => {
    const answer = await client.post('/asr', wav, {}, { key: `${USER_KEY}x` });
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer realm="parley"$/);
  });
});

describe('faults of the house', () => {
  let scripted: Scripted;
  before(async () => {
    scripted = await startScripted();
  });
  after(() => scripted[Symbol.asyncDispose]());

  const FAULTS: readonly [Code, number, boolean][] = [
    ['queue_full', 429, true],
    ['inference_failed', 500, false],
    ['model_unavailable', 503, true],
    ['storage_unavailable', 503, true],
    ['processing_timeout', 504, false],
  ];
  for (const [code, status, retries] of FAULTS) {
    it(`${code} is ${status}${retries ? ' with a time to come back' : ''}`, async () => {
      scripted.stage.script = () => {
        throw problem(code, 'no');
      };
      const answer = await createLegacyClient({ fetch: scripted.call }).post('/asr', new File(['x'], 'x'));
      assert.deepEqual([answer.status, answer.detail()], [status, { message: 'no', code }]);
      assert.equal(/^\d+$/.test(answer.headers.get('retry-after') ?? ''), retries);
      assert.deepEqual(await scripted.spooled(), []);
      scripted.stage.script = sayHello;
    });
  }
});
