/** How long the platform takes to its first answer, and what it takes of memory. */

import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { BenchContext, BenchPart } from '../part.ts';
import { medianOf, openLoad } from './load.ts';
import { fill, startParley } from './parley.ts';
import { CLIENTS, createAsks, idOf } from './seed.ts';

const USERS = 10_000;
const STARTS_A_ROUND = 3;
/** Until what a start leaves behind is collected. */
const SETTLE_MS = 2000;
const MAX_START_MS = 700;
const MAX_PSS_MIB = 160;
const READS = 100_000;

type Start = { readonly ms: number; readonly cpuMs: number; readonly pssMib: number };

/** Starts, asks at once, waits, looks and ends. */
const startOnce = async (dataDir: string, signal: AbortSignal): Promise<Start> => {
  const startedMs = performance.now();
  await using child = await startParley({ dataDir, signal });
  const answer = await fetch(`${child.url}/healthz`);
  const ms = performance.now() - startedMs;
  if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`);
  const cpuMs = child.cpuMs();
  await wait(SETTLE_MS, undefined, { signal });
  return { ms, cpuMs, pssMib: child.pssMib() };
};

const show = (starts: readonly Start[], key: keyof Start): string => {
  const values = starts.map((each) => each[key]);
  return `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`;
};

/** Memory after it has answered many reads of all users and as many lists as that takes. */
const measureUsed = async (dataDir: string, token: string, reads: number, signal: AbortSignal): Promise<number> => {
  await using child = await startParley({ dataDir, signal });
  using load = await openLoad(child.url, CLIENTS, signal);
  const asks = createAsks(
    token,
    Array.from({ length: USERS }, (_, index) => idOf(index + 1)),
  );
  await load.run(asks.get, { requests: reads });
  await wait(SETTLE_MS, undefined, { signal });
  return child.pssMib();
};

const rowsOf = (what: string, starts: readonly Start[]) => {
  const ms = medianOf(starts.map((each) => each.ms));
  const pss = medianOf(starts.map((each) => each.pssMib));
  return [
    {
      figure: `${what}: start to first answer`,
      value: `${ms.toFixed(0)} ms`,
      target: `≤ ${MAX_START_MS} ms`,
      met: ms <= MAX_START_MS,
      note: `${show(starts, 'ms')} ms, CPU ${medianOf(starts.map((each) => each.cpuMs)).toFixed(0)} ms`,
    },
    {
      figure: `${what}: memory (PSS) ${SETTLE_MS / 1000} s later`,
      value: `${pss.toFixed(0)} MiB`,
      target: `≤ ${MAX_PSS_MIB} MiB`,
      met: pss <= MAX_PSS_MIB,
      note: `${show(starts, 'pssMib')} MiB`,
    },
  ];
};

const run = async ({ folder, quick, rounds, log, signal }: BenchContext) => {
  const dataDir = join(folder, 'filled');
  log(`filling ${USERS} users`);
  let token: string;
  {
    await using child = await startParley({ dataDir, signal });
    token = await fill(child.url, USERS, signal);
  }
  const filled: Start[] = [];
  const empty: Start[] = [];
  for (let n = 0; n < (quick ? 1 : rounds * STARTS_A_ROUND); n++) {
    filled.push(await startOnce(dataDir, signal));
    empty.push(await startOnce(join(folder, `empty-${n}`), signal));
    log(`${filled.at(-1)!.ms.toFixed(0)} ms with ${USERS} users, ${empty.at(-1)!.ms.toFixed(0)} ms on an empty folder`);
  }
  const used = await measureUsed(dataDir, token, quick ? USERS : READS, signal);
  const rows = [
    ...rowsOf(`${USERS.toLocaleString('en')} users`, filled),
    ...rowsOf('empty data folder', empty),
    {
      figure: `memory (PSS) after ${READS.toLocaleString('en')} GETs of all users`,
      value: `${used.toFixed(0)} MiB`,
      target: '',
      met: null,
    },
  ];
  return { rows, notes: [] };
};

export const START_BENCH: BenchPart = { name: 'platform-start', title: 'Platform: start and memory', run };
