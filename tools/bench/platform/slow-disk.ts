/**
 * Writes where a disk sync is slow: each sync of Parley and of the yardstick is held up by strace, which also counts
 * them. So the sharing of syncs shows on a machine whose disk is quick.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext, BenchPart } from '../part.ts';
import { measureInTurn } from './measure.ts';
import { readWriteCounts, syncsBetween } from './parley.ts';
import { type Service, startParleyService, startYardstick } from './services.ts';

const STRACE = 'strace';
const USERS = 1000;
const SYNC_MS = 4;
const FASTER = 4;
const SHARED = 8;

const countLines = (path: string): number => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0);

const run = async ({ folder, quick, rounds, log, signal }: BenchContext) => {
  if (spawnSync(STRACE, ['-V']).status !== 0) return { rows: [], notes: ['Not measured: strace is not installed.'] };
  await using stack = new AsyncDisposableStack();
  const traceOf = (name: string): string => join(folder, `${name}.strace`);
  const delay = `inject=fsync,fdatasync:delay_exit=${SYNC_MS * 1000}`;
  const under = (name: string): string[] => [
    'strace',
    '-f',
    '-qq',
    '--seccomp-bpf',
    '-o',
    traceOf(name),
    '-e',
    'trace=fsync,fdatasync',
    '-e',
    delay,
  ];
  log(`filling ${USERS} users, ${SYNC_MS} ms a sync`);
  const wanted = { folder, users: USERS, signal, under };
  const parley = await startParleyService(wanted, stack);
  const yardstick = await startYardstick(wanted, stack);
  const dataDir = join(folder, 'parley');
  const [before, countsBefore] = [countLines(traceOf('Parley')), readWriteCounts(dataDir)];
  let patches = 0;
  const patchOf =
    ({ asks }: Service) =>
    () => {
      patches += 1;
      return asks.patch();
    };
  const { patch } = await measureInTurn(
    [parley, yardstick],
    { patch: (service) => (service === parley ? patchOf(service) : service.asks.patch) },
    { seconds: quick ? 1 : 3, warmSeconds: 1, rounds, log, signal },
  );
  const syncs = countLines(traceOf('Parley')) - before;
  const counted = syncsBetween(countsBefore, readWriteCounts(dataDir));
  const ratio = patch.Parley!.rate / patch.yardstick!.rate;
  const rows = [
    {
      figure: 'PATCH, 16 clients: rate ÷ one commit each',
      value: ratio.toFixed(2),
      target: `≥ ${FASTER}`,
      met: ratio >= FASTER,
      note: `${patch.Parley!.rate.toFixed(0)}/s and ${patch.yardstick!.rate.toFixed(0)}/s`,
    },
    {
      figure: 'the same: writes that share a disk sync',
      value: (patches / syncs).toFixed(1),
      target: `≥ ${SHARED}`,
      met: patches / syncs >= SHARED,
      note: `${patches} writes, ${syncs} syncs by strace, ${counted} by SQLite's own counters`,
    },
  ];
  return { rows, notes: [`Each sync of either service is held up by ${SYNC_MS} ms. Medians of ${rounds}.`] };
};

export const SLOW_DISK_BENCH: BenchPart = {
  name: 'platform-slow-disk',
  title: 'Platform: writes on a slow disk',
  run,
};
