/**
 * The jobs that are not over, kept current from the Store's feed, whoever changed them. From it come queue depth,
 * positions, and the wake-up of whoever follows a job.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@parley/kit/abort.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { type Bell, createBell } from './bell.ts';
import { isTerminal, type JobRow } from './job.ts';
import { DOMAIN, KIND } from './records.ts';

export type Live = AsyncDisposable & {
  get(id: string): JobRow | undefined;
  all(): Iterable<JobRow>;
  queued(): number;
  running(): number;
  /** Bytes of all uploads of jobs that are not over. */
  bytes(): number;
  /** 1-based place among the queued: priority first, then age. Undefined when not queued. */
  positionOf(id: string): number | undefined;
  /** Calls back after every change of the job until the returned function is called. */
  onChange(id: string, listener: (job: JobRow) => void): () => void;
  /** Calls back after every change of any job. */
  onAnyChange(listener: (job: JobRow) => void): () => void;
  /** Number of the newest feed entry that is taken in. */
  reached(): number;
  /** Resolves when everything up to this number of the feed is taken in; rejects with the signal's reason. */
  caughtUp(seq: number, signal: AbortSignal): Promise<void>;
};

const PAGE = 500;
const RETRY_MS = 1000;

/** Reads the jobs that are not over, then follows the feed until disposed. */
export const openLive = async (store: Store, log: Log): Promise<Live> => {
  const stop = new AbortController();
  const jobs = new Map<string, JobRow>();
  const listeners = new Map<string, Set<(job: JobRow) => void>>();
  const anyListeners = new Set<(job: JobRow) => void>();

  const take = (job: JobRow): void => {
    // The feed may tell of a row after it has moved on; an older state must not come back.
    if ((jobs.get(job.id)?.seq ?? 0) > job.seq) return;
    if (isTerminal(job.status)) jobs.delete(job.id);
    else jobs.set(job.id, job);
    for (const listener of [...(listeners.get(job.id) ?? []), ...anyListeners]) listener(job);
  };

  const reached = { seq: await store.lastSeq(DOMAIN), bell: createBell() };
  await readAll(store, take);
  const following = follow({ store, log, signal: stop.signal, reached, take, held: () => [...jobs.keys()] });

  const add = (set: Set<(job: JobRow) => void>, listener: (job: JobRow) => void, empty?: () => void) => {
    set.add(listener);
    return () => {
      set.delete(listener);
      if (set.size === 0) empty?.();
    };
  };

  const count = (status: JobRow['status']): number => [...jobs.values()].filter((job) => job.status === status).length;

  return {
    get: (id) => jobs.get(id),
    all: () => jobs.values(),
    queued: () => count('queued'),
    running: () => count('running'),
    bytes: () => [...jobs.values()].reduce((sum, job) => sum + job.audio_bytes, 0),
    positionOf: (id) => {
      const job = jobs.get(id);
      if (job?.status !== 'queued') return undefined;
      return 1 + [...jobs.values()].filter((other) => other.status === 'queued' && goesBefore(other, job)).length;
    },
    onChange: (id, listener) => {
      const set = listeners.get(id) ?? new Set();
      listeners.set(id, set);
      return add(set, listener, () => listeners.delete(id));
    },
    onAnyChange: (listener) => add(anyListeners, listener),
    reached: () => reached.seq,
    caughtUp: async (seq, signal) => {
      while (reached.seq < seq) await until(reached.bell.next(), signal);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
    },
  };
};

const goesBefore = (other: JobRow, job: JobRow): boolean => {
  if (other.priority !== job.priority) return other.priority === 'interactive';
  return other.id < job.id;
};

const readAll = async (store: Store, take: (job: JobRow) => void): Promise<void> => {
  let afterId: string | undefined;
  for (;;) {
    const rows = await store.query<JobRow>(DOMAIN, KIND.job, {
      where: [{ path: 'status', op: 'in', values: ['queued', 'running'] }],
      limit: PAGE,
      ...(afterId === undefined ? {} : { afterId }),
    });
    for (const row of rows) take(row.data);
    if (rows.length < PAGE) return;
    afterId = rows.at(-1)!.id;
  }
};

type Following = {
  readonly store: Store;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** How far the feed is taken in; the bell rings with every step. */
  readonly reached: { seq: number; readonly bell: Bell };
  readonly take: (job: JobRow) => void;
  /** Ids of the jobs that are taken for living. */
  readonly held: () => readonly string[];
};

/** Follows the feed; when it breaks (the database is gone) reads everything anew as soon as it is back. */
const follow = async (parts: Following): Promise<void> => {
  const { store, log, signal, reached } = parts;
  while (!signal.aborted) {
    try {
      for await (const entry of store.watch(DOMAIN, reached.seq, signal)) {
        if (entry.kind === KIND.job && entry.op === 'put') await takeRow(parts, entry.id);
        reached.seq = entry.seq;
        reached.bell.ring();
      }
    } catch (thrown) {
      if (signal.aborted) return;
      log.warn({ err: thrown }, 'feed of jobs broke off; it is read anew');
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
      await catchUp(parts).catch((fault: unknown) => log.warn({ err: fault }, 'jobs cannot be read anew'));
    }
  }
};

const takeRow = async ({ store, take }: Following, id: string): Promise<void> => {
  const row = await store.get<JobRow>(DOMAIN, KIND.job, id);
  if (row) take(row.data);
};

/** Everything as it is now: what the feed no longer tells may have begun, gone on or ended. */
const catchUp = async (parts: Following): Promise<void> => {
  const { store, reached, take, held } = parts;
  const seq = await store.lastSeq(DOMAIN);
  await readAll(store, take);
  for (const id of held()) await takeRow(parts, id);
  reached.seq = Math.max(reached.seq, seq);
  reached.bell.ring();
};
