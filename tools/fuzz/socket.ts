/**
 * Realtime sessions of the speech service over real sockets: events, frames of sound, and frames that are none, in any order.
 * No error may be the service's own, every session goes on or ends as the protocol says, and in the end no model is held.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { ADMIN_KEY, startTestSpeech, type TestSpeech, USER_KEY } from '../../packages/speech/test/start-test-speech.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';
import { EVENT_WORDS } from './wire.ts';
import { sendBytes } from './wire-request.ts';

const TYPES = [
  'session.update',
  'transcription_session.update',
  'input_audio_buffer.append',
  'input_audio_buffer.append',
  'input_audio_buffer.commit',
  'input_audio_buffer.clear',
  'response.create',
  'conversation.item.create',
  '__proto__',
];
const QUERIES = [
  '',
  '?intent=transcription',
  '?model=demo-transducer-en',
  '?model=x',
  '?language=en',
  '?model=a&model=b',
];
const LAST = 'the last one';
const SESSION_MS = 12_000;
const IDLE_MS = 30_000;
const FRAME_BYTES = 1500;

const sound = (random: Random): Buffer => Buffer.from(random.list(FRAME_BYTES, () => random.int(256)));

const eventOf = (random: Random): string => {
  const type = random.chance(0.9) ? random.pick(TYPES) : random.text();
  const base64 = sound(random).toString('base64');
  const audio = random.chance(0.8) ? base64 : random.chance(0.5) ? random.mutateText(base64) : random.json([]);
  const session = random.json(EVENT_WORDS);
  const known = random.chance(0.5)
    ? { turn_detection: random.chance(0.5) ? null : random.json(EVENT_WORDS), [random.pick(EVENT_WORDS)]: session }
    : session;
  const event = { type, ...(type.startsWith('input') ? { audio } : { session: known }) };
  const text = JSON.stringify(random.chance(0.1) ? { ...event, event_id: random.json([]) } : event);
  return random.chance(0.9) ? text : random.mutateText(text);
};

/** One frame of a client (RFC 6455 §5.2), with a mask of zeros. */
const frame = (random: Random): Buffer => {
  const content = Buffer.from(random.list(100, () => random.int(256)));
  const head = random.chance(0.7) ? random.pick([0x81, 0x82, 0x89, 0x01, 0x80]) : random.int(256);
  return Buffer.concat([Buffer.from([head, 0x80 | content.length, 0, 0, 0, 0]), content]);
};

const runRaw = async (random: Random, port: number): Promise<boolean> => {
  const handshake =
    'GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer ${USER_KEY}\r\n\r\n`;
  const frames = Buffer.concat(random.list(6, () => frame(random)));
  const bytes = Buffer.from(handshake);
  const sent = Buffer.concat([
    random.chance(0.9) ? bytes : random.mutate(bytes),
    random.chance(0.5) ? frames : random.mutate(frames),
  ]);
  const { status } = await sendBytes(port, sent, 'end');
  if (status === 500) throw new Error(`500 to ${JSON.stringify(sent.toString('latin1'))}`);
  return status === 101;
};

type Said = { readonly type?: unknown; readonly error?: { readonly code?: unknown; readonly type?: unknown } };

/** Resolves when the last event was answered, or the session has ended. */
const talk = async (random: Random, socket: WebSocket): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sent: string[] = [];
  const timer = setTimeout(() => reject(new Error(`no answer after ${sent.join('\n').slice(0, 3000)}`)), SESSION_MS);
  socket.on('close', () => resolve());
  socket.on('message', (data) => {
    const said = JSON.parse(String(data)) as Said;
    if (typeof said.type !== 'string') reject(new Error(`not an event: ${String(data)}`));
    if (said.error?.code === 'internal' || said.error?.type === 'server_error')
      reject(new Error(`${String(data)}\nafter ${sent.join('\n').slice(0, 3000)}`));
    if (said.type === 'input_audio_buffer.cleared' && sent.at(-1) === LAST) resolve();
  });
  try {
    for (let left = random.int(10); left > 0; left--) {
      const message = random.chance(0.2) ? sound(random) : eventOf(random);
      sent.push(typeof message === 'string' ? message : `${message.length} bytes`);
      socket.send(message, () => undefined);
    }
    sent.push(LAST);
    if (random.chance(0.1)) socket.terminate();
    else socket.send(JSON.stringify({ type: 'input_audio_buffer.clear' }), () => undefined);
    await promise;
  } finally {
    clearTimeout(timer);
  }
};

const runSession = async (random: Random, url: string): Promise<boolean> => {
  const query = random.chance(0.8) ? '' : random.pick(QUERIES);
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/realtime${query}`, {
    headers: { authorization: `Bearer ${USER_KEY}` },
  });
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('open', () => resolve(true));
    // What is refused tells so by an error, and closes.
    socket.on('error', () => resolve(false));
  });
  if (isOpen) await talk(random, socket);
  socket.close();
  const timer = setTimeout(() => socket.terminate(), SESSION_MS);
  await closed;
  clearTimeout(timer);
  return isOpen;
};

const untilUnused = async (service: TestSpeech): Promise<void> => {
  const endMs = performance.now() + IDLE_MS;
  while (performance.now() < endMs) {
    const response = await service.fetch('/api/v1/models', { key: ADMIN_KEY });
    const { data } = (await response.json()) as { data: { ref_count: number }[] };
    if (data.every(({ ref_count }) => ref_count === 0)) return;
    await sleep(50);
  }
  throw new Error('a model is held although every session is over');
};

export const sessions: Target = {
  name: 'session',
  weight: 0.15,
  open: async () => {
    const service = await startTestSpeech({
      models: ['online-transducer'],
      settings: { 'asr.default_model': '', 'audio.media_processes': '1' },
    });
    const port = Number(new URL(service.url).port);
    return {
      run: (random) => (random.chance(0.15) ? runRaw(random, port) : runSession(random, service.url)),
      [Symbol.asyncDispose]: async () => {
        try {
          await untilUnused(service);
        } finally {
          await service[Symbol.asyncDispose]();
        }
      },
    };
  },
};
