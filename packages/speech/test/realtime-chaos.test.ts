/** What hostile and broken clients do to a socket, and that nothing of them stays behind. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { within } from '@parley/kit/testing/wait.ts';
import { type Client, COMPLETED, connect, pcmAt, say, sendBinary } from './realtime-client.ts';
import { ADMIN_KEY, startTestSpeech, type TestSpeech, USER_KEY } from './start-test-speech.ts';

const MIB = 2 ** 20;

let service: TestSpeech;
let digits: Buffer;

before(async () => {
  service = await startTestSpeech({ models: ['online-transducer', 'offline-transducer'] });
  digits = pcmAt(await say('transfer-digits'), 24_000);
});
after(() => service[Symbol.asyncDispose]());

/** Sessions and borrowed models of the service. */
const inUse = async (at = service): Promise<number> => {
  const response = await at.fetch('/api/v1/models', { key: ADMIN_KEY });
  const { data } = (await response.json()) as { data: { ref_count: number }[] };
  return data.reduce((sum, { ref_count }) => sum + ref_count, 0);
};

const untilUnused = (at = service): Promise<void> =>
  within(
    (async () => {
      while ((await inUse(at)) > 0) await nextTurn();
    })(),
    'every model to be given back',
  );

/** A session still answers, and this one is the only one. */
const assertWell = async (at = service): Promise<void> => {
  await untilUnused(at);
  await using client = await connect(at.url);
  const { session } = await client.next('session.created');
  assert.equal(session.service.active_sessions, 1);
  sendBinary(client, digits);
  assert.equal((await client.next(COMPLETED)).transcript, 'transfer three five seven nine');
};

describe('a client that talks nonsense', () => {
  it('is answered with errors and keeps its session', async () => {
    await using client = await connect(service.url);
    const rows: [string, string, string | null][] = [
      ['', 'invalid_json', null],
      ['{', 'invalid_json', null],
      ['null', 'invalid_event', 'type'],
      ['[]', 'invalid_event', 'type'],
      ['"x"', 'invalid_event', 'type'],
      ['{}', 'invalid_event', 'type'],
      ['{"type":7}', 'invalid_event', 'type'],
      ['{"type":"response.create"}', 'unsupported_event', 'type'],
      ['{"type":"__proto__"}', 'unsupported_event', 'type'],
      [`{"type":"${'x'.repeat(5000)}"}`, 'unsupported_event', 'type'],
      ['{"type":"input_audio_buffer.append"}', 'invalid_request', 'audio'],
      ['{"type":"input_audio_buffer.append","audio":7}', 'invalid_request', 'audio'],
      ['{"type":"input_audio_buffer.append","audio":"%%%%"}', 'invalid_request', 'audio'],
      [JSON.stringify({ type: 'input_audio_buffer.clear', event_id: 'x'.repeat(513) }), 'invalid_event', 'event_id'],
      [JSON.stringify({ type: 'input_audio_buffer.clear', event_id: {} }), 'invalid_event', 'event_id'],
      [`{"type":"session.update","session":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'invalid_request', 'session'],
    ];
    for (const [text, code, param] of rows) {
      client.socket.send(text);
      const { error } = await client.next('error');
      assert.deepEqual(
        [error.type, error.code, error.param],
        ['invalid_request_error', code, param],
        text.slice(0, 60),
      );
      assert.ok(error.message.length < 300);
    }
    sendBinary(client, digits, 3);
    assert.equal((await client.next(COMPLETED)).transcript, 'transfer three five seven nine');
  });

  it('may send empty frames, single bytes and text that is no UTF-8', async () => {
    await using client = await connect(service.url);
    client.socket.send(Buffer.alloc(0));
    client.socket.send(Buffer.alloc(1));
    client.socket.send(Buffer.alloc(1));
    client.send({ type: 'input_audio_buffer.append', audio: '' });
    client.send({ type: 'input_audio_buffer.clear' });
    await client.next('input_audio_buffer.cleared');
    client.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    assert.equal(await client.closed(), 1007);
    await assertWell();
  });

  it('is disconnected with 1009 for a message of 20 MiB, and may send one of 15', async () => {
    await using client = await connect(service.url);
    client.socket.send(Buffer.alloc(20 * MIB));
    assert.equal(await client.closed(), 1009);
    await using other = await connect(service.url);
    const head = '{"type":"input_audio_buffer.append","audio":"';
    const audio = 'A'.repeat((15 * MIB - head.length - 2) & ~3);
    other.socket.send(`${head}${audio}"}`);
    other.send({ type: 'input_audio_buffer.clear' });
    await other.next('input_audio_buffer.cleared');
    assert.ok(!other.events.some(({ type }) => type === 'error'));
  });

  it('breaks the protocol and is gone', async () => {
    await using client = await connect(service.url);
    const [, port] = /:(\d+)$/.exec(service.url) ?? [];
    const raw = connectTcp(Number(port), '127.0.0.1');
    await once(raw, 'connect');
    raw.write(
      'GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
        `Authorization: Bearer ${USER_KEY}\r\n\r\n`,
    );
    await once(raw, 'data');
    // A frame of a reserved kind, without a mask.
    raw.write(Buffer.from([0x83, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]));
    raw.resume();
    await within(once(raw, 'close'), 'the end of the connection');
    client.send({ type: 'input_audio_buffer.clear' });
    await client.next('input_audio_buffer.cleared');
  });
});

describe('a client that does not behave', () => {
  it('never reads, and is cut off when too much waits for it', async () => {
    await using client = await connect(service.url);
    client.socket.pause();
    const gone = once(client.socket, 'close');
    const nonsense = JSON.stringify({ type: 'x'.repeat(90) });
    const flood = async (): Promise<void> => {
      while (client.socket.readyState === client.socket.OPEN && (await inUse()) > 0) {
        for (let count = 0; count < 2000; count++) client.socket.send(nonsense, () => undefined);
        await nextTurn();
      }
    };
    await within(flood(), 'the service to cut it off', 60_000);
    client.socket.resume();
    await within(gone, 'the end');
    await assertWell();
  });

  it('never answers a ping', async () => {
    await using strict = await startTestSpeech({
      models: ['online-transducer'],
      settings: { 'realtime.ping_interval': '100ms' },
    });
    await using well = await connect(strict.url);
    await using deaf = await connect(strict.url, { client: { autoPong: false } });
    assert.equal(await deaf.closed(), 1006);
    well.send({ type: 'input_audio_buffer.clear' });
    await well.next('input_audio_buffer.cleared');
  });

  it('never sends', async () => {
    for (const [setting, reason] of [
      ['realtime.no_audio_timeout', 'no audio came'],
      ['realtime.idle_timeout', 'idle'],
      ['realtime.max_session', 'session expired'],
    ]) {
      await using strict = await startTestSpeech({ models: ['online-transducer'], settings: { [setting!]: '200ms' } });
      await using client = await connect(strict.url);
      const [code, told] = await within(once(client.socket, 'close'), 'the end');
      assert.deepEqual([code, String(told)], [1000, reason]);
      await untilUnused(strict);
    }
  });

  it('goes away at any step', async () => {
    const steps: ((client: Client) => Promise<unknown>)[] = [
      async () => undefined,
      async (client) => client.next('session.created'),
      async (client) => client.send({ type: 'session.update', session: { type: 'transcription' } }),
      async (client) => sendBinary(client, digits.subarray(0, 60_000)),
      async (client) => {
        sendBinary(client, digits.subarray(0, 100_000));
        await client.next('input_audio_buffer.speech_started');
      },
      async (client) => {
        sendBinary(client, digits);
        await client.next('input_audio_buffer.committed');
      },
      async (client) =>
        client.send({
          type: 'session.update',
          session: { input_audio_transcription: { model: 'demo-transducer-en' } },
        }),
    ];
    for (const step of steps) {
      for (const leave of ['terminate', 'close'] as const) {
        await using client = await connect(service.url);
        await step(client);
        client.socket[leave]();
      }
    }
    await assertWell();
  });

  it('goes away during the handshake', async () => {
    const [, port] = /:(\d+)$/.exec(service.url) ?? [];
    for (let count = 0; count < 10; count++) {
      const raw = connectTcp(Number(port), '127.0.0.1');
      await once(raw, 'connect');
      raw.write(
        'GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
          `Authorization: Bearer ${USER_KEY}\r\n\r\n`,
      );
      if (count % 2 === 0) await nextTurn();
      raw.destroy();
    }
    await assertWell();
  });
});

describe('a service that stops', () => {
  it('tells the texts under way, then closes with 1001', async () => {
    const stopping = await startTestSpeech({ models: ['online-transducer'] });
    await using client = await connect(stopping.url);
    sendBinary(client, digits);
    client.send({ type: 'input_audio_buffer.commit' });
    await client.next('input_audio_buffer.committed');
    const ended = stopping[Symbol.asyncDispose]();
    assert.equal((await client.next(COMPLETED)).transcript, 'transfer three five seven nine');
    assert.equal(await client.closed(), 1001);
    await ended;
  });
});
