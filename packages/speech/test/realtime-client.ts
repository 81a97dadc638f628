/** A scripted realtime client: the raw events over `ws`, and sounds in every format a session may declare. */
import { once } from 'node:events';
import { within } from '@parley/kit/testing/wait.ts';
import { type ClientOptions, WebSocket } from 'ws';
import { toFloats, toInt16 } from '../src/audio/pcm.ts';
import { createResampler } from '../src/audio/resample.ts';
import { readTestdata, USER_KEY } from './start-test-speech.ts';

// biome-ignore lint/suspicious/noExplicitAny: events are what the tests look into.
export type Event = Record<string, any> & { readonly type: string };

export type ConnectOptions = {
  readonly query?: string;
  /** Empty sends none. */
  readonly key?: string;
  readonly protocols?: readonly string[];
  readonly client?: ClientOptions;
};

export type Client = AsyncDisposable & {
  readonly socket: WebSocket;
  /** Everything received so far. */
  readonly events: readonly Event[];
  send(event: Record<string, unknown>): void;
  /** The first event of this type that was not taken before, waiting for it when need be. */
  next(type: string): Promise<Event>;
  /** Resolves with the close code. */
  closed(): Promise<number>;
};

/** Rejects with the status of a refused handshake as `status`. */
export const connect = async (url: string, options: ConnectOptions = {}): Promise<Client> => {
  const { query = '', key = USER_KEY, protocols = [], client = {} } = options;
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/realtime${query}`, [...protocols], {
    ...client,
    headers: { ...(key !== '' && { authorization: `Bearer ${key}` }), ...client.headers },
  });
  const events: Event[] = [];
  const taken = new Set<Event>();
  let wake = Promise.withResolvers<void>();
  const tell = (): void => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  let closeCode: number | undefined;
  socket.on('message', (data) => {
    events.push(JSON.parse(String(data)));
    tell();
  });
  socket.on('error', () => undefined);
  socket.on('close', (code) => {
    closeCode = code;
    tell();
  });
  const take = async (type: string): Promise<Event> => {
    for (;;) {
      const found = events.find((event) => event.type === type && !taken.has(event));
      if (found) {
        taken.add(found);
        return found;
      }
      if (closeCode !== undefined) throw new Error(`Closed with ${closeCode} before ${type}.`);
      await wake.promise;
    }
  };
  const refused = new Promise<never>((_, reject) => {
    socket.once('unexpected-response', (_request, response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => {
        socket.terminate();
        reject(Object.assign(new Error(text), { status: response.statusCode, body: JSON.parse(text) }));
      });
    });
  });
  await within(Promise.race([once(socket, 'open'), refused]), 'the handshake');
  return {
    socket,
    events,
    send: (event) => socket.send(JSON.stringify(event)),
    next: (type) => within(take(type), type),
    closed: () =>
      within(
        (async () => {
          while (closeCode === undefined) await wake.promise;
          return closeCode;
        })(),
        'the end of the socket',
      ),
    [Symbol.asyncDispose]: async () => {
      if (socket.readyState === WebSocket.CLOSED) return;
      const gone = once(socket, 'close');
      socket.resume();
      socket.close();
      await within(gone, 'the end of the socket').catch(() => socket.terminate());
    },
  };
};

const HEADER_BYTES = 44;
export const RATE = 16_000;

/** Samples of a recording of testdata (16 kHz) between silences, s. */
export const say = async (name: string, beforeSec = 0.5, afterSec = 1): Promise<Int16Array> => {
  const bytes = await readTestdata(`speech/${name}.wav`);
  const speech = new Int16Array(new Uint8Array(bytes.subarray(HEADER_BYTES)).buffer);
  const samples = new Int16Array(Math.round((beforeSec + afterSec) * RATE) + speech.length);
  samples.set(speech, Math.round(beforeSec * RATE));
  return samples;
};

export const joined = (...parts: readonly Int16Array[]): Int16Array =>
  Int16Array.from(parts.flatMap((part) => [...part]));

/** Little-endian bytes at another rate. */
export const pcmAt = (samples: Int16Array, rate: number): Buffer => {
  const resampler = createResampler(RATE, rate);
  const floats = toFloats(samples);
  const out = rate === RATE ? samples : toInt16(Float32Array.from([...resampler.push(floats), ...resampler.flush()]));
  return Buffer.from(out.buffer, out.byteOffset, out.byteLength);
};

/** µ-law bytes (ITU-T G.711) of samples at 8 kHz. */
export const toUlaw = (samples: Int16Array): Buffer =>
  Buffer.from(
    Uint8Array.from(samples, (sample) => {
      const size = Math.min(32_635, Math.abs(sample)) + 132;
      const exponent = Math.floor(Math.log2(size)) - 7;
      const mantissa = (size >> (exponent + 3)) & 15;
      return ~((sample < 0 ? 0x80 : 0) | (exponent << 4) | mantissa) & 0xff;
    }),
  );

/** A-law bytes (ITU-T G.711) of samples at 8 kHz. */
export const toAlaw = (samples: Int16Array): Buffer =>
  Buffer.from(
    Uint8Array.from(samples, (sample) => {
      const size = Math.min(32_767, Math.abs(sample)) >> 3;
      const exponent = size < 32 ? 0 : Math.floor(Math.log2(size)) - 4;
      const mantissa = exponent === 0 ? size >> 1 : (size >> exponent) & 15;
      return ((sample < 0 ? 0 : 0x80) | (exponent << 4) | mantissa) ^ 0x55;
    }),
  );

export const samplesOf = (bytes: Buffer): Int16Array => new Int16Array(new Uint8Array(bytes).buffer);

/** Sends bytes as binary frames of a length that splits samples. */
export const sendBinary = ({ socket }: Client, bytes: Buffer, frameBytes = 3001): void => {
  for (let at = 0; at < bytes.length; at += frameBytes) socket.send(bytes.subarray(at, at + frameBytes));
};

/** Sends bytes as base64 appends. */
export const sendBase64 = (client: Client, bytes: Buffer, pieceBytes = 4800): void => {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const audio = bytes.subarray(at, at + pieceBytes).toString('base64');
    client.send({ type: 'input_audio_buffer.append', audio });
  }
};

const T = 'conversation.item.input_audio_transcription';
export const DELTA = `${T}.delta`;
export const COMPLETED = `${T}.completed`;
