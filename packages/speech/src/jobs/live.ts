/**
 * The jobs that are not over, kept current from the Store's feed, whoever changed them. From it come queue depth,
 * positions, and the wake-up of whoever follows a job.
 */
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
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

  const fromSeq = await store.lastSeq(DOMAIN);
  await readAll(store, take);
  const following = follow(store, fromSeq, stop.signal, log, take);

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

/** Follows the feed; when it breaks (the database is gone) reads everything anew as soon as it is back. */
const follow = async (
  store: Store,
  fromSeq: number,
  signal: AbortSignal,
  log: Log,
  take: (job: JobRow) => void,
): Promise<void> => {
  let seq = fromSeq;
  while (!signal.aborted) {
    try {
      for await (const entry of store.watch(DOMAIN, seq, signal)) {
        seq = entry.seq;
        if (entry.kind !== KIND.job || entry.op !== 'put') continue;
        const row = await store.get<JobRow>(DOMAIN, KIND.job, entry.id);
        if (row) take(row.data);
      }
    } catch (thrown) {
      if (signal.aborted) return;
      log.warn({ err: thrown }, 'feed of jobs broke off; it is read anew');
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      seq = await store.lastSeq(DOMAIN).catch(() => seq);
      await readAll(store, take).catch(() => undefined);
    }
  }
};
