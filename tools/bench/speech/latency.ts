/** How soon a caller is served: the first text of a realtime session, and a short recording while long ones are worked on. */

import { benchModel } from '../../bench-models/make.ts';
import { measureRealtime } from '../../soak/realtime.ts';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import { median } from './ratio.ts';
import { writeWav } from './recordings.ts';
import { type BenchService, formOf, startBenchService } from './service.ts';

const SESSIONS = 16;
const MOST_BEYOND_MS = 30;
const JOBS = 4;
const SHORT_SEC = 5;
const MOST_SLOWDOWN = 3;

const measurePartials = async ({ quick }: BenchContext): Promise<BenchRow> => {
  const { beyondEngineMs, utterances, wrong, unfinished, finalMs } = await measureRealtime(SESSIONS, quick ? 12 : 45);
  return {
    figure: `first partial beyond the engine's own, ${SESSIONS} sessions`,
    value: `${beyondEngineMs.p95} ms p95`,
    target: `≤ ${MOST_BEYOND_MS} ms p95`,
    met: unfinished === 0 && beyondEngineMs.p95 <= MOST_BEYOND_MS,
    note: `median ${beyondEngineMs.p50} ms, longest ${beyondEngineMs.max} ms; ${utterances} utterances, ${wrong.length} heard wrongly, ${unfinished} without a text; final text ${finalMs.p95} ms p95 after the last sample`,
  };
};

/** Latencies of one request after the other, ms. */
const request = async (service: BenchService, path: string, count: number, key: string): Promise<number[]> => {
  const latencies: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const startMs = performance.now();
    await service.transcribe(path, { key });
    latencies.push(performance.now() - startMs);
  }
  return latencies;
};

const submitJobs = async (service: BenchService, path: string): Promise<string[]> => {
  const ids: string[] = [];
  for (let job = 0; job < JOBS; job += 1) {
    const answer = await service.fetch('/api/v1/jobs', { method: 'POST', body: await formOf(path, {}) });
    ids.push(((await answer.json()) as { id: string }).id);
  }
  return ids;
};

const stillRunning = async (service: BenchService, ids: readonly string[]): Promise<number> => {
  const states = await Promise.all(
    ids.map(async (id) => ((await (await service.fetch(`/api/v1/jobs/${id}`)).json()) as { status: string }).status),
  );
  return states.filter((status) => status === 'running').length;
};

const waitUntilRunning = async (service: BenchService, ids: readonly string[], signal: AbortSignal): Promise<void> => {
  while (!signal.aborted && (await stillRunning(service, ids)) < ids.length)
    await new Promise((resolve) => setTimeout(resolve, 100));
};

const measureBeside = async ({ folder, quick, log, signal }: BenchContext): Promise<BenchRow[]> => {
  const model = await benchModel('30m');
  // All four run at once, on however many cores.
  const settings = { 'speech.jobs.max_concurrent': String(JOBS) };
  await using service = await startBenchService(folder, [model], signal, settings);
  const short = (await writeWav(folder, SHORT_SEC)).path;
  const long = (await writeWav(folder, quick ? 1200 : 3600)).path;
  const count = quick ? 5 : 15;
  await request(service, short, 3, service.interactiveKey);
  const idle = await request(service, short, count, service.interactiveKey);
  const ids = await submitJobs(service, long);
  await waitUntilRunning(service, ids, signal);
  const beside = await request(service, short, count, service.interactiveKey);
  const ordinary = await request(service, short, count, service.batchKey);
  const running = await stillRunning(service, ids);
  for (const id of ids) await service.fetch(`/api/v1/jobs/${id}`, { method: 'DELETE' });
  if (running < JOBS) throw new Error(`only ${running} of ${JOBS} jobs ran until the end of the measurement`);
  log(`idle ${median(idle).toFixed(0)} ms, beside jobs ${median(beside).toFixed(0)} ms`);
  const row = (figure: string, latencies: readonly number[], isPromised: boolean): BenchRow => {
    const value = median(latencies) / median(idle);
    return {
      figure,
      value: `${value.toFixed(2)} (${median(latencies).toFixed(0)} ÷ ${median(idle).toFixed(0)} ms)`,
      target: isPromised ? `≤ ${MOST_SLOWDOWN}` : '',
      met: isPromised ? value <= MOST_SLOWDOWN : null,
      note: `longest ${Math.max(...latencies).toFixed(0)} ms`,
    };
  };
  const jobs = `${JOBS} jobs of ${quick ? 20 : 60} min`;
  return [
    row(`a request of ${SHORT_SEC} s beside ${jobs} ÷ idle, interactive key`, beside, true),
    row('the same with an ordinary key', ordinary, false),
  ];
};

export const LATENCY_BENCH: BenchPart = {
  name: 'speech-latency',
  title: 'Speech: first partial, and a short request beside long jobs',
  run: async (context) => ({ rows: [await measurePartials(context), ...(await measureBeside(context))], notes: [] }),
};
