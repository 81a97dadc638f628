/** Realtime sessions over a raw socket: every event, both name sets, formats, turns and commits, with the real engines. */
import assert from 'node:assert/strict';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type Client,
  COMPLETED,
  type ConnectOptions,
  connect,
  DELTA,
  type Event,
  joined,
  pcmAt,
  RATE,
  samplesOf,
  say,
  sendBase64,
  sendBinary,
  toAlaw,
  toUlaw,
} from './realtime-client.ts';
import { startTestSpeech, type TestSpeech, USER_KEY } from './start-test-speech.ts';

const DIGITS = 'transfer three five seven nine';
const STREAMING = 'demo-streaming-en';
const OFFLINE = 'demo-transducer-en';

let service: TestSpeech;
let digits: Int16Array;

before(async () => {
  service = await startTestSpeech({ models: ['offline-transducer', 'online-transducer'] });
  digits = await say('transfer-digits');
});
after(() => service[Symbol.asyncDispose]());

const open = (options: ConnectOptions = {}): Promise<Client> => connect(service.url, options);

/** A session that takes 16 kHz and ends utterances as told. */
const openWith = async (input: Record<string, unknown> = {}, query = ''): Promise<Client> => {
  const client = await open({ query });
  client.send({
    type: 'session.update',
    session: { type: 'transcription', audio: { input: { format: { type: 'audio/pcm', rate: RATE }, ...input } } },
  });
  await client.next('session.updated');
  return client;
};

const typesOf = (events: readonly Event[]): string[] =>
  events.map(({ type }) => type).filter((type, index, all) => type !== DELTA || all[index - 1] !== DELTA);

const refusalOf = async (options: ConnectOptions): Promise<{ status: number; code: string; param: string | null }> => {
  const fault = await open(options).then(
    () => assert.fail('the handshake was not refused'),
    (thrown) => thrown,
  );
  return { status: fault.status, code: fault.body.error.code, param: fault.body.error.param };
};

describe('the handshake', () => {
  it('refuses in JSON before the socket opens', async () => {
    const rows: [ConnectOptions, number, string, string | null][] = [
      [{ query: '?intent=conversation' }, 400, 'invalid_request', 'intent'],
      [{ query: '?call_id=rtc_1' }, 400, 'invalid_request', 'call_id'],
      [{ query: '?model=a&model=b' }, 400, 'invalid_request', 'model'],
      [{ key: '' }, 401, 'invalid_api_key', null],
      [{ key: 'sk-nobody-0123456789' }, 401, 'invalid_api_key', null],
      [{ query: '?model=nobody' }, 404, 'model_not_found', 'model'],
      [{ query: `?final_model=nobody` }, 404, 'model_not_found', 'model'],
      [{ query: `?final_model=${STREAMING}` }, 422, 'capability_unavailable', 'model'],
    ];
    for (const [options, status, code, param] of rows) {
      assert.deepEqual(await refusalOf(options), { status, code, param }, JSON.stringify(options));
    }
  });

  it('asks for an upgrade', async () => {
    const response = await service.fetch('/v1/realtime');
    assert.equal(response.status, 426);
    assert.equal(response.headers.get('upgrade'), 'websocket');
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'upgrade_required');
  });

  it('refuses a handshake that is none, and serves other addresses whatever they are asked to become', async () => {
    const headers = { connection: 'upgrade', upgrade: 'websocket' };
    assert.equal((await rawGet(service.url, '/v1/realtime', headers)).status, 400);
    assert.equal((await rawGet(service.url, '/v1/models', headers)).status, 200);
  });

  it('takes the key of a browser from a subprotocol and does not send it back', async () => {
    await using client = await open({ key: '', protocols: ['realtime', `openai-insecure-api-key.${USER_KEY}`] });
    assert.equal(client.socket.protocol, 'realtime');
    await client.next('transcription_session.created');
    const wrong = await refusalOf({ key: '', protocols: ['realtime', 'openai-insecure-api-key.sk-wrong'] });
    assert.equal(wrong.status, 401);
    await using beta = await open({ protocols: ['openai-beta.realtime-v1', 'realtime'] });
    assert.equal(beta.socket.protocol, 'openai-beta.realtime-v1');
  });

  it('gives every place once, and again when its session is over', async () => {
    await using small = await startTestSpeech({
      models: ['online-transducer'],
      settings: { 'realtime.max_sessions': '1' },
    });
    const first = await connect(small.url);
    await assert.rejects(connect(small.url), { status: 503 });
    await first[Symbol.asyncDispose]();
    await using _again = await connect(small.url);
  });

  it('says 501 where nothing can transcribe', async () => {
    await using empty = await startTestSpeech({ models: ['online-transducer'] });
    for (const name of await readdir(join(empty.dataDir, 'models')))
      await rm(join(empty.dataDir, 'models', name), { recursive: true });
    await assert.rejects(connect(empty.url), { status: 501 });
  });
});

/** A request over a socket of its own, because `fetch` sets these headers itself. */
const rawGet = async (url: string, path: string, headers: Record<string, string>): Promise<{ status: number }> => {
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, url),
      { headers: { ...headers, authorization: `Bearer ${USER_KEY}` } },
      (response) => {
        response.resume();
        response.once('end', () => resolve({ status: response.statusCode ?? 0 }));
      },
    );
    sent.once('error', reject);
    sent.end();
  });
};

describe('a session', () => {
  it('tells an utterance in the order of the interface, under both names', async () => {
    await using client = await openWith();
    sendBinary(client, pcmAt(digits, RATE));
    const done = await client.next('conversation.item.done');
    assert.deepEqual(typesOf(client.events), [
      'transcription_session.created',
      'session.created',
      'transcription_session.updated',
      'session.updated',
      'input_audio_buffer.speech_started',
      DELTA,
      'input_audio_buffer.speech_stopped',
      'input_audio_buffer.committed',
      'conversation.item.created',
      'conversation.item.added',
      COMPLETED,
      'conversation.item.done',
    ]);
    for (const event of client.events) assert.match(event.event_id, /^event_/);
    const started = await client.next('input_audio_buffer.speech_started');
    const stopped = await client.next('input_audio_buffer.speech_stopped');
    const completed = await client.next(COMPLETED);
    const created = await client.next('conversation.item.created');
    assert.equal(completed.transcript, DIGITS);
    assert.equal(done.item.content[0].transcript, DIGITS);
    assert.equal(created.item.content[0].transcript, null);
    assert.equal(created.previous_item_id, null);
    assert.ok(started.audio_start_ms > 100 && started.audio_start_ms < 900, `${started.audio_start_ms}`);
    assert.ok(stopped.audio_end_ms > 3000 && stopped.audio_end_ms < 4500, `${stopped.audio_end_ms}`);
    assert.deepEqual(
      { ...completed.usage, service: [completed.service.start_ms, completed.service.end_ms] },
      {
        type: 'duration',
        seconds: (stopped.audio_end_ms - started.audio_start_ms) / 1000,
        service: [started.audio_start_ms, stopped.audio_end_ms],
      },
    );
    const ids = client.events.map((event) => event.item_id ?? event.item?.id).filter((id) => id !== undefined);
    assert.equal(new Set(ids).size, 1);
  });

  it('only appends in deltas and shows the whole text beside them', async () => {
    await using client = await openWith();
    sendBinary(client, pcmAt(digits, RATE));
    await client.next(COMPLETED);
    let told = '';
    for (const { delta, service: beside } of client.events.filter(({ type }) => type === DELTA)) {
      told += delta;
      assert.ok(beside.text.startsWith(told));
    }
    assert.equal(told, DIGITS);
  });

  it('places words in the time of the session', async () => {
    await using client = await openWith();
    sendBinary(client, pcmAt(joined(digits, digits), RATE));
    const [first, second] = [await client.next(COMPLETED), await client.next(COMPLETED)];
    for (const { service: own, transcript } of [first, second]) {
      assert.equal(own.words.map(({ word }: { word: string }) => word).join(' '), transcript);
      for (const { start_ms, end_ms } of own.words)
        assert.ok(own.start_ms <= start_ms && start_ms < end_ms && end_ms <= own.end_ms);
    }
    const created = client.events.filter(({ type }) => type === 'conversation.item.created');
    assert.equal(created[1]!.previous_item_id, created[0]!.item.id);
    assert.ok(second.service.start_ms >= first.service.end_ms);
  });

  it('speaks the older names only where the newer ones are off', async () => {
    await using old = await startTestSpeech({
      models: ['online-transducer'],
      settings: { 'realtime.ga_events': 'no' },
    });
    await using client = await connect(old.url);
    client.send({
      type: 'transcription_session.update',
      session: {
        input_audio_format: 'pcm16;rate=16000',
        turn_detection: { type: 'server_vad', silence_duration_ms: 300 },
      },
    });
    const { session } = await client.next('transcription_session.updated');
    assert.equal(session.input_audio_format, 'pcm16;rate=16000');
    assert.deepEqual(session.turn_detection, {
      type: 'server_vad',
      threshold: 0.5,
      prefix_padding_ms: 300,
      silence_duration_ms: 300,
    });
    sendBase64(client, pcmAt(digits, RATE));
    await client.next(COMPLETED);
    assert.deepEqual(typesOf(client.events), [
      'transcription_session.created',
      'transcription_session.updated',
      'input_audio_buffer.speech_started',
      DELTA,
      'input_audio_buffer.speech_stopped',
      'input_audio_buffer.committed',
      'conversation.item.created',
      COMPLETED,
    ]);
  });

  it('describes itself for both generations', async () => {
    await using client = await open();
    const { session } = await client.next('transcription_session.created');
    assert.match(session.id, /^sess_/);
    assert.equal(session.object, 'realtime.transcription_session');
    assert.equal(session.type, 'transcription');
    assert.equal(session.model, STREAMING);
    assert.equal(session.input_audio_format, 'pcm16');
    assert.deepEqual(session.audio.input.format, { type: 'audio/pcm', rate: 24_000 });
    assert.ok(session.expires_at > Date.now() / 1000);
    assert.equal(session.client_secret, null);
    assert.equal(session.service.streaming, true);
    assert.ok(session.service.active_sessions >= 1);
  });
});

describe('formats', () => {
  const telephone = (): Int16Array => samplesOf(pcmAt(digits, 8000));
  const rows: [string, unknown, () => Buffer][] = [
    ...[8000, 16_000, 24_000, 44_100, 48_000].map((rate): [string, unknown, () => Buffer] => [
      `pcm16 at ${rate}`,
      { type: 'audio/pcm', rate },
      () => pcmAt(digits, rate),
    ]),
    ['µ-law', { type: 'audio/pcmu' }, () => toUlaw(telephone())],
    ['A-law', 'g711_alaw', () => toAlaw(telephone())],
  ];
  for (const [name, format, bytes] of rows) {
    it(`hears ${name}, as binary frames that split samples and as base64`, async () => {
      for (const sendAudio of [sendBinary, sendBase64]) {
        await using client = await openWith({ format });
        sendAudio(client, bytes());
        assert.equal((await client.next(COMPLETED)).transcript, DIGITS, sendAudio.name);
      }
    });
  }
});

describe('turns', () => {
  it('are ended by commit alone without detection', async () => {
    await using client = await openWith({ turn_detection: null });
    sendBinary(client, pcmAt(joined(digits, digits), RATE));
    client.send({ type: 'input_audio_buffer.commit' });
    const completed = await client.next(COMPLETED);
    assert.equal(completed.transcript, `${DIGITS} ${DIGITS}`);
    assert.deepEqual(
      [completed.service.start_ms, completed.service.end_ms],
      [0, Math.round((2 * digits.length * 1000) / RATE)],
    );
    assert.ok(!client.events.some(({ type }) => type.includes('speech_st')));
  });

  it('end where the client commits although somebody speaks', async () => {
    await using client = await openWith();
    sendBinary(client, pcmAt(digits.subarray(0, 2.2 * RATE), RATE));
    client.send({ type: 'input_audio_buffer.commit' });
    const { transcript } = await client.next(COMPLETED);
    assert.ok(DIGITS.startsWith(transcript) && transcript.length > 0, transcript);
  });

  it('are heard even where the detector heard nobody, and completed with an empty text', async () => {
    await using client = await openWith();
    sendBinary(client, Buffer.alloc(RATE * 2));
    client.send({ type: 'input_audio_buffer.commit' });
    assert.equal((await client.next(COMPLETED)).transcript, '');
    assert.ok(!client.events.some(({ type }) => type.includes('speech_st')));
  });

  it('need 100 ms of audio; the error names the event', async () => {
    await using client = await openWith({ turn_detection: null });
    for (const bytes of [0, 2000]) {
      sendBinary(client, Buffer.alloc(bytes));
      client.send({ type: 'input_audio_buffer.commit', event_id: `mine ${bytes}` });
      const { error } = await client.next('error');
      assert.equal(error.code, 'input_audio_buffer_commit_empty');
      assert.equal(error.event_id, `mine ${bytes}`);
      client.send({ type: 'input_audio_buffer.clear' });
      await client.next('input_audio_buffer.cleared');
    }
  });

  it('forget what is cleared', async () => {
    await using client = await openWith({ turn_detection: null });
    sendBinary(client, pcmAt(digits, RATE));
    client.send({ type: 'input_audio_buffer.clear' });
    await client.next('input_audio_buffer.cleared');
    sendBinary(client, pcmAt(await say('hello-operator'), RATE));
    client.send({ type: 'input_audio_buffer.commit' });
    assert.equal((await client.next(COMPLETED)).transcript, 'hello operator');
    client.send({ type: 'input_audio_buffer.clear' });
    await client.next('input_audio_buffer.cleared');
  });

  it('honour silence and padding', async () => {
    const startOf = async (turn_detection: Record<string, unknown>): Promise<number[]> => {
      await using client = await openWith({ turn_detection: { type: 'server_vad', ...turn_detection } });
      sendBinary(client, pcmAt(digits, RATE));
      const completed = await client.next(COMPLETED);
      return [completed.service.start_ms, completed.service.end_ms];
    };
    const [start, end] = await startOf({ prefix_padding_ms: 300, silence_duration_ms: 500 });
    const [bare, late] = await startOf({ prefix_padding_ms: 0, silence_duration_ms: 800 });
    assert.equal(bare! - start!, 300);
    assert.ok(Math.abs(late! - end! - 300) <= 30, `${late} ${end}`);
  });

  it('are cut where they grow too long, without losing a sample', async () => {
    await using short = await startTestSpeech({
      models: ['online-transducer'],
      settings: { 'realtime.max_utterance': '2s' },
    });
    await using client = await connect(short.url);
    client.send({
      type: 'session.update',
      session: { type: 'transcription', audio: { input: { format: { type: 'audio/pcm', rate: RATE } } } },
    });
    sendBinary(client, pcmAt(joined(digits, new Int16Array(RATE)), RATE));
    const [first, second] = [await client.next(COMPLETED), await client.next(COMPLETED)];
    assert.equal(first.service.end_ms, second.service.start_ms);
    assert.ok(first.service.end_ms - first.service.start_ms <= 2250);
  });
});

describe('sound that comes faster than real time', () => {
  it('is read no faster than it is heard, and all of it is', async () => {
    await using small = await startTestSpeech({
      models: ['online-transducer'],
      settings: { 'realtime.max_buffered_seconds': '1', 'realtime.final_model': 'gone' },
    });
    await using client = await connect(small.url);
    const utterances = 12;
    sendBase64(client, pcmAt(joined(...Array.from({ length: utterances }, () => digits)), 24_000));
    for (let count = 0; count < utterances; count++) assert.equal((await client.next(COMPLETED)).transcript, DIGITS);
  });
});

describe('updates', () => {
  it('are refused whole, with the field named, and change nothing', async () => {
    await using client = await openWith();
    const inInput = (input: unknown) => ({ type: 'transcription', audio: { input } });
    const rows: [unknown, string][] = [
      [undefined, 'session'],
      [7, 'session'],
      [{ type: 'realtime', instructions: 'x' }, 'session.type'],
      [{ type: 'conversation' }, 'session.type'],
      [inInput('x'), 'session.audio.input'],
      [inInput({ format: { type: 'audio/mp3' } }), 'session.audio.input.format.type'],
      [inInput({ format: { type: 'audio/pcm', rate: 7999 } }), 'session.audio.input.format.rate'],
      [inInput({ format: { type: 'audio/pcm', rate: '16000' } }), 'session.audio.input.format.rate'],
      [inInput({ format: { type: 'audio/pcmu', rate: 16_000 } }), 'session.audio.input.format.rate'],
      [inInput({ turn_detection: { type: 'magic' } }), 'session.audio.input.turn_detection.type'],
      [inInput({ turn_detection: { threshold: 2 } }), 'session.audio.input.turn_detection.threshold'],
      [{ turn_detection: { silence_duration_ms: 'x' } }, 'session.turn_detection.silence_duration_ms'],
      [{ input_audio_format: 'flac' }, 'session.input_audio_format.type'],
      [{ input_audio_transcription: { prompt: 7 } }, 'session.input_audio_transcription.prompt'],
      [{ include: 'x' }, 'session.include'],
      [inInput({ transcription: { model: 'nobody' } }), 'model'],
    ];
    for (const [session, param] of rows) {
      client.send({ type: 'session.update', event_id: 'u1', session });
      const { error } = await client.next('error');
      assert.deepEqual([error.type, error.param, error.event_id], ['invalid_request_error', param, 'u1'], param);
    }
    client.send({ type: 'session.update', session: { type: 'realtime', audio: { input: {} } } });
    const { session } = await client.next('session.updated');
    assert.deepEqual(session.audio.input.format, { type: 'audio/pcm', rate: RATE });
    assert.equal(session.model, STREAMING);
  });

  it('say once what has no effect', async () => {
    await using client = await open({ query: '?model=whisper-1' });
    assert.equal((await client.next('service.warning')).code, 'model_alias_applied');
    const update = {
      type: 'transcription_session.update',
      session: {
        instructions: 'x',
        input_audio_noise_reduction: { type: 'near_field' },
        input_audio_transcription: { model: 'gpt-4o-transcribe', language: 'ru', prompt: 'sales' },
        turn_detection: { type: 'semantic_vad', eagerness: 'low' },
        include: ['item.input_audio_transcription.logprobs'],
      },
    };
    client.send(update);
    client.send(update);
    await client.next('transcription_session.updated');
    await client.next('transcription_session.updated');
    client.send({ type: 'input_audio_buffer.clear' });
    await client.next('input_audio_buffer.cleared');
    const warnings = client.events
      .filter(({ type }) => type === 'service.warning')
      .map(({ code, param }) => `${code} ${param}`);
    assert.deepEqual(warnings.sort(), [
      'field_ignored instructions',
      'field_ignored session.input_audio_noise_reduction',
      'field_ignored session.turn_detection.eagerness',
      'field_ignored session.turn_detection.type',
      'language_ignored language',
      'logprobs_unavailable include',
      'model_alias_applied model',
      'prompt_ignored prompt',
    ]);
  });

  it('change the format and the model between two utterances', async () => {
    await using client = await openWith();
    sendBinary(client, pcmAt(digits, RATE));
    client.send({
      type: 'session.update',
      session: {
        type: 'transcription',
        audio: {
          input: { format: { type: 'audio/pcm', rate: 8000 }, transcription: { model: OFFLINE, prompt: 'sails' } },
        },
      },
    });
    sendBinary(client, pcmAt(await say('hello-operator'), 8000));
    const [first, second] = [await client.next(COMPLETED), await client.next(COMPLETED)];
    assert.deepEqual([first.transcript, second.transcript], [DIGITS, 'hello operator']);
    assert.deepEqual(
      [first, second].map((event) => event.service.model.split('@')[0]),
      [STREAMING, OFFLINE],
    );
    assert.equal((await client.next('service.warning')).code, 'prompt_mapped_to_hotwords');
  });
});

describe('models', () => {
  it('that are not streaming ones give the text when an utterance is over', async () => {
    await using client = await openWith({}, `?model=${OFFLINE}`);
    sendBinary(client, pcmAt(digits, RATE));
    const completed = await client.next(COMPLETED);
    assert.equal(completed.transcript, DIGITS);
    assert.equal(completed.service.words.length, 5);
    const order = typesOf(client.events);
    assert.ok(order.indexOf(DELTA) > order.indexOf('input_audio_buffer.committed'));
    assert.equal(client.events.find(({ type }) => type === DELTA)!.delta, DIGITS);
  });

  it('work in pairs: live texts of one, the final text of the other', async () => {
    await using client = await openWith({}, `?final_model=${OFFLINE}`);
    sendBinary(client, pcmAt(digits, RATE));
    const completed = await client.next(COMPLETED);
    assert.equal(completed.transcript, DIGITS);
    assert.equal(completed.service.model.split('@')[0], OFFLINE);
    const order = typesOf(client.events);
    assert.ok(order.indexOf(DELTA) < order.indexOf('input_audio_buffer.committed'));
    client.send({ type: 'session.update', session: { service: { final_model: null } } });
    assert.equal((await client.next('session.updated')).session.service.final_model, null);
    sendBinary(client, pcmAt(digits, RATE));
    assert.equal((await client.next(COMPLETED)).service.model.split('@')[0], STREAMING);
  });

  it('have their final texts punctuated and their numbers written as digits, the live ones not', async () => {
    await using client = await openWith();
    client.send({ type: 'session.update', session: { service: { itn: true, punctuate: true } } });
    const { session } = await client.next('session.updated');
    assert.equal(session.service.itn, true);
    assert.equal((await client.next('service.warning')).code, 'punctuation_unavailable');
    sendBinary(client, pcmAt(digits, RATE));
    const completed = await client.next(COMPLETED);
    const deltas = client.events.flatMap((event) => (event.type === DELTA ? event.delta : []));
    assert.equal(deltas.join(''), DIGITS);
    assert.match(completed.transcript, /\d/);
    assert.equal(completed.service.words.map(({ word }: { word: string }) => word).join(' '), completed.transcript);
    assert.ok(completed.service.words.some(({ original }: { original?: string }) => original !== undefined));
    client.send({ type: 'session.update', session: { service: { itn: 'yes' } } });
    assert.equal((await client.next('error')).error.param, 'session.service.itn');
  });

  it('that take 20 s at most get a long utterance in pieces', async () => {
    await using client = await openWith({ turn_detection: null }, `?model=${OFFLINE}`);
    const long = joined(...Array.from({ length: 7 }, () => digits));
    sendBinary(client, pcmAt(long, RATE));
    client.send({ type: 'input_audio_buffer.commit' });
    const { transcript, service: own } = await client.next(COMPLETED);
    assert.equal(transcript, Array.from({ length: 7 }, () => DIGITS).join(' '));
    assert.equal(own.words.length, 35);
    assert.ok(own.words.at(-1).end_ms > 25_000);
  });
});
