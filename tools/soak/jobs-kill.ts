/**
 * Kill -9 of the speech service at random moments while jobs are submitted, run, cancelled and delivered. At the end
 * every job that was accepted must be over, no result committed twice, no upload left, every delivery received with a
 * valid signature and written down.
 */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createSilentLog } from '@parley/kit/log.ts';
import { openStore } from '@parley/kit/store/open.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import { DOMAIN } from '@parley/speech/jobs/records.ts';
import { createSource } from '../fuzz/random.ts';
import { joinWav, type Received, SECRET, startReceiver } from './receiver.ts';
import { createDataDir, KEY, type SoakService, startService } from './service.ts';

const CLIENTS = 3;
const CANCEL_SHARE = 0.2;
const LONGEST_UP_MS = 1500;
const SETTLE_MS = 180_000;
const READ_MS = 30_000;
const FAR_FUTURE_MS = 7 * 86_400_000;

const TERMINAL = ['succeeded', 'failed', 'canceled', 'expired'];

export type KillReport = {
  readonly kills: number;
  readonly accepted: number;
  readonly succeeded: number;
  readonly canceled: number;
  readonly deliveries: number;
  readonly repeatedDeliveries: number;
  readonly faults: readonly string[];
};

type Load = { service: SoakService | undefined; stopping: boolean };

const call = async (load: Load, path: string, init: RequestInit = {}): Promise<Response | undefined> => {
  if (!load.service) return undefined;
  try {
    return await fetch(`${load.service.url}${path}`, { ...init, headers: { authorization: `Bearer ${KEY}` } });
  } catch {
    // Killed in the middle: whether it was accepted is not known, so nothing is owed.
    return undefined;
  }
};

const runClient = async (
  load: Load,
  files: readonly Blob[],
  webhook: string,
  random: () => number,
  accepted: Set<string>,
): Promise<void> => {
  while (!load.stopping) {
    const form = new FormData();
    form.append('file', files[Math.floor(random() * files.length)]!, 'recording.wav');
    form.append('webhook_url', webhook);
    const response = await call(load, '/api/v1/jobs', { method: 'POST', body: form });
    const job =
      response?.status === 202
        ? ((await response.json().catch(() => undefined)) as { id: string } | undefined)
        : undefined;
    if (job) accepted.add(job.id);
    if (job && random() < CANCEL_SHARE) await call(load, `/api/v1/jobs/${job.id}`, { method: 'DELETE' });
    await new Promise((resolve) => setTimeout(resolve, 50 + random() * 300));
  }
};

type Job = { readonly id: string; readonly status: string; readonly webhook?: { readonly status: string } };

/** Every job the service knows: also those that were accepted in the moment of a kill, so that nobody was told. */
const listJobs = async (load: Load): Promise<Job[]> => {
  const jobs: Job[] = [];
  for (let cursor = ''; ; ) {
    const response = await call(load, `/api/v1/jobs?limit=200${cursor && `&cursor=${cursor}`}`);
    if (response?.status !== 200) throw new Error(`the list of jobs answers ${response?.status ?? 'nothing'}`);
    const page = (await response.json()) as { data: Job[]; next_cursor: string | null };
    jobs.push(...page.data);
    if (page.next_cursor === null) return jobs;
    cursor = page.next_cursor;
  }
};

/** What came of the delivery is written down after it was received; a kill between the two has it made again. */
const isSettled = ({ status, webhook }: Job): boolean =>
  TERMINAL.includes(status) && ['delivered', 'failed'].includes(webhook?.status ?? '');

/** Waits until every job is over and its delivery written down; what is not by the last moment is a fault. */
const waitUntilSettled = async (load: Load, faults: string[]): Promise<Map<string, string>> => {
  for (const deadlineMs = Date.now() + SETTLE_MS; ; ) {
    const jobs = await listJobs(load);
    const open = jobs.filter((job) => !isSettled(job));
    const isLate = Date.now() > deadlineMs;
    if (open.length === 0 || isLate) {
      for (const { id, status, webhook } of open)
        faults.push(`${id} is ${status} and its delivery ${webhook?.status} after ${SETTLE_MS / 1000} s`);
      return new Map(jobs.map(({ id, status }) => [id, status]));
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
};

/**
 * Between two lives of the service: an utterance that was kept must never have been recognised and kept again. `kept`
 * holds the versions that earlier lives left.
 */
const checkRepeated = async (place: string, kept: Map<string, number>, faults: string[]): Promise<void> => {
  await using store = await openStore(place, createSilentLog());
  const rows = await store.query(DOMAIN, 'job_utterance', {});
  const repeated = rows.filter(({ id, version }) => (kept.get(id) ?? version) !== version).map(({ id }) => id);
  for (const { id, version } of rows) kept.set(id, version);
  if (repeated.length > 0) faults.push(`utterances recognised again although they were kept: ${repeated.join()}`);
};

/** Ids of results that were written more than once, by the feed. */
const findRepeatedResults = async (store: Store): Promise<string[]> => {
  const lastSeq = await store.lastSeq(DOMAIN);
  const puts: string[] = [];
  if (lastSeq === 0) return puts;
  for await (const { seq, kind, id, op } of store.watch(DOMAIN, 0, AbortSignal.timeout(READ_MS))) {
    if (kind === 'job_result' && op === 'put') puts.push(id);
    if (seq >= lastSeq) return puts.filter((one, index) => puts.indexOf(one) !== index);
  }
  throw new Error(`the feed could not be read in ${READ_MS} ms`);
};

/** What the database and the folders say once nothing runs any more. */
const inspect = async (place: string, dataDir: string, faults: string[]): Promise<void> => {
  await using store = await openStore(place, createSilentLog());
  const twice = await findRepeatedResults(store);
  if (twice.length > 0) faults.push(`results committed more than once: ${twice.join()}`);
  for (const kind of ['job_delivery', 'job_utterance']) {
    const left = await store.count(DOMAIN, kind);
    if (left > 0) faults.push(`${left} rows left over of ${kind}`);
  }
  for (const queue of ['jobs', 'callbacks']) {
    const nowMs = Date.now() + FAR_FUTURE_MS;
    const left = await store.claim(DOMAIN, queue, { owner: 'inspector', leaseMs: 1, limit: 100, nowMs });
    if (left.length > 0) faults.push(`work left over in ${queue}: ${left.map(({ id }) => id).join()}`);
  }
  const entries = await readdir(join(dataDir, 'spool'), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  if (files.length > 0) faults.push(`uploads left over: ${files.map((file) => file.name).join()}`);
};

/** Runs the whole story and resolves with what was seen; `faults` is empty when nothing was lost. */
export const killJobs = async (kills: number, seed: number, storageUrl = ''): Promise<KillReport> => {
  const random = createSource(seed);
  const faults: string[] = [];
  const receiver = await startReceiver(random, (fault) => faults.push(fault));
  const data = await createDataDir();
  const settings = {
    'speech.jobs.webhook_allowed_hosts': receiver.host,
    'speech.jobs.webhook_secret': SECRET,
    'speech.jobs.max_attempts': '100',
    // What a dead process held on PostgreSQL is free again after this; on SQLite at the next start.
    'speech.jobs.lease': '3s',
    ...(storageUrl === '' ? {} : { 'storage.url': storageUrl }),
    'speech.log.level': 'fatal',
  };
  const load: Load = { service: await startService(data.path, settings), stopping: false };
  const accepted = new Set<string>();
  const kept = new Map<string, number>();
  const files = await Promise.all([1, 8, 40].map(joinWav));
  const clients = Array.from({ length: CLIENTS }, () =>
    runClient(load, files, `http://${receiver.host}/hook`, random, accepted),
  );
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100 + random() * LONGEST_UP_MS));
      const { service } = load;
      load.service = undefined;
      await service?.kill();
      await checkRepeated(storageUrl || join(data.path, 'speech.sqlite'), kept, faults);
      load.service = await startService(data.path, settings);
    }
    load.stopping = true;
    await Promise.all(clients);
    const states = await waitUntilSettled(load, faults);
    checkOutcome(accepted, states, receiver.received, faults);
    await load.service?.stop();
    await inspect(storageUrl || join(data.path, 'speech.sqlite'), data.path, faults);
    return reportOf(kills, states, receiver.received, accepted, faults);
  } finally {
    load.stopping = true;
    await load.service?.kill();
    await receiver.close();
    await data.remove();
  }
};

const checkOutcome = (
  accepted: ReadonlySet<string>,
  states: ReadonlyMap<string, string>,
  received: readonly Received[],
  faults: string[],
): void => {
  const idsByJob = Map.groupBy(received, ({ job }) => job);
  for (const id of new Set([...accepted, ...states.keys()])) {
    const state = states.get(id) ?? 'unknown';
    if (state !== 'succeeded' && state !== 'canceled') faults.push(`${id} is ${state}`);
    const deliveries = idsByJob.get(id) ?? [];
    if (deliveries.length === 0) faults.push(`${id} was never told of`);
    if (new Set(deliveries.map((one) => one.id)).size > 1) faults.push(`${id} was told of under several delivery ids`);
  }
};

const reportOf = (
  kills: number,
  states: ReadonlyMap<string, string>,
  received: readonly Received[],
  accepted: ReadonlySet<string>,
  faults: readonly string[],
): KillReport => {
  const count = (wanted: string): number => [...states.values()].filter((state) => state === wanted).length;
  const distinct = new Set(received.map(({ id }) => id)).size;
  return {
    kills,
    accepted: accepted.size,
    succeeded: count('succeeded'),
    canceled: count('canceled'),
    deliveries: distinct,
    repeatedDeliveries: received.length - distinct,
    faults,
  };
};

/** `npm run soak -- jobs-kill [KILLS] [SEED] [postgres]` */
export const runJobsKill = async (args: readonly string[]): Promise<void> => {
  const kills = Number(args[0] ?? 100);
  const seed = Number(args[1] ?? 1);
  const report = args[2] === 'postgres' ? await killOnPostgres(kills, seed) : await killJobs(kills, seed);
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  if (report.faults.length > 0) process.exitCode = 1;
};

/** The same with rows on a PostgreSQL server of its own. */
export const killOnPostgres = async (kills: number, seed: number): Promise<KillReport> => {
  await using driver = await openPostgresDriver();
  await using database = await driver.createDatabase();
  return await killJobs(kills, seed, database.place);
};
