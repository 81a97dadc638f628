import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { problem } from '../src/core/codes.ts';
import { languageNameOf } from '../src/dialects/language.ts';
import { type Scripted, SEGMENTS, sayHello, startScripted, transcriptOf } from './scripted-speech.ts';

let service: Scripted;
before(async () => {
  service = await startScripted();
});
after(() => service[Symbol.asyncDispose]());
beforeEach(() => {
  service.stage.script = sayHello;
});

const PATH = '/v1/audio/transcriptions';
// biome-ignore lint/suspicious/noExplicitAny: bodies are what the test looks into.
type Json = any;
const json = async (response: Response): Promise<Json> => response.json();
const codesOf = (response: Response): string[] =>
  (response.headers.get('x-service-warnings') ?? '').split(',').filter(Boolean);

describe('POST /v1/audio/transcriptions', () => {
  it('answers json with text, usage and languages, and no warnings when there are none', async () => {
    const response = await service.post(PATH);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.deepEqual(await json(response), {
      text: 'hello world good bye',
      usage: { type: 'duration', seconds: 3.25 },
      languages: [{ code: 'en' }],
    });
  });

  it('answers text, srt and vtt as such', async () => {
    const text = await service.post(PATH, { response_format: 'text' });
    assert.equal(text.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(await text.text(), 'hello world good bye\n');
    const srt = await service.post(PATH, { response_format: 'srt' });
    assert.equal(srt.headers.get('content-type'), 'application/x-subrip; charset=utf-8');
    assert.match(await srt.text(), /^1\n00:00:00,500 --> 00:00:01,750\nhello world\n\n2\n/);
    const vtt = await service.post(PATH, { response_format: 'vtt' });
    assert.equal(vtt.headers.get('content-type'), 'text/vtt; charset=utf-8');
    assert.match(await vtt.text(), /^WEBVTT\n\n00:00:00\.500 --> /);
  });

  it('answers verbose_json with the ten keys of every segment', async () => {
    const body = await json(await service.post(PATH, { response_format: 'verbose_json' }));
    assert.equal(body.task, 'transcribe');
    assert.equal(body.language, 'english');
    assert.equal(body.language_code, 'en');
    assert.equal(body.duration, 3.25);
    assert.deepEqual(body.usage, { type: 'duration', seconds: 3.25 });
    assert.ok(!('words' in body) && !('warnings' in body));
    assert.deepEqual(body.segments[0], {
      id: 0,
      seek: 50,
      start: 0.5,
      end: 1.75,
      text: ' hello world',
      tokens: [7, 8],
      temperature: 0,
      avg_logprob: Math.round(Math.log(0.5) * 1000) / 1000,
      compression_ratio: body.segments[0].compression_ratio,
      no_speech_prob: 0.125,
      channel: 0,
    });
    assert.ok(body.segments[0].compression_ratio > 0.4 && body.segments[0].compression_ratio < 1);
    assert.deepEqual(
      [body.segments[1].tokens, body.segments[1].avg_logprob, body.segments[1].no_speech_prob],
      [[], 0, 0],
    );
    assert.equal(
      body.segments
        .map(({ text }: Json) => text)
        .join('')
        .trim(),
      body.text,
    );
  });

  const G = 'timestamp_granularities';
  const SPELLINGS: readonly [Record<string, string | readonly string[]>, boolean, boolean][] = [
    [{}, true, false],
    [{ [`${G}[]`]: 'segment' }, true, false],
    [{ [`${G}[]`]: 'word' }, false, true],
    [{ [G]: 'word' }, false, true],
    [{ [`${G}[]`]: ['word', 'segment'] }, true, true],
    [{ [G]: ['segment', 'word'] }, true, true],
    [{ [G]: 'word,segment' }, true, true],
    [{ [G]: '["word"]' }, false, true],
    [{ [`${G}[]`]: '["word", "segment"]' }, true, true],
  ];
  for (const [fields, segments, words] of SPELLINGS) {
    it(`gives ${segments ? 'segments' : ''} ${words ? 'words' : ''} for ${JSON.stringify(fields)}`, async () => {
      const response = await service.post(PATH, { response_format: 'verbose_json', ...fields });
      const body = await json(response);
      assert.deepEqual(['segments' in body, 'words' in body], [segments, words]);
      assert.deepEqual(codesOf(response), []);
      assert.equal(service.lastRequest().wordTimestamps, words ? true : undefined);
      if (words) assert.deepEqual(body.words[0], { word: 'hello', start: 0.5, end: 1, confidence: 0.25 });
    });
  }

  it('gives segments whatever was asked when there are no words', async () => {
    service.stage.script = () =>
      transcriptOf(
        SEGMENTS.map(({ words: _words, ...segment }) => segment),
        { warnings: [{ code: 'word_timestamps_unavailable', message: 'none' }] },
      );
    const response = await service.post(PATH, { response_format: 'verbose_json', [`${G}[]`]: 'word' });
    const body = await json(response);
    assert.deepEqual([body.segments.length, 'words' in body], [2, false]);
    assert.deepEqual(codesOf(response), ['word_timestamps_unavailable']);
    assert.equal(body.warnings[0].code, 'word_timestamps_unavailable');
  });

  it('warns of granularities without verbose_json and refuses values it does not know', async () => {
    const response = await service.post(PATH, { [`${G}[]`]: 'word' });
    assert.deepEqual(codesOf(response), ['timestamp_granularities_ignored']);
    assert.equal((await json(response)).warnings[0].param, 'timestamp_granularities[]');
    const bad = await service.post(PATH, { response_format: 'verbose_json', [G]: 'sentence' });
    assert.equal((await json(bad)).error.param, 'timestamp_granularities[]');
  });

  it('passes strictness on, and writes the refusal as an OpenAI error', async () => {
    service.stage.script = ({ request }) => {
      assert.equal(request.strict, true);
      throw problem('capability_unavailable', 'no words', { param: 'word_timestamps' });
    };
    const response = await service.post(PATH, {}, { headers: { 'X-Service-Strict': 'yes' } });
    assert.equal(response.status, 422);
    assert.deepEqual(await json(response), {
      error: {
        message: 'no words',
        type: 'invalid_request_error',
        param: 'word_timestamps',
        code: 'capability_unavailable',
      },
    });
  });

  it('reads prompt, keywords and hotwords as words to favour, and only prompt with a warning', async () => {
    const response = await service.post(PATH, {
      prompt: 'Parley, Debian',
      'keywords[]': ['Node', 'Fastify'],
      hotwords: 'a,b',
    });
    assert.deepEqual(codesOf(response), ['prompt_mapped_to_hotwords']);
    assert.deepEqual(
      service.lastRequest().hotwords.map(({ phrase }) => phrase),
      ['Node', 'Fastify', 'a', 'b', 'Parley', 'Debian'],
    );
    assert.deepEqual(codesOf(await service.post(PATH, { keywords: 'x', prompt: '' })), []);
  });

  it('takes temperature for what it is worth', async () => {
    for (const value of ['0', '0.2', '1', '1e-1']) {
      assert.deepEqual(codesOf(await service.post(PATH, { temperature: value })), ['temperature_ignored']);
    }
    for (const value of ['warm', '1.5', '-0.1']) {
      const response = await service.post(PATH, { temperature: value });
      assert.equal(response.status, 400);
      assert.equal((await json(response)).error.param, 'temperature');
    }
  });

  it('ignores fields it does not know, and warns of those it knows but cannot honour', async () => {
    assert.deepEqual(codesOf(await service.post(PATH, { colour: 'red', 'extra[x]': '1' })), []);
    assert.deepEqual(codesOf(await service.post(PATH, { chunking_strategy: 'auto' })), []);
    assert.deepEqual(
      codesOf(
        await service.post(PATH, {
          'include[]': 'logprobs',
          response_format: 'verbose_json',
          'chunking_strategy[type]': 'server_vad',
          'chunking_strategy[prefix_padding_ms]': '300',
          'known_speaker_names[]': ['a', 'b'],
        }),
      ),
      ['logprobs_unavailable', 'chunking_strategy_applied_partially', 'known_speakers_ignored'],
    );
  });

  it('sets the detector by a chunking strategy, in both spellings', async () => {
    const spellings = [
      {
        'chunking_strategy[type]': 'server_vad',
        'chunking_strategy[threshold]': '0.25',
        'chunking_strategy[silence_duration_ms]': '500',
      },
      { chunking_strategy: '{"type":"server_vad","threshold":0.25,"silence_duration_ms":500}' },
    ];
    for (const fields of spellings) {
      assert.deepEqual(codesOf(await service.post(PATH, fields)), []);
      assert.deepEqual(service.lastRequest().voiceActivityTuning, { threshold: 0.25, minSilenceMs: 500 });
    }
  });

  const BAD: readonly [string, string][] = [
    ['response_format', 'xml'],
    ['stream', 'perhaps'],
    ['language', 'not a language'],
    ['languages[]', '***'],
    ['diarize', 'x'],
    ['chunking_strategy', 'none'],
    ['chunking_strategy', '{"type":"client_vad"}'],
    ['chunking_strategy', '{"threshold":2}'],
    ['chunking_strategy', '{'],
    ['num_speakers', '33'],
    ['model', 'm'.repeat(257)],
  ];
  for (const [name, value] of BAD) {
    it(`refuses ${name}=${value.slice(0, 20)} by name`, async () => {
      const response = await service.post(PATH, { [name]: value });
      assert.equal(response.status, 400);
      const { error } = await json(response);
      assert.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code']);
      assert.deepEqual([error.type, error.param, error.code], ['invalid_request_error', name, 'invalid_request']);
      assert.deepEqual(await service.spooled(), []);
    });
  }

  it('follows aliases with a warning, and leaves installed and unknown names alone', async () => {
    const alias = await service.post(PATH, { model: 'whisper-1' });
    assert.deepEqual(codesOf(alias), ['model_alias_applied']);
    assert.equal(service.lastRequest().model, undefined);
    await service.post(PATH, { model: 'gpt-4o-transcribe' });
    assert.equal(service.lastRequest().model, 'russian');
    assert.deepEqual(codesOf(await service.post(PATH, { model: 'english' })), []);
    const unknown = await service.post(PATH, { model: 'openai/whisper-large' });
    assert.equal(unknown.status, 404);
    const { error } = await json(unknown);
    assert.deepEqual([error.type, error.param, error.code], ['invalid_request_error', 'model', 'model_not_found']);
  });

  it('finds the language by tag, by English name and among several', async () => {
    const languageOf = async (fields: Record<string, string | readonly string[]>) => {
      const codes = codesOf(await service.post(PATH, fields));
      return [service.lastRequest().language, ...codes];
    };
    assert.deepEqual(await languageOf({ language: 'RU-ru' }), ['ru']);
    assert.deepEqual(await languageOf({ language: 'Russian' }), ['ru']);
    assert.deepEqual(await languageOf({ language: 'klingon' }), ['klingon']);
    assert.deepEqual(await languageOf({ 'languages[]': ['fr', 'ru', 'en'] }), ['ru']);
    assert.deepEqual(await languageOf({ languages: '["de","fr"]' }), [undefined, 'languages_ignored']);
    assert.deepEqual(await languageOf({ language: 'en', 'languages[]': 'ru' }), ['en', 'languages_ignored']);
  });
});

const readFrames = async (response: Response): Promise<{ event?: string; data: Json }[]> =>
  (await response.text())
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      return { ...(fields.event ? { event: fields.event } : {}), data: JSON.parse(fields.data ?? 'null') };
    });

describe('stream=true', () => {
  it('sends a delta for every segment and the whole at the end, without event lines', async () => {
    const response = await service.post(PATH, { stream: 'true', prompt: 'x' });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.deepEqual(codesOf(response), ['prompt_mapped_to_hotwords']);
    const frames = await readFrames(response);
    assert.deepEqual(frames.slice(0, 2), [
      { data: { type: 'transcript.text.delta', delta: 'hello world' } },
      { data: { type: 'transcript.text.delta', delta: ' good bye' } },
    ]);
    const done = frames[2]?.data;
    assert.equal(done.type, 'transcript.text.done');
    assert.equal(done.text, 'hello world good bye');
    assert.deepEqual(done.usage, { type: 'duration', seconds: 3.25 });
    assert.equal(done.warnings[0].code, 'prompt_mapped_to_hotwords');
    assert.equal(frames.length, 3);
    assert.deepEqual(await service.spooled(), []);
  });

  it('warns of a format it cannot stream', async () => {
    const response = await service.post(PATH, { stream: '1', response_format: 'srt' });
    assert.deepEqual(codesOf(response), ['response_format_ignored']);
    await response.text();
  });

  it('answers a fault before the first segment with its status, a later one as an event', async () => {
    service.stage.script = () => {
      throw problem('invalid_audio', 'It cannot be decoded.', { param: 'file' });
    };
    const early = await service.post(PATH, { stream: 'true' });
    assert.equal(early.status, 400);
    assert.equal((await json(early)).error.code, 'invalid_audio');
    service.stage.script = (_heard, { onSegment }) => {
      onSegment?.(SEGMENTS[0]!, 0);
      throw new TypeError('secret inner text');
    };
    const frames = await readFrames(await service.post(PATH, { stream: 'true' }));
    assert.equal(frames[1]?.event, 'error');
    assert.deepEqual(frames[1]?.data, {
      error: { message: 'Internal error.', type: 'server_error', param: null, code: 'internal' },
    });
  });

  it('stops the work when the reader goes away', async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    service.stage.script = (_heard, { onSegment, signal }) => {
      onSegment?.(SEGMENTS[0]!, 0);
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason);
          resolve();
        });
      });
    };
    const response = await service.post(PATH, { stream: 'true' });
    await response.body?.cancel();
    await aborted;
  });
});

describe('the rest of the compat dialect', () => {
  it('refuses translations after the key and without wanting the body', async () => {
    const path = '/v1/audio/translations';
    const anonymous = await service.call(path, { method: 'POST', key: '', body: new FormData() });
    assert.equal(anonymous.status, 401);
    assert.equal((await json(anonymous)).error.code, 'invalid_api_key');
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(900_000)]), 'a.wav');
    const refused = await service.call(path, { method: 'POST', body: form });
    assert.equal(refused.status, 501);
    assert.equal(refused.headers.get('x-should-retry'), 'false');
    assert.equal(refused.headers.get('connection'), 'close');
    const { error } = await json(refused);
    assert.deepEqual([error.type, error.code], ['invalid_request_error', 'not_implemented']);
    assert.equal((await service.call(path, { method: 'POST' })).status, 501);
  });

  it('refuses short-lived tokens', async () => {
    for (const name of ['sessions', 'transcription_sessions', 'client_secrets']) {
      const response = await service.call(`/v1/realtime/${name}`, {
        method: 'POST',
        body: '{}',
        headers: { 'Content-Type': 'application/json' },
      });
      assert.equal(response.status, 501);
      assert.equal((await json(response)).error.code, 'ephemeral_tokens_unsupported');
    }
  });

  it('lists only what works as model', async () => {
    const list = await json(await service.call('/v1/models'));
    assert.equal(list.object, 'list');
    assert.deepEqual(
      list.data.map(({ id }: Json) => id),
      ['english', 'russian'],
    );
    assert.deepEqual(
      [list.data[0].object, list.data[0].created, list.data[0].owned_by, list.data[0].state],
      ['model', 1_767_323_045, 'parley', 'installed'],
    );
    assert.ok(['languages', 'word_timestamps', 'license', 'capabilities'].every((member) => member in list.data[0]));
  });

  it('describes one model, by id, revision or alias', async () => {
    const idOf = async (name: string) => (await json(await service.call(`/v1/models/${name}`))).id;
    assert.equal(await idOf('russian'), 'russian');
    assert.equal(await idOf('russian%401'), 'russian');
    assert.equal(await idOf('whisper-1'), 'english');
    assert.equal(await idOf('gpt-4o-transcribe'), 'russian');
    for (const name of ['nothing', 'silero-vad', 'live', 'broken', 'russian@2', 'a%2Fb', 'constructor']) {
      const response = await service.call(`/v1/models/${name}`);
      assert.equal(response.status, 404, name);
      const { error } = await json(response);
      assert.deepEqual([error.param, error.code], ['model', 'model_not_found']);
    }
  });

  it('answers unknown addresses, bad keys, rates and rights in the shape of OpenAI', async () => {
    const unknown = await json(await service.call('/v1/nothing'));
    assert.deepEqual(unknown.error, {
      message: 'Invalid URL (GET /v1/nothing)',
      type: 'invalid_request_error',
      param: null,
      code: 'unknown_url',
    });
    const wrong = await service.call('/v1/models', { method: 'POST' });
    assert.equal(wrong.status, 405);
    const bad = await service.call('/v1/models', { key: 'sk-nope' });
    assert.equal((await json(bad)).error.type, 'invalid_request_error');
    await service.call('/v1/models', { key: service.keys.slow });
    const limited = await service.call('/v1/models', { key: service.keys.slow });
    const { error } = await json(limited);
    assert.deepEqual([limited.status, error.type, error.code], [429, 'rate_limit_error', 'rate_limit_exceeded']);
    const elsewhere = await service.call('/nothing');
    assert.deepEqual(await json(elsewhere), { detail: 'Not Found' });
  });
});

describe('languages', () => {
  it("have whisper's names", () => {
    const names = {
      en: 'english',
      'ru-RU': 'russian',
      my: 'myanmar',
      nn: 'nynorsk',
      tl: 'tagalog',
      bn: 'bengali',
      mi: 'maori',
      jw: 'javanese',
      yue: 'cantonese',
      ht: 'haitian creole',
      multi: 'multi',
      abcd: 'abcd',
    };
    for (const [tag, name] of Object.entries(names)) assert.equal(languageNameOf(tag), name);
  });
});
