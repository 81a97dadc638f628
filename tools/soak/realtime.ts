/**
 * `npm run soak -- realtime [SESSIONS] [SECONDS]`: sessions at the pace of speech on the fixture streaming model, then the
 * bare engine at the same pace. Reports how much later than the engine's own the first text of an utterance reaches the
 * client, and whether any session fell behind.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import type { BareResult, BareTask } from './realtime-bare.ts';
import { pace, RATE, type Script, writeScript } from './realtime-pace.ts';
import { createDataDir, KEY, startService } from './service.ts';

const SESSIONS = 16;
const SECONDS = 60;
const PREFIX = 'conversation.item.input_audio_transcription.';
/** Longest wait for what is due after the last sample. */
const LAST_WAIT_MS = 20_000;

type Utterance = {
  readonly start: number;
  end: number;
  firstMs: number | undefined;
  transcript: string | undefined;
  /** From the moment its last sample was sent. */
  finalMs: number | undefined;
};

export type RealtimeReport = {
  readonly sessions: number;
  readonly utterances: number;
  /** Utterances whose text is not what was said: what was said and what was heard. */
  readonly wrong: readonly string[];
  readonly unfinished: number;
  /** ms by which the first text came later than the bare engine's. */
  readonly beyondEngineMs: Percentiles;
  /** ms from the last sample of an utterance to its final text. */
  readonly finalMs: Percentiles;
};

type Percentiles = { readonly p50: number; readonly p95: number; readonly max: number };

const percentiles = (values: readonly number[]): Percentiles => {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN) * 10) / 10;
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
};

const toSample = (ms: number): number => Math.round((ms * RATE) / 1000);

/** One client: what it hears of its utterances, on the clock of its own sound. */
const openClient = async (url: string, script: Script) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=demo-streaming-en`, {
    headers: { authorization: `Bearer ${KEY}` },
  });
  const byId = new Map<string, Utterance>();
  const sentMs: { readonly end: number; readonly ms: number }[] = [];
  let begunMs = 0;
  let change = Promise.withResolvers<void>();
  const faults: string[] = [];
  socket.on('message', (data) => {
    const event = JSON.parse(String(data));
    const now = performance.now() - begunMs;
    const utterance = byId.get(event.item_id);
    if (event.type === 'input_audio_buffer.speech_started')
      byId.set(event.item_id, {
        start: toSample(event.audio_start_ms),
        end: Number.POSITIVE_INFINITY,
        firstMs: undefined,
        transcript: undefined,
        finalMs: undefined,
      });
    if (event.type === 'input_audio_buffer.speech_stopped' && utterance) utterance.end = toSample(event.audio_end_ms);
    if (event.type === `${PREFIX}delta` && utterance) utterance.firstMs ??= now;
    if (event.type === `${PREFIX}completed` && utterance) {
      utterance.transcript = event.transcript;
      const sent = sentMs.find(({ end }) => end >= utterance.end);
      utterance.finalMs = sent && now - sent.ms;
    }
    if (event.type === 'error' || event.type === `${PREFIX}failed`) faults.push(JSON.stringify(event.error));
    change.resolve();
    change = Promise.withResolvers();
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.send(
    JSON.stringify({
      type: 'session.update',
      session: { type: 'transcription', audio: { input: { format: { type: 'audio/pcm', rate: RATE } } } },
    }),
  );
  return {
    faults,
    utterances: (): Utterance[] => [...byId.values()],
    send: (samples: Int16Array, end: number): void => {
      if (begunMs === 0) begunMs = performance.now() - (samples.length * 1000) / RATE;
      sentMs.push({ end, ms: performance.now() - begunMs });
      socket.send(Buffer.from(samples.buffer));
    },
    /** Resolves when every utterance of the script has its text, or after a while. */
    finished: async (): Promise<void> => {
      const lastMs = performance.now() + LAST_WAIT_MS;
      const done = (): boolean =>
        [...byId.values()].filter(({ transcript }) => transcript !== undefined).length >= script.texts.length;
      while (!done() && performance.now() < lastMs)
        await Promise.race([change.promise, new Promise((resolve) => setTimeout(resolve, 100))]);
    },
    close: (): void => socket.terminate(),
  };
};

const runBare = (task: BareTask): Promise<BareResult> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL('./realtime-bare.ts', import.meta.url)), [], {
      execPath: process.execPath,
      serialization: 'advanced',
    });
    child.once('message', (result) => resolve(result as BareResult));
    child.once('exit', (code) => reject(new Error(`the bare engine ended with ${code}`)));
    child.send(task);
  });

/** Runs service and bare engine one after the other. */
export const measureRealtime = async (count: number, seconds: number): Promise<RealtimeReport> => {
  const dataDir = await createDataDir(['offline-transducer', 'online-transducer']);
  const service = await startService(dataDir.path);
  try {
    const scripts = Array.from({ length: count }, (_, session) => writeScript(session, seconds));
    const clients = await Promise.all(scripts.map((script) => openClient(service.url, script)));
    await pace(scripts, (session, samples, end) => clients[session]!.send(samples, end));
    await Promise.all(clients.map((client) => client.finished()));
    const heard = clients.map((client) => client.utterances());
    for (const client of clients) client.close();
    const faults = clients.flatMap((client) => client.faults);
    if (faults.length > 0) throw new Error(faults.join('; '));
    const bare = await runBare({
      seconds,
      sessions: heard.map((utterances) => utterances.map(({ start, end }) => ({ start, end }))),
    });
    const all = heard.flatMap((utterances, session) =>
      utterances.map((one, index) => ({ ...one, said: scripts[session]!.texts[index], bareMs: bare[session]![index] })),
    );
    return {
      sessions: count,
      utterances: all.length,
      wrong: all.flatMap(({ transcript, said }) => (transcript === said ? [] : `${said} | ${transcript}`)),
      unfinished:
        all.filter(({ transcript }) => transcript === undefined).length +
        Math.max(0, scripts.reduce((sum, { texts }) => sum + texts.length, 0) - all.length),
      beyondEngineMs: percentiles(
        all.flatMap(({ firstMs, bareMs }) => (firstMs === undefined || bareMs === undefined ? [] : firstMs - bareMs)),
      ),
      finalMs: percentiles(all.flatMap(({ finalMs }) => finalMs ?? [])),
    };
  } finally {
    await service.stop();
    await dataDir.remove();
  }
};

export const runRealtime = async ([sessions, seconds]: readonly string[]): Promise<void> => {
  const report = await measureRealtime(Number(sessions) || SESSIONS, Number(seconds) || SECONDS);
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  if (report.unfinished > 0) process.exitCode = 1;
};
