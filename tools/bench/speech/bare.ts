/** The bare engine, and the segments it shares with the service. */
import { fork } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AudioSummary, MediaOptions } from '../../../packages/speech/src/audio/audio.ts';
import { openRecording } from '../../../packages/speech/src/audio/decode.ts';
import { readRecording } from '../../../packages/speech/src/audio/recording.ts';
import { openSource } from '../../../packages/speech/src/audio/source.ts';
import type { BenchModel } from '../../bench-models/make.ts';
import type { BareRun, BareTask } from './bare-child.ts';
import { RATE } from './recordings.ts';

/** As the service does by default for a model of sherpa-onnx. */
export const MEDIA: MediaOptions = {
  channelMode: 'downmix',
  maxSplitChannels: 2,
  sampleRate: RATE,
  cut: { maxSec: 20, pauseSec: 0.3, padSec: 0.2 },
  voiceActivity: { enabled: true, threshold: 0.5, minSilenceMs: 300, minSpeechMs: 250, sileroPath: undefined },
  maxDurationSec: 4 * 3600,
  rawPcmRate: undefined,
  ffmpegPath: '',
  ffmpegTimeoutMs: 1000,
};

export type Segments = {
  readonly samplesPath: string;
  readonly lengths: readonly number[];
  readonly summary: AudioSummary;
};

/** Cuts recordings as the service will, one after the other, into one file in the folder. */
export const cutRecordings = async (
  folder: string,
  name: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Segments> => {
  const pieces: Int16Array[] = [];
  const sink = {
    emit: async ({ samples }: { readonly samples: Int16Array }): Promise<void> => void pieces.push(samples),
    progress: () => undefined,
  };
  let summary: AudioSummary | undefined;
  for (const path of paths) summary = await readRecording(path, MEDIA, sink, signal);
  const samplesPath = join(folder, `${name}.i16`);
  await writeFile(
    samplesPath,
    Buffer.concat(pieces.map((piece) => new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength))),
  );
  return { samplesPath, lengths: pieces.map(({ length }) => length), summary: summary! };
};

/** What decoding alone costs, CPU s an hour of audio: the format's decoder from the first byte to the last sample. */
export const decoderCost = async (path: string, seconds: number, signal: AbortSignal): Promise<number> => {
  const costs: number[] = [];
  for (let turn = 0; turn < 2; turn += 1) {
    await using source = await openSource(path);
    const cpu = process.cpuUsage();
    const decoding = await openRecording(source, MEDIA, signal);
    for await (const block of decoding.blocks) void block;
    const { user, system } = process.cpuUsage(cpu);
    costs.push((user + system) / 1e6 / (seconds / 3600));
  }
  // The first turn also compiles the decoder.
  return Math.min(...costs);
};

export type BareEngine = AsyncDisposable & { readonly pid: number; run(): Promise<BareRun> };

export type BareOptions = {
  /** Segments in flight; one more than there are cores when not given. */
  readonly inFlight?: number;
  readonly numThreads?: number;
};

/** Starts the bare engine with its model loaded. */
export const startBare = async (
  { model, tokens }: BenchModel,
  { samplesPath, lengths }: Segments,
  signal: AbortSignal,
  { inFlight = availableParallelism() + 1, numThreads = 1 }: BareOptions = {},
): Promise<BareEngine> => {
  const child = fork(fileURLToPath(new URL('./bare-child.ts', import.meta.url)), [], {
    execPath: process.execPath,
    execArgv: [],
    env: { UV_THREADPOOL_SIZE: String(inFlight) },
    serialization: 'advanced',
    signal,
    killSignal: 'SIGKILL',
  });
  // An abort is told as an error first; what counts is that the process has ended.
  child.on('error', () => undefined);
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const failed = gone.then((code) => {
    signal.throwIfAborted();
    throw new Error(`the bare engine ended with ${code}`);
  });
  failed.catch(() => undefined);
  const answer = (): Promise<unknown> =>
    Promise.race([new Promise((resolve) => child.once('message', resolve)), failed]);
  child.send({ model, tokens, samplesPath, lengths, inFlight, numThreads } satisfies BareTask);
  await answer();
  return {
    pid: child.pid!,
    run: async () => {
      child.send('run');
      return (await answer()) as BareRun;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
};
