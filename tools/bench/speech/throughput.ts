/** The service beside the bare engine: one long recording, several at once, and each format. */
import { availableParallelism } from 'node:os';
import { benchModel } from '../../bench-models/make.ts';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import { type BareOptions, cutRecordings, decoderCost, startBare } from './bare.ts';
import { compare } from './ratio.ts';
import { type CodedFormat, FORMATS, type Recording, writeCoded, writeWav } from './recordings.ts';
import { startBenchService } from './service.ts';

const AT_ONCE = 8;
const FORMAT_TARGETS: Readonly<Record<CodedFormat, number>> = { mp3: 0.85, m4a: 0.85, flac: 0.85, opus: 0.8 };
const LARGE_TARGET = 0.9;
const WAV_TARGET = 0.95;

/** Seconds of sound in one run: some ten seconds of work for two cores. */
const lengthOf = ({ quick }: BenchContext, seconds: number): number => (quick ? seconds / 10 : seconds);

/** Other ways to run the bare engine: none must be better than the one the service is held against. */
const compareSettings = async (context: BenchContext, recording: Recording): Promise<string> => {
  const { folder, signal, log } = context;
  const cores = availableParallelism();
  const segments = await cutRecordings(folder, 'settings', [recording.path], signal);
  const model = await benchModel('30m');
  const measure = async (options: BareOptions): Promise<number> => {
    await using bare = await startBare(model, segments, signal, options);
    await bare.run();
    return recording.seconds / ((await bare.run()).wallMs / 1000);
  };
  const ways: readonly [string, BareOptions][] = [
    [`${cores + 1} segments in flight, one thread each`, { inFlight: cores + 1 }],
    [`${cores} in flight`, { inFlight: cores }],
    ['1 in flight', { inFlight: 1 }],
    [`1 in flight with ${cores} threads`, { inFlight: 1, numThreads: cores }],
  ];
  const said: string[] = [];
  for (const [name, options] of ways) {
    signal.throwIfAborted();
    said.push(`${name} ${(await measure(options)).toFixed(0)}`);
    log(said.at(-1)!);
  }
  return `The bare engine, audio seconds a second, once each: ${said.join('; ')}. The first is what the service is held against.`;
};

const runLong = async (context: BenchContext): Promise<{ rows: BenchRow[]; notes: string[] }> => {
  const { folder, signal } = context;
  const model = await benchModel('30m');
  await using service = await startBenchService(folder, [model], signal);
  const seconds = lengthOf(context, 2400);
  const recording = await writeWav(folder, seconds);
  const several: Recording[] = [];
  for (let turn = 0; turn < AT_ONCE; turn += 1) several.push(await writeWav(folder, seconds / AT_ONCE, turn));
  const rows = [
    await compare(context, service, {
      figure: `service ÷ bare engine: one wav of ${seconds / 60} min`,
      atLeast: WAV_TARGET,
      model,
      recordings: [recording],
    }),
    await compare(context, service, {
      figure: `service ÷ bare engine: ${AT_ONCE} wavs of ${seconds / 60 / AT_ONCE} min at once`,
      atLeast: WAV_TARGET,
      model,
      recordings: several,
    }),
  ];
  return { rows, notes: [await compareSettings(context, several[0]!)] };
};

const runFormats = async (context: BenchContext): Promise<{ rows: BenchRow[]; notes: string[] }> => {
  const { folder, signal } = context;
  const [small, large] = [await benchModel('30m'), await benchModel('100m')];
  await using service = await startBenchService(folder, [small, large], signal);
  const rows: BenchRow[] = [];
  for (const format of FORMATS) {
    const recording = await writeCoded(folder, format, lengthOf(context, 1200));
    rows.push(
      await compare(context, service, {
        figure: `service ÷ bare engine: ${format}`,
        atLeast: FORMAT_TARGETS[format],
        model: small,
        recordings: [recording],
        floor: await decoderCost(recording.path, recording.seconds, signal),
      }),
    );
  }
  const recording = await writeCoded(folder, 'mp3', lengthOf(context, 600));
  rows.push(
    await compare(context, service, {
      figure: 'service ÷ bare engine: mp3, 100 M',
      atLeast: LARGE_TARGET,
      model: large,
      recordings: [recording],
      floor: await decoderCost(recording.path, recording.seconds, signal),
    }),
  );
  return { rows, notes: [] };
};

export const LONG_BENCH: BenchPart = {
  name: 'speech-long',
  title: 'Speech: the service beside the bare engine, 30 M int8',
  run: runLong,
};

export const FORMATS_BENCH: BenchPart = {
  name: 'speech-formats',
  title: 'Speech: formats beside the bare engine, 30 M and 100 M int8',
  run: runFormats,
};
