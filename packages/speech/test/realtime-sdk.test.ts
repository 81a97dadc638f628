/** The openai npm SDK's realtime client, unchanged, over TLS with a certificate made here. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSelfSigned } from '@parley/kit/testing/self-signed.ts';
import { within } from '@parley/kit/testing/wait.ts';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { connect, pcmAt, say } from './realtime-client.ts';
import { startTestSpeech, type TestSpeech, USER_KEY } from './start-test-speech.ts';

const SDK_RATE = 24_000;
const PIECE_BYTES = 4800;

const { key, cert } = createSelfSigned();
let dir: string;
let service: TestSpeech;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'parley-tls-'));
  await writeFile(join(dir, 'key.pem'), key);
  await writeFile(join(dir, 'cert.pem'), cert);
  service = await startTestSpeech({
    models: ['offline-transducer', 'online-transducer'],
    settings: { 'server.tls.key': join(dir, 'key.pem'), 'server.tls.cert': join(dir, 'cert.pem') },
  });
});
after(async () => {
  await service[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const open = (props: { intent: 'transcription' } | { model: string }, apiKey = USER_KEY): OpenAIRealtimeWS => {
  const baseURL = `${service.url.replace('127.0.0.1', 'localhost')}/v1`;
  return new OpenAIRealtimeWS({ ...props, options: { ca: cert } }, new OpenAI({ apiKey, baseURL }));
};

/** Speaks a recording into a session of the SDK and gives what its typed events say. */
const complete = async (client: OpenAIRealtimeWS, session: Record<string, unknown>) => {
  const done = Promise.withResolvers<{ transcript: string; seconds: number }>();
  let deltas = '';
  let created = 0;
  client.on('error', done.reject);
  client.on('session.created', () => {
    created += 1;
    client.send({ type: 'session.update', session: { type: 'transcription', ...session } });
  });
  client.on('session.updated', async () => {
    const bytes = pcmAt(await say('cancel-payment'), SDK_RATE);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      client.send({
        type: 'input_audio_buffer.append',
        audio: bytes.subarray(at, at + PIECE_BYTES).toString('base64'),
      });
    if (JSON.stringify(session).includes('"turn_detection":null')) client.send({ type: 'input_audio_buffer.commit' });
  });
  client.on('conversation.item.input_audio_transcription.delta', ({ delta }) => {
    deltas += delta;
  });
  client.on('conversation.item.input_audio_transcription.completed', ({ transcript, usage }) =>
    done.resolve({ transcript, seconds: usage.type === 'duration' ? usage.seconds : 0 }),
  );
  const { transcript, seconds } = await within(done.promise, 'the transcript');
  const closed = new Promise((resolve) => client.socket.once('close', resolve));
  client.close();
  await within(closed, 'the end');
  assert.equal(created, 1);
  return { transcript, seconds, deltas };
};

describe('the openai SDK', () => {
  it('completes a session opened by intent, turns found by the service', async () => {
    const { transcript, seconds, deltas } = await complete(open({ intent: 'transcription' }), {
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: SDK_RATE },
          transcription: { model: 'gpt-4o-transcribe', language: 'en' },
          turn_detection: { type: 'server_vad', threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: 500 },
        },
      },
    });
    assert.equal(transcript, 'cancel payment goodbye');
    assert.equal(deltas, transcript);
    assert.ok(seconds > 1 && seconds < 10);
  });

  it('completes a session opened by model, with commits of its own', async () => {
    for (const model of ['demo-streaming-en', 'demo-transducer-en']) {
      const { transcript } = await complete(open({ model }), { audio: { input: { turn_detection: null } } });
      assert.equal(transcript, 'cancel payment goodbye');
    }
  });

  it('reports events that are refused, and goes on', async () => {
    const client = open({ intent: 'transcription' });
    const refused = Promise.withResolvers<string>();
    client.on('error', (error) => refused.resolve(`${error.error?.code} ${error.error?.event_id}`));
    client.on('session.created', () => client.send({ type: 'response.create', event_id: 'r1' }));
    assert.equal(await within(refused.promise, 'the error'), 'unsupported_event r1');
    const closed = new Promise((resolve) => client.socket.once('close', resolve));
    client.close();
    await within(closed, 'the end');
  });

  it('shares the port with ordinary requests and raw sockets', async () => {
    await using raw = await connect(service.url.replace('127.0.0.1', 'localhost'), { client: { ca: cert } });
    await raw.next('session.created');
  });
});
