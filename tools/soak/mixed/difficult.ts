/** Clients that are a burden: uploads that hardly come, readers that do not read, sockets that stop, people who leave. */
import { openAsBlob, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { testdata } from '../service.ts';
import type { Lane, LoadContext } from './load.ts';
import { pause } from './load.ts';
import { openSocket } from './realtime.ts';
import { askSpeech } from './speech-load.ts';
import { KEY } from './stage.ts';

const DRIP_MS = 500;
const DRIPS = 6;
/** The service gives up on a body after five seconds of silence here. */
const GIVEN_UP_MS = 30_000;
const HELD_MS = 8000;
const UNREAD_ANSWERS = 8;

const open = (url: string): Promise<Socket | undefined> => {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
    socket.on('error', () => undefined);
  });
};

const closed = (socket: Socket, signal: AbortSignal): Promise<boolean> =>
  Promise.race([
    new Promise<boolean>((resolve) => {
      socket.once('close', () => resolve(true));
    }),
    pause(GIVEN_UP_MS, signal).then(() => false),
  ]);

/** An upload of which a few bytes come, then nothing: the service must end it. */
const drip = async ({ stage, ledger, signal }: LoadContext): Promise<void> => {
  const what = 'slow upload';
  const begunMs = performance.now();
  const socket = await open(stage.speechUrl);
  if (!socket) return ledger.count(what, 'cut');
  let said = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    said = `${said}${text}`.slice(0, 64);
  });
  const gone = closed(socket, signal);
  socket.write(
    `POST /api/v1/jobs HTTP/1.1\r\nHost: mixed\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: 1000000\r\n` +
      'Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n',
  );
  for (let n = 0; n < DRIPS && socket.writable; n++) {
    socket.write('RIFF');
    await pause(DRIP_MS, signal);
  }
  const isEnded = await gone;
  socket.destroy();
  if (!isEnded && !signal.aborted && ledger.isCalmSince(begunMs)) ledger.fault(`${what}: never ended by the service`);
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1] ?? 0);
  if (status >= 500 && status !== 503) ledger.fault(`${what}: answered ${status}`);
  ledger.count(what, isEnded ? 'done' : 'left');
};

/** Asks for long answers again and again on one connection and reads none of them. */
const neverRead = async (context: LoadContext): Promise<void> => {
  const { stage, ledger, random, signal, token } = context;
  const what = 'reader that does not read';
  const isSpeech = random.chance(0.5);
  const socket = await open(isSpeech ? stage.speechUrl : stage.platformUrl);
  if (!socket) return ledger.count(what, 'cut');
  socket.pause();
  const path = isSpeech ? '/api/v1/jobs?limit=200&include=result' : '/rest/v1/iam/users?mask=*';
  const head = `GET ${path} HTTP/1.1\r\nHost: mixed\r\nAuthorization: Bearer ${isSpeech ? KEY : token}\r\n\r\n`;
  for (let n = 0; n < UNREAD_ANSWERS && socket.writable; n++) socket.write(head);
  await pause(HELD_MS, signal);
  socket.destroy();
  ledger.count(what, 'left');
};

/** Sends much sound at once, and from then on neither reads nor writes. */
const stall = async ({ stage, ledger, signal }: LoadContext): Promise<void> => {
  const what = 'realtime socket that stops';
  const socket = await openSocket(stage.speechUrl, ledger);
  if (!socket) return;
  const sound = readFileSync(testdata('audio/words.wav'));
  for (let n = 0; n < 20; n++) socket.send(sound);
  socket.pause();
  await pause(HELD_MS, signal);
  socket.terminate();
  ledger.count(what, 'left');
};

/** Goes away in the middle of its upload or while it is worked on. */
const leave = async (context: LoadContext): Promise<void> => {
  const { random } = context;
  const form = new FormData();
  form.append('file', await openAsBlob(testdata('audio/words.flac')), 'words.flac');
  const signal = AbortSignal.timeout(random.int(150));
  const path = random.pick(['/api/v1/transcribe', '/v1/audio/transcriptions']);
  await askSpeech(context, { what: 'client that leaves', method: 'POST', path, form, signal });
};

export const DIFFICULT_LANES: readonly Lane[] = [
  {
    lanes: 2,
    pauseMs: 1000,
    operations: [
      { weight: 2, run: drip },
      { weight: 2, run: neverRead },
      { weight: 2, run: stall },
      { weight: 5, run: leave },
    ],
  },
];
