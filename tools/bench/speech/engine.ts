/** The engine process alone: what a second core brings, and the most memory it takes. */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createSilentLog } from '@parley/kit/log.ts';
import { readManifest, toEngineModel } from '../../../packages/speech/src/models/manifest.ts';
import { startRecognizer } from '../../../packages/speech/src/recognizer/host.ts';
import type { Recognizer } from '../../../packages/speech/src/recognizer/recognizer.ts';
import { benchModel } from '../../bench-models/make.ts';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import { peakMib } from './processes.ts';
import { median } from './ratio.ts';
import { RATE, speakFor } from './recordings.ts';

const START_MS = 60_000;
const LEAST_SCALING = 1.85;
const MOST_ENGINE_MIB = 450;
const SEGMENT_SEC = 8;
const LONGEST_SEC = 20;

const startEngine = async (signal: AbortSignal): Promise<Recognizer> => {
  const { folder } = await benchModel('30m');
  const model = toEngineModel(await readManifest(folder), folder);
  return await startRecognizer(model, { log: createSilentLog(), startTimeoutMs: START_MS, signal });
};

/** Recognises `count` segments of so many seconds with every slot busy; how long it took, s. */
const decode = async (engine: Recognizer, count: number, seconds: number, signal: AbortSignal): Promise<number> => {
  const samples = await speakFor(seconds);
  const startMs = performance.now();
  let left = count;
  const work = async (): Promise<void> => {
    for (; left > 0 && !signal.aborted; ) {
      left -= 1;
      await engine.recognize({ samples, sampleRate: RATE, bandHz: RATE / 2 }, {}, signal);
    }
  };
  await Promise.all(Array.from({ length: engine.facts.slots }, work));
  return (performance.now() - startMs) / 1000;
};

/** All threads of the process, to these cores alone. */
const pin = (pid: number, cores: string): void => {
  execFileSync('taskset', ['-a', '-c', '-p', cores, String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] });
};

const missing = (figure: string, target: string, why: string): BenchRow => ({
  figure,
  value: `not measured: ${why}`,
  target,
  met: null,
});

const measureCores = async ({ rounds, quick, log, signal }: BenchContext): Promise<BenchRow> => {
  const [figure, target] = ['engine process: two cores ÷ one', `≥ ${LEAST_SCALING}`];
  if (availableParallelism() < 2) return missing(figure, target, 'this machine has one core');
  await using engine = await startEngine(signal);
  const count = quick ? 12 : 60;
  const ratios: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    try {
      pin(engine.pid!, '0');
    } catch (error) {
      return missing(figure, target, `taskset: ${(error as Error).message}`);
    }
    const one = await decode(engine, count, SEGMENT_SEC, signal);
    pin(engine.pid!, '0,1');
    const two = await decode(engine, count, SEGMENT_SEC, signal);
    log(`two cores ÷ one: ${(one / two).toFixed(2)}`);
    if (round >= 0) ratios.push(one / two);
  }
  const value = median(ratios);
  const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
  return { figure, value: `${value.toFixed(2)} (${range})`, target, met: value >= LEAST_SCALING };
};

const measureMemory = async ({ quick, signal }: BenchContext): Promise<BenchRow> => {
  await using engine = await startEngine(signal);
  await decode(engine, quick ? 6 : 30, LONGEST_SEC, signal);
  const value = peakMib(engine.pid!);
  return {
    figure: `engine process: peak memory, 30 M int8, ${LONGEST_SEC} s cuts, ${engine.facts.slots} in flight`,
    value: `${value.toFixed(0)} MiB`,
    target: `≤ ${MOST_ENGINE_MIB} MB`,
    met: value * 2 ** 20 <= MOST_ENGINE_MIB * 1e6,
  };
};

export const ENGINE_BENCH: BenchPart = {
  name: 'speech-engine',
  title: 'Speech: the engine process, cores and memory',
  run: async (context) => ({ rows: [await measureCores(context), await measureMemory(context)], notes: [] }),
};
