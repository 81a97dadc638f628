/** `diarized_json` and token probabilities of the compat dialect, through the real service and the OpenAI SDK. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { startTestSpeech, type TestSpeech, testFile, USER_KEY } from './start-test-speech.ts';

type SpeakerSegment = { type: string; id: string; start: number; end: number; text: string; speaker: string };

describe('diarized_json', () => {
  let speech: TestSpeech;
  let client: OpenAI;
  before(async () => {
    speech = await startTestSpeech({ models: ['offline-transducer', 'offline-ctc', 'diarization'] });
    client = new OpenAI({ baseURL: `${speech.url}/v1`, apiKey: USER_KEY });
  });
  after(() => speech[Symbol.asyncDispose]());

  it('names speakers A and B in segments of their own', async () => {
    const file = await testFile('audio/two-voices.wav');
    const fields = { response_format: 'diarized_json', num_speakers: '2' };
    const response = await speech.post('/v1/audio/transcriptions', fields, file);
    assert.equal(response.status, 200);
    const body = (await response.json()) as { text: string; segments: SpeakerSegment[] };
    assert.deepEqual(Object.keys(body), ['task', 'duration', 'text', 'segments', 'usage']);
    assert.equal(body.segments.map(({ text }) => text).join(' '), body.text);
    assert.deepEqual([...new Set(body.segments.map(({ speaker }) => speaker))], ['A', 'B']);
    for (const [index, segment] of body.segments.entries()) {
      assert.deepEqual(Object.keys(segment), ['type', 'id', 'start', 'end', 'text', 'speaker']);
      assert.deepEqual([segment.type, segment.id], ['transcript.text.segment', `seg_00${index + 1}`]);
    }
  });

  it('is read by the SDK, whole and as a stream', async () => {
    const ask = {
      file: await testFile('audio/two-voices.wav'),
      model: 'gpt-4o-transcribe-diarize',
      response_format: 'diarized_json',
      chunking_strategy: 'auto',
    } as const;
    // The SDK's overloads do not name this format's answer.
    const whole = (await client.audio.transcriptions.create(ask)) as unknown as OpenAI.Audio.TranscriptionDiarized;
    assert.ok(whole.segments.length >= 4);
    const stream = await client.audio.transcriptions.create({
      ...ask,
      file: await testFile('audio/two-voices.wav'),
      stream: true,
    });
    const seen: string[] = [];
    let deltas = '';
    let text = '';
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') deltas += event.delta;
      if (event.type === 'transcript.text.segment') seen.push(event.speaker);
      if (event.type === 'transcript.text.done') text = event.text;
    }
    assert.deepEqual(
      seen,
      whole.segments.map(({ speaker }) => speaker),
    );
    assert.deepEqual([deltas, text], [whole.text, whole.text]);
  });

  it('has one speaker and a warning where nobody can be told apart', async () => {
    await using bare = await startTestSpeech({ models: ['offline-transducer'] });
    const file = await testFile('speech/hello-operator.wav');
    const response = await bare.post('/v1/audio/transcriptions', { response_format: 'diarized_json' }, file);
    const body = (await response.json()) as { segments: SpeakerSegment[]; warnings: { code: string }[] };
    assert.deepEqual(
      body.segments.map(({ speaker }) => speaker),
      ['A'],
    );
    assert.deepEqual(
      body.warnings.map(({ code }) => code),
      ['diarization_unavailable'],
    );
  });
});

describe('include[]=logprobs', () => {
  let speech: TestSpeech;
  before(async () => {
    speech = await startTestSpeech();
  });
  after(() => speech[Symbol.asyncDispose]());
  const ask = async (fields: Record<string, string>) => {
    const file = await testFile('speech/transfer-digits.wav');
    const response = await speech.post('/v1/audio/transcriptions', { 'include[]': 'logprobs', ...fields }, file);
    assert.equal(response.status, 200);
    return (await response.json()) as {
      text: string;
      logprobs?: { token: string; logprob: number; bytes: number[] }[];
      warnings?: { code: string }[];
    };
  };

  it('gives the tokens of the text with their probabilities', async () => {
    const { text, logprobs, warnings } = await ask({});
    assert.equal(
      logprobs!
        .map(({ token }) => token)
        .join('')
        .trim(),
      text,
    );
    assert.ok(logprobs!.every(({ token, logprob, bytes }) => logprob <= 0 && Buffer.from(bytes).toString() === token));
    assert.equal(warnings, undefined);
  });

  it('is a warning on a model without them and in formats without a place for them', async () => {
    for (const fields of [{ model: 'demo-ctc-en' }, { response_format: 'verbose_json' }]) {
      const { logprobs, warnings } = await ask(fields);
      assert.equal(logprobs, undefined);
      assert.deepEqual(
        warnings!.map(({ code }) => code),
        ['logprobs_unavailable'],
      );
    }
  });
});
