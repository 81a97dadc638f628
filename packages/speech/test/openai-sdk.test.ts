/** The openai npm SDK, unchanged, against the real service: what its users see. */
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { readTestdata, startTestSpeech, type TestSpeech, testdataPath, USER_KEY } from './start-test-speech.ts';

const RECORDING = 'speech/hello-operator.wav';

let service: TestSpeech;
let client: OpenAI;
let text: string;

const clientOf = (baseURL: string, apiKey = USER_KEY, more: { defaultHeaders?: Record<string, string> } = {}): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${baseURL}/v1`, ...more });

const recording = () => createReadStream(testdataPath(RECORDING));

before(async () => {
  service = await startTestSpeech();
  client = clientOf(service.url);
  text = (await client.audio.transcriptions.create({ file: recording(), model: 'whisper-1' })).text;
});
after(() => service[Symbol.asyncDispose]());

describe('the openai SDK', () => {
  it('uploads a read stream and gets words', () => {
    assert.match(text, /hello/i);
  });

  it('uploads a buffer', async () => {
    const file = await toFile(await readTestdata(RECORDING), 'a.wav');
    assert.equal((await client.audio.transcriptions.create({ file, model: 'whisper-1' })).text, text);
  });

  it('reads json with its usage', async () => {
    const answer = await client.audio.transcriptions.create({
      file: recording(),
      model: 'whisper-1',
      response_format: 'json',
    });
    assert.equal(answer.text, text);
    assert.equal(answer.usage?.type, 'duration');
    assert.ok(answer.usage.type === 'duration' && answer.usage.seconds > 0);
  });

  it('reads text, srt and vtt as strings', async () => {
    const read = (response_format: 'text' | 'srt' | 'vtt') =>
      client.audio.transcriptions.create({ file: recording(), model: 'whisper-1', response_format });
    assert.equal(await read('text'), `${text}\n`);
    assert.match(String(await read('srt')), /^1\n\d\d:\d\d:\d\d,\d{3} --> /);
    assert.match(String(await read('vtt')), /^WEBVTT\n\n\d\d:\d\d:\d\d\.\d{3} --> /);
  });

  it('reads verbose_json with segments, with words, and with both', async () => {
    const read = (timestamp_granularities?: ('word' | 'segment')[]) =>
      client.audio.transcriptions.create({
        file: recording(),
        model: 'whisper-1',
        response_format: 'verbose_json',
        ...(timestamp_granularities ? { timestamp_granularities } : {}),
      });
    const plain = await read();
    assert.equal(plain.language, 'english');
    assert.ok(plain.duration > 0);
    assert.ok(plain.segments?.length && plain.words === undefined);
    const words = await read(['word']);
    assert.ok(words.words?.length && words.segments === undefined);
    assert.equal(words.words.map(({ word }) => word).join(' '), text);
    for (const { start, end } of words.words) assert.ok(start < end && end <= words.duration);
    const both = await read(['word', 'segment']);
    assert.ok(both.words?.length && both.segments?.length);
  });

  it('streams', async () => {
    const stream = await client.audio.transcriptions.create({ file: recording(), model: 'whisper-1', stream: true });
    let deltas = '';
    let done: string | undefined;
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') deltas += event.delta;
      if (event.type === 'transcript.text.done') done = event.text;
    }
    assert.equal(done, text);
    assert.equal(deltas, text);
  });

  it('lists and retrieves models', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.ok(ids.length >= 2);
    for (const id of ids) assert.equal((await client.models.retrieve(id)).id, id);
    assert.ok(ids.includes((await client.models.retrieve('whisper-1')).id));
    await assert.rejects(client.models.retrieve('no-such-model'), OpenAI.NotFoundError);
  });

  it('sees a bad key as AuthenticationError with code invalid_api_key', async () => {
    const stranger = clientOf(service.url, 'sk-parley-nobody-knows-me');
    for (const run of [
      () => stranger.models.list(),
      () => stranger.audio.transcriptions.create({ file: recording(), model: 'whisper-1' }),
    ]) {
      await assert.rejects(
        async () => run(),
        (thrown) => {
          assert.ok(thrown instanceof OpenAI.AuthenticationError);
          assert.equal(thrown.code, 'invalid_api_key');
          assert.ok(thrown.requestID);
          return true;
        },
      );
    }
  });

  it('sees an unknown model as NotFoundError and a bad field as BadRequestError', async () => {
    await assert.rejects(
      client.audio.transcriptions.create({ file: recording(), model: 'no-such-model' }),
      (thrown) =>
        thrown instanceof OpenAI.NotFoundError && thrown.code === 'model_not_found' && thrown.param === 'model',
    );
    await assert.rejects(
      client.audio.transcriptions.create({ file: recording(), model: 'whisper-1', language: 'not a language' }),
      (thrown) => thrown instanceof OpenAI.BadRequestError && thrown.param === 'language',
    );
  });

  it('sees a strict refusal as UnprocessableEntityError', async () => {
    const strict = clientOf(service.url, USER_KEY, { defaultHeaders: { 'X-Service-Strict': '1' } });
    await assert.rejects(
      strict.audio.transcriptions.create({ file: recording(), model: 'whisper-1', language: 'fi' }),
      (thrown) => thrown instanceof OpenAI.UnprocessableEntityError && thrown.code === 'capability_unavailable',
    );
  });

  it('is told once that translation is not there, and does not try again', async () => {
    let requests = 0;
    const counting = new OpenAI({
      apiKey: USER_KEY,
      baseURL: `${service.url}/v1`,
      fetch: (input, init) => {
        requests += 1;
        return fetch(input, init);
      },
    });
    await assert.rejects(
      counting.audio.translations.create({ file: recording(), model: 'whisper-1' }),
      (thrown) => thrown instanceof OpenAI.APIError && thrown.status === 501 && thrown.code === 'not_implemented',
    );
    assert.equal(requests, 1);
  });
});
