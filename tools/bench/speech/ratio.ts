/** The service beside the bare engine: the same recording, model and segments, in turns. */
import type { BenchModel } from '../../bench-models/make.ts';
import type { BenchContext, BenchRow } from '../part.ts';
import { type BareEngine, cutRecordings, startBare } from './bare.ts';
import { cpuByRole, type Spent } from './processes.ts';
import type { Recording } from './recordings.ts';
import type { BenchService } from './service.ts';

const SEC_PER_HOUR = 3600;

export type Comparison = {
  readonly figure: string;
  /** The least that counts as held. */
  readonly atLeast: number;
  readonly model: BenchModel;
  /** Sent at once. */
  readonly recordings: readonly Recording[];
  /** What of the service's work nothing here can avoid, CPU s an hour of audio. */
  readonly floor?: number;
};

type Round = { readonly ratio: number; readonly serviceCpuMs: Spent; readonly bareCpuMs: number };

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

const difference = (after: Spent, before: Spent): Spent => ({
  engine: after.engine - before.engine,
  media: after.media - before.media,
  rest: after.rest - before.rest,
});

const wholeOf = ({ engine, media, rest }: Spent): number => engine + media + rest;

const wordsOf = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** One run of each, in the order asked for. */
const takeRound = async (
  service: BenchService,
  bare: BareEngine,
  { recordings, model, figure }: Comparison,
  isServiceFirst: boolean,
): Promise<Round> => {
  const measureService = async () => {
    const before = cpuByRole(service.pid);
    const startMs = performance.now();
    const texts = await Promise.all(recordings.map(({ path }) => service.transcribe(path, { model: model.id })));
    const wallMs = performance.now() - startMs;
    return { wallMs, cpuMs: difference(cpuByRole(service.pid), before), texts };
  };
  const first = isServiceFirst ? await measureService() : undefined;
  const own = await bare.run();
  const served = first ?? (await measureService());
  const [said, heard] = [wordsOf(served.texts.join(' ')), wordsOf(own.texts.filter((text) => text !== '').join(' '))];
  // Different words would mean different segments, and then the times say nothing.
  if (said !== heard) throw new Error(`${figure}: service and bare engine heard different words`);
  return { ratio: own.wallMs / served.wallMs, serviceCpuMs: served.cpuMs, bareCpuMs: own.cpuMs };
};

/** Alternates service and bare engine after a run of each that does not count. */
export const compare = async (
  context: BenchContext,
  service: BenchService,
  comparison: Comparison,
): Promise<BenchRow> => {
  const { folder, rounds, signal, log } = context;
  const { figure, atLeast, recordings, model, floor } = comparison;
  const name = figure.replaceAll(/\W+/g, '-');
  const segments = await cutRecordings(
    folder,
    name,
    recordings.map(({ path }) => path),
    signal,
  );
  await using bare = await startBare(model, segments, signal);
  const hours = recordings.reduce((sum, { seconds }) => sum + seconds, 0) / SEC_PER_HOUR;
  const taken: Round[] = [];
  for (let round = -1; round < rounds; round += 1) {
    signal.throwIfAborted();
    const one = await takeRound(service, bare, comparison, round % 2 === 0);
    log(`${figure}: ${one.ratio.toFixed(3)}${round < 0 ? ' (not counted)' : ''}`);
    if (round >= 0) taken.push(one);
  }
  const ratios = taken.map(({ ratio }) => ratio);
  const cpuRatio = median(taken.map((one) => one.bareCpuMs / wholeOf(one.serviceCpuMs)));
  const perHour = (ms: number): number => ms / 1000 / hours;
  const spent = (of: (cpu: Spent) => number): string =>
    perHour(median(taken.map((one) => of(one.serviceCpuMs)))).toFixed(1);
  const parts = `engine ${spent(({ engine }) => engine)}, media ${spent(({ media }) => media)}, rest ${spent(({ rest }) => rest)}`;
  const own = perHour(median(taken.map((one) => one.bareCpuMs)));
  const [least, most] = [Math.min(...ratios).toFixed(2), Math.max(...ratios).toFixed(2)];
  const value = median(ratios);
  return {
    figure,
    value: `${value.toFixed(2)} (${least}-${most})`,
    target: `≥ ${atLeast.toFixed(2)}`,
    met: value >= atLeast,
    note: [
      `CPU s an hour of audio: service ${spent(wholeOf)} (${parts}), bare ${own.toFixed(1)}; by CPU ${cpuRatio.toFixed(2)}`,
      ...(floor === undefined
        ? []
        : [
            `the decoder alone ${floor.toFixed(1)}, so by CPU no more than ${(own / (own + floor)).toFixed(2)} can be had`,
          ]),
    ].join('; '),
  };
};
