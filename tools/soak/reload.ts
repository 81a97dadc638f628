/**
 * Swaps a model between two revisions again and again while requests come at a steady rate: none may fail, and the
 * memory of the whole process tree must not grow. The old and the new instance are both in memory for a moment, so
 * memory is compared when only one is left.
 */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { treePss } from './process-tree.ts';
import { createDataDir, KEY, type SoakService, startService, testdata } from './service.ts';

const MAX_GROWTH = 1.15;
const MIB = 2 ** 20;
const LONGEST_SETTLE_MS = 30_000;
const LOOK_AGAIN_MS = 100;
const LOOKS = 7;
const TICK_MS = 10;

export type ReloadReport = {
  readonly reloads: number;
  readonly requests: number;
  /** What really went out. */
  readonly perSecondSent: number;
  readonly revisions: readonly string[];
  readonly slowestMs: number;
  readonly reloadMs: readonly number[];
  readonly memoryMib: readonly number[];
  readonly growth: number;
  readonly faults: readonly string[];
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const headers = { authorization: `Bearer ${KEY}` };

/** A second revision of the fixture beside the first; answers the model's id and both revisions. */
const addRevision = async (dataDir: string): Promise<{ id: string; revisions: readonly string[] }> => {
  const from = testdata('models/offline-transducer');
  const manifest = JSON.parse(await readFile(join(from, 'model.json'), 'utf8'));
  const dir = join(dataDir, 'models', `${manifest.id}@next`);
  await cp(from, dir, { recursive: true });
  await writeFile(join(dir, 'model.json'), JSON.stringify({ ...manifest, revision: 'next' }));
  return { id: manifest.id, revisions: [manifest.revision, 'next'] };
};

/** Sends requests at a steady rate, whatever became of the earlier ones. */
const createLoad = (service: SoakService, perSecond: number, wav: Blob, faults: string[]) => {
  const revisions = new Set<string>();
  const underWay = new Set<Promise<void>>();
  let [requests, slowestMs] = [0, 0];
  const send = async (): Promise<void> => {
    const startedMs = performance.now();
    const body = new FormData();
    body.append('file', wav, 'recording.wav');
    try {
      const response = await fetch(`${service.url}/api/v1/transcribe`, { method: 'POST', headers, body });
      const answer = (await response.json()) as { model?: string; text?: string; code?: string };
      if (response.ok && answer.text) revisions.add(String(answer.model));
      else faults.push(`a request got ${response.status} ${answer.code ?? 'and no text'}`);
    } catch (thrown) {
      faults.push(`a request failed: ${(thrown as Error).message}`);
    }
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
  };
  const beganMs = performance.now();
  // By the clock, not by ticks: a busy machine lets ticks come late.
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - beganMs) / 1000) * perSecond);
    for (; requests < due; requests += 1) {
      const one = send().finally(() => underWay.delete(one));
      underWay.add(one);
    }
  }, TICK_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      const seconds = (performance.now() - beganMs) / 1000;
      await Promise.all(underWay);
      const perSecondSent = Math.round((requests / seconds) * 10) / 10;
      return { requests, perSecondSent, slowestMs: Math.round(slowestMs), revisions: [...revisions].sort() };
    },
  };
};

/** Waits until the instance that was swapped out is gone. */
const settle = async (service: SoakService, id: string): Promise<boolean> => {
  const deadlineMs = performance.now() + LONGEST_SETTLE_MS;
  while (performance.now() < deadlineMs) {
    const response = await fetch(`${service.url}/api/v1/models`, { headers });
    const { data } = (await response.json()) as { data: { id: string; resident: boolean; state: string }[] };
    const resident = data.filter((one) => one.id === id && one.resident);
    if (resident.length === 1 && resident[0]?.state === 'resident') return true;
    await sleep(LOOK_AGAIN_MS);
  }
  return false;
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** MiB. Memory moves while requests run; the middle of some looks is compared. */
const measure = async (service: SoakService, id: string, faults: string[]): Promise<number> => {
  if (!(await settle(service, id))) faults.push('the old instance did not go');
  const looks: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    looks.push(treePss(service.pid) / MIB);
    await sleep(LOOK_AGAIN_MS);
  }
  return median(looks);
};

/** Runs the whole story and resolves with what was seen. `warmMs` is how long requests run before the first look. */
export const reloadUnderLoad = async (reloads: number, perSecond: number, warmMs: number): Promise<ReloadReport> => {
  const faults: string[] = [];
  const data = await createDataDir();
  const { id, revisions } = await addRevision(data.path);
  const service = await startService(data.path, {
    'speech.jobs.sync_max_waiting': '2000',
    'speech.asr.max_resident_models': '4',
  });
  try {
    const wav = new Blob([new Uint8Array(await readFile(testdata('speech/account-balance.wav')))]);
    const load = createLoad(service, perSecond, wav, faults);
    const reload = async (revision: string): Promise<number> => {
      const startedMs = performance.now();
      const answer = await fetch(`${service.url}/api/v1/models/${id}/reload`, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ revision }),
      });
      if (!answer.ok) faults.push(`reload of ${revision} got ${answer.status} ${await answer.text()}`);
      else await answer.text();
      return Math.round(performance.now() - startedMs);
    };
    await reload(revisions[0]!);
    await sleep(warmMs);
    const memoryMib = [await measure(service, id, faults)];
    const reloadMs: number[] = [];
    for (let count = 1; count <= reloads; count += 1) {
      reloadMs.push(await reload(revisions[count % 2]!));
      memoryMib.push(await measure(service, id, faults));
    }
    const seen = await load.stop();
    const growth = memoryMib.at(-1)! / memoryMib[0]!;
    const rounded = memoryMib.map((mib) => Math.round(mib));
    return {
      reloads,
      ...seen,
      reloadMs,
      memoryMib: rounded,
      growth: Math.round(growth * 1000) / 1000,
      faults,
    };
  } finally {
    await service.stop();
    await data.remove();
  }
};

/** `npm run soak -- reload [RELOADS] [REQUESTS_PER_SECOND]` */
export const runReload = async (args: readonly string[]): Promise<void> => {
  const report = await reloadUnderLoad(Number(args[0] ?? 10), Number(args[1] ?? 50), 10_000);
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  if (report.faults.length > 0 || report.growth > MAX_GROWTH) process.exitCode = 1;
};
