/** A realtime session: several sentences faster than they are spoken, until each has its text. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { RATE, writeScript } from '../realtime-pace.ts';
import type { Ledger } from './ledger.ts';
import { type LoadContext, pause } from './load.ts';
import { KEY } from './stage.ts';

export const STREAMING_MODEL = 'demo-streaming-en';
const WHAT = 'speech realtime';
const COMPLETED = 'conversation.item.input_audio_transcription.completed';
const FAILED = 'conversation.item.input_audio_transcription.failed';
const PIECE_BYTES = (RATE * 2) / 5;
const PIECE_MS = 50;
const SECONDS = 4;
const HANGS_MS = 60_000;
const BUSY = [429, 503];

/** Opens a socket; undefined when it was refused, which is judged here. */
export const openSocket = async (url: string, ledger: Ledger): Promise<WebSocket | undefined> => {
  const begunMs = performance.now();
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=${STREAMING_MODEL}`, {
    headers: { authorization: `Bearer ${KEY}` },
  });
  const refused = once(socket, 'unexpected-response').then(([, response]) => {
    const { statusCode, headers } = response;
    response.resume();
    socket.terminate();
    if (!BUSY.includes(statusCode)) ledger.fault(`${WHAT}: refused with ${statusCode}`);
    else if (headers['retry-after'] === undefined) ledger.fault(`${WHAT}: ${statusCode} without Retry-After`);
    ledger.count(WHAT, 'refused');
    return false;
  });
  refused.catch(() => undefined);
  try {
    const isOpen = await Promise.race([once(socket, 'open').then(() => true), refused]);
    socket.on('error', () => undefined);
    return isOpen ? socket : undefined;
  } catch (thrown) {
    socket.on('error', () => undefined);
    if (ledger.isCalmSince(begunMs)) ledger.fault(`${WHAT}: ${(thrown as Error).message} while nothing was disturbed`);
    ledger.count(WHAT, 'cut');
    return undefined;
  }
};

const send = async (socket: WebSocket, samples: Int16Array, signal: AbortSignal): Promise<void> => {
  const format = { type: 'audio/pcm', rate: RATE };
  const session = { type: 'transcription', audio: { input: { format } } };
  socket.send(JSON.stringify({ type: 'session.update', session }));
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  for (let at = 0; at < bytes.length && socket.readyState === WebSocket.OPEN; at += PIECE_BYTES) {
    socket.send(bytes.subarray(at, at + PIECE_BYTES));
    await pause(PIECE_MS, signal);
  }
};

/** One session to its end. */
export const talk = async ({ stage, ledger, random, signal }: LoadContext): Promise<void> => {
  const begunMs = performance.now();
  const socket = await openSocket(stage.speechUrl, ledger);
  if (!socket) return;
  const { samples, texts } = writeScript(random.int(5), SECONDS);
  let heard = 0;
  let isFailed = false;
  const over = Promise.withResolvers<'done' | 'closed'>();
  socket.on('message', (data) => {
    const event = JSON.parse(String(data));
    if (event.type === COMPLETED) heard += 1;
    if (event.type === COMPLETED && event.transcript.includes(' ')) stage.logs.forbid(event.transcript);
    if (event.type === 'error' || event.type === FAILED) isFailed = true;
    if (heard >= texts.length) over.resolve('done');
  });
  socket.on('close', () => over.resolve('closed'));
  await send(socket, samples, signal);
  const limit = setTimeout(() => over.resolve('closed'), HANGS_MS);
  const how = await over.promise;
  clearTimeout(limit);
  socket.terminate();
  const isAsItShould = how === 'done' && !isFailed;
  if (!isAsItShould && ledger.isCalmSince(begunMs) && !signal.aborted) {
    ledger.fault(`${WHAT}: ${heard} of ${texts.length} sentences while nothing was disturbed`);
  }
  ledger.count(WHAT, how === 'done' ? 'done' : 'cut');
};
