/** The platform's requests: Parley beside the bare ceiling and the yardstick, in alternating runs. */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import { medianOf } from './load.ts';
import { type Figures, measureInTurn } from './measure.ts';
import { readWriteCounts, syncsBetween } from './parley.ts';
import { type Service, startBare, startParleyService, startYardstick } from './services.ts';

const USERS = 10_000;
const SYNCS_TRIED = 200;
const PAGE_BYTES = 4096;
/** Above this a sync is what a write waits for, so that sharing it must show. */
const SLOW_SYNC_MS = 2;

type Compared = Readonly<Record<string, Figures>>;

/** Median time of a disk sync after a page is appended, ms, where the data folder lies. */
export const measureSync = (folder: string): number => {
  const path = join(folder, 'sync');
  const file = openSync(path, 'w');
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const times: number[] = [];
  try {
    for (let n = 0; n < SYNCS_TRIED; n++) {
      writeSync(file, page);
      const startedMs = performance.now();
      fdatasyncSync(file);
      times.push(performance.now() - startedMs);
    }
  } finally {
    closeSync(file);
    rmSync(path);
  }
  return medianOf(times);
};

const cpuRow = (figure: string, { Parley, bare, yardstick }: Compared, most: number): BenchRow => ({
  figure: `${figure}: CPU a request`,
  value: `${Parley!.cpuMs.toFixed(3)} ms`,
  target: `≤ ${most} ms`,
  met: Parley!.cpuMs <= most,
  note: `bare ${bare!.cpuMs.toFixed(3)} ms, yardstick ${yardstick!.cpuMs.toFixed(3)} ms`,
});

const ratesOf = ({ Parley, bare, yardstick }: Compared): string =>
  `${Parley!.rate.toFixed(0)}/s, bare ${bare!.rate.toFixed(0)}/s, yardstick ${yardstick!.rate.toFixed(0)}/s`;

type Writes = { readonly patches: number; readonly syncs: number };

const rowsOf = (
  found: Readonly<Record<'get' | 'list' | 'patch', Compared>>,
  writes: Writes,
  syncMs: number,
): BenchRow[] => {
  const { get, list, patch } = found;
  const ofBare = get.Parley!.rate / get.bare!.rate;
  const ofYardstick = patch.Parley!.rate / patch.yardstick!.rate;
  return [
    cpuRow('GET one user, session and role checked', get, 0.08),
    {
      figure: 'the same: rate ÷ rate of bare node:http',
      value: ofBare.toFixed(2),
      target: '≥ 0.5',
      met: ofBare >= 0.5,
      note: ratesOf(get),
    },
    cpuRow('list 100 of 10,000, filtered and ordered', list, 0.35),
    {
      figure: 'the same: rate ÷ yardstick',
      value: (list.Parley!.rate / list.yardstick!.rate).toFixed(1),
      target: '',
      met: null,
      note: ratesOf(list),
    },
    cpuRow('PATCH, durable, with journal entry, 16 clients', patch, 0.25),
    {
      figure: 'the same: writes that share a disk sync',
      value: (writes.patches / writes.syncs).toFixed(1),
      target: '≥ 8',
      met: writes.patches / writes.syncs >= 8,
      note: `${writes.patches} writes, ${writes.syncs} syncs; one sync takes ${syncMs.toFixed(2)} ms here`,
    },
    {
      figure: 'the same: rate ÷ one commit each',
      value: ofYardstick.toFixed(2),
      target: `≥ 4 where a sync takes ≥ ${SLOW_SYNC_MS} ms`,
      met: syncMs >= SLOW_SYNC_MS ? ofYardstick >= 4 : null,
      note: ratesOf(patch),
    },
  ];
};

/** Counts what the measured PATCHes of Parley cost in disk syncs, warm-up included. */
const countWrites = (service: Service, dataDir: string): { ask: () => Buffer; end(): Writes } => {
  const before = readWriteCounts(dataDir);
  let patches = 0;
  return {
    ask: () => {
      patches += 1;
      return service.asks.patch();
    },
    end: () => ({ patches, syncs: syncsBetween(before, readWriteCounts(dataDir)) }),
  };
};

const run = async ({ folder, quick, rounds, log, signal }: BenchContext) => {
  await using stack = new AsyncDisposableStack();
  const wanted = { folder, users: USERS, signal };
  log(`filling ${USERS} users`);
  const parley = await startParleyService(wanted, stack);
  const services = [parley, await startBare(parley, wanted, stack), await startYardstick(wanted, stack)];
  const syncMs = measureSync(folder);
  const counted = countWrites(parley, join(folder, 'parley'));
  const found = await measureInTurn(
    services,
    {
      get: ({ asks }) => asks.get,
      list: ({ asks }) => asks.list,
      patch: (service) => (service === parley ? counted.ask : service.asks.patch),
    },
    { seconds: quick ? 1 : 3, warmSeconds: quick ? 0.5 : 2, rounds, log, signal },
  );
  const notes = [
    `Medians of ${rounds}. \`bare\` answers the bytes of Parley's answers from memory; \`yardstick\` is Fastify over \`node:sqlite\`, one commit a write. The load, 16 connections, is another process on the same machine; its CPU is not counted.`,
  ];
  return { rows: rowsOf(found, counted.end(), syncMs), notes };
};

export const PLATFORM_BENCH: BenchPart = {
  name: 'platform',
  title: 'Platform: requests, 10,000 users',
  run,
};
