/**
 * Takes jobs from the queue and runs them: a lease with renewal, a checkpoint as it goes, one commit at the end. Every
 * outcome is told by a transition; a job whose process dies is claimed again when its lease is over.
 */
import type { Log } from '@parley/kit/log.ts';
import { asProblem } from '@parley/kit/problem.ts';
import { type Change, type Claim, Conflict, type Store, StoreUnavailable } from '@parley/kit/store/store.ts';
import type { Transcript } from '../core/types.ts';
import { type Checkpoint, createCheckpoint, type Drafts, readUtterances } from './checkpoint.ts';
import { startClaimLoop } from './claim-loop.ts';
import { isTerminal, type JobError, type JobEvent, type JobRow } from './job.ts';
import type { Live } from './live.ts';
import { DOMAIN, enqueueJob, JOBS_QUEUE, KIND, moveJob } from './records.ts';
import type { Spool, SpooledFile } from './spool.ts';

/** Transcribes a job's upload; the pipeline as the queue sees it. */
export type RunJob = (
  job: JobRow,
  path: string,
  known: ReadonlyMap<number, Drafts>,
  checkpoint: Checkpoint,
  signal: AbortSignal,
) => Promise<Transcript>;

export type WorkerParts = {
  readonly store: Store;
  readonly spool: Spool;
  readonly live: Live;
  readonly run: RunJob;
  readonly log: Log;
  readonly now: () => number;
  readonly onTerminal: (job: JobRow) => readonly Change[];
  /** Removes what a job that is over no longer needs; may be called more than once. */
  readonly cleanUp: (job: JobRow) => Promise<void>;
  /** Told of each job that this process ended; cleans up. */
  readonly onEnded: (job: JobRow) => Promise<void>;
  readonly limits: WorkerLimits;
  /** Names this process as the holder of leases. */
  readonly owner: string;
  /** Whether this process has the job's model and sees its upload; other jobs are left to other processes. */
  readonly canRun: (job: JobRow) => boolean;
};

export type WorkerLimits = {
  readonly maxConcurrent: number;
  readonly maxAttempts: number;
  readonly maxQueueWaitMs: number;
  readonly maxProcessingMs: number;
  readonly leaseMs: number;
};

/** Longest time without a look at the queue: another process's lease may have run out. */
const LOOK_MS = 5000;
/** How long a job rests whose model or upload could not be had. */
const BUSY_REST_MS = 3000;
/** What says nothing of the job: it goes back into the queue. */
const PASSING_CODES: ReadonlySet<string> = new Set(['model_unavailable', 'storage_unavailable']);

const CANCELED = Symbol('canceled');
const STOPPING = Symbol('stopping');
const LEASE_LOST = Symbol('lease lost');

/** Starts taking jobs; disposing stops those that run and puts them back for whoever comes next. */
export const startWorker = (parts: WorkerParts): AsyncDisposable => {
  const { store, log, now, owner, limits } = parts;
  const loop = startClaimLoop(
    {
      store,
      log,
      now,
      owner,
      queue: JOBS_QUEUE,
      atOnce: limits.maxConcurrent,
      leaseMs: limits.leaseMs,
      lookMs: LOOK_MS,
      except: () => [...parts.live.all()].filter((job) => !parts.canRun(job)).map(({ id }) => id),
      run: (claim, stopping) => runClaim(parts, claim, stopping),
    },
    STOPPING,
  );
  const unsubscribe = parts.live.onAnyChange((job) => {
    if (job.status === 'queued') loop.ring();
  });
  return {
    [Symbol.asyncDispose]: async () => {
      unsubscribe();
      await loop[Symbol.asyncDispose]();
    },
  };
};

const runClaim = async (parts: WorkerParts, claim: Claim, stopping: AbortSignal): Promise<void> => {
  const row = await parts.store.get<JobRow>(DOMAIN, KIND.job, claim.id);
  if (!row || isTerminal(row.data.status)) {
    await parts.store.commit(DOMAIN, [{ op: 'dequeue', queue: JOBS_QUEUE, id: claim.id }]);
    return;
  }
  const job = row.data;
  // Claimed before it was known here at all.
  if (!parts.canRun(job)) return rest(parts, job, parts.now());
  const refusal = refusalOf(parts, job, claim);
  if (refusal) await settle(parts, job, refusal);
  else await runUnderLease(parts, job, claim, stopping);
};

/** Why a claimed job is not run at all. */
const refusalOf = ({ limits, now }: WorkerParts, job: JobRow, claim: Claim): JobEvent | undefined => {
  if (claim.attempt > limits.maxAttempts) {
    return {
      type: 'failed',
      error: { code: 'server_restart', message: `Not finished in ${limits.maxAttempts} attempts.` },
    };
  }
  const waitedMs = now() - Date.parse(job.created_at);
  if (job.status === 'queued' && job.started_at === null && waitedMs > limits.maxQueueWaitMs) {
    return { type: 'expired', error: { code: 'expired', message: 'Waited longer than allowed.' } };
  }
  return undefined;
};

/** Fetches the upload and runs the job, as long as the lease is ours and nobody ends it. */
const runUnderLease = async (parts: WorkerParts, job: JobRow, claim: Claim, stopping: AbortSignal): Promise<void> => {
  const ending = new AbortController();
  const unsubscribe = parts.live.onChange(job.id, (current) => {
    if (isTerminal(current.status)) ending.abort(CANCELED);
  });
  const deadline = setTimeout(() => ending.abort(timeout(parts.limits)), parts.limits.maxProcessingMs);
  const renewal = keepLease(parts, claim, () => ending.abort(LEASE_LOST));
  const signal = AbortSignal.any([ending.signal, stopping]);
  try {
    await using file = await openUpload(parts, job, signal);
    if (!file || ending.signal.aborted) return;
    const moved = await move(parts, job.id, { type: 'claimed', attempt: claim.attempt });
    if (moved) await runJob(parts, moved, file.path, ending, signal);
  } finally {
    unsubscribe();
    clearTimeout(deadline);
    clearInterval(renewal);
  }
};

/** Undefined when the job cannot run: it is over, or rests. */
const openUpload = async (parts: WorkerParts, job: JobRow, signal: AbortSignal): Promise<SpooledFile | undefined> => {
  try {
    const file = await parts.spool.open(job.id, signal);
    if (file) return file;
    const error = { code: 'audio_missing', message: 'The upload is no longer there.' };
    await settle(parts, job, { type: job.status === 'queued' ? 'expired' : 'failed', error });
  } catch (thrown) {
    if (signal.reason === CANCELED || signal.reason === LEASE_LOST) return undefined;
    parts.log.warn({ err: thrown, job: job.id }, 'upload cannot be read; the job waits');
    await rest(parts, job, parts.now() + (signal.aborted ? 0 : BUSY_REST_MS));
  }
  return undefined;
};

/** Back to those who can run it, as if it had not been claimed. */
const rest = async ({ store }: WorkerParts, job: JobRow, readyAtMs: number): Promise<void> => {
  await store.commit(DOMAIN, [{ op: 'dequeue', queue: JOBS_QUEUE, id: job.id }, enqueueJob(job, readyAtMs)]);
};

const runJob = async (
  parts: WorkerParts,
  job: JobRow,
  path: string,
  ending: AbortController,
  signal: AbortSignal,
): Promise<void> => {
  const checkpoint = createCheckpoint(parts.store, job, parts.now, (thrown) => ending.abort(thrown));
  try {
    const known = await readUtterances(parts.store, job.id);
    const transcript = await parts.run(job, path, known, checkpoint, signal);
    await checkpoint.flush();
    signal.throwIfAborted();
    await settle(parts, job, { type: 'succeeded', audioSeconds: transcript.duration }, [
      { op: 'put', kind: KIND.result, id: job.id, data: { ...transcript, id: job.id } },
    ]);
  } catch (thrown) {
    await checkpoint.flush();
    await endEarly(parts, job, signal.aborted ? signal.reason : thrown);
  }
};

const timeout = (limits: WorkerLimits): Error =>
  Object.assign(new Error(`Not finished within ${Math.round(limits.maxProcessingMs / 1000)} s.`), {
    code: 'processing_timeout',
  });

/** Renews the lease. It is lost when another has it, and when nobody knows whether another has it by now. */
const keepLease = (parts: WorkerParts, { id, untilMs }: Claim, onLost: () => void): NodeJS.Timeout => {
  let keptUntilMs = untilMs;
  const renew = async (): Promise<void> => {
    const nextUntilMs = parts.now() + parts.limits.leaseMs;
    try {
      await parts.store.commit(DOMAIN, [
        { op: 'renew', queue: JOBS_QUEUE, id, owner: parts.owner, untilMs: nextUntilMs },
      ]);
      keptUntilMs = nextUntilMs;
    } catch (thrown) {
      if (thrown instanceof Conflict) return onLost();
      parts.log.warn({ err: thrown, job: id }, 'lease could not be renewed');
      if (parts.now() > keptUntilMs) onLost();
    }
  };
  return setInterval(() => void renew(), parts.limits.leaseMs / 3);
};

/** A job that did not end in a transcript: cancelled, put back, or failed. */
const endEarly = async (parts: WorkerParts, job: JobRow, reason: unknown): Promise<void> => {
  if (reason === LEASE_LOST) return;
  // Told of already; but what was written since must not stay.
  if (reason === CANCELED) return parts.cleanUp(job);
  if (reason === STOPPING) return putBack(parts, job, parts.now());
  // Should the Store still be away, the lease runs out and the job is taken up then.
  if (reason instanceof StoreUnavailable) return putBack(parts, job, parts.now());
  const error = toJobError(reason);
  if (PASSING_CODES.has(error.code)) return putBack(parts, job, parts.now() + BUSY_REST_MS);
  parts.log.warn({ job: job.id, code: error.code }, 'job failed');
  await settle(parts, job, { type: 'failed', error });
};

/** Back into the queue with its attempts counted anew: nothing went wrong with the job itself. */
const putBack = async (parts: WorkerParts, job: JobRow, readyAtMs: number): Promise<void> => {
  await moveJob(parts.store, job.id, { type: 'interrupted' }, isoNow(parts), (after) => [
    { op: 'dequeue', queue: JOBS_QUEUE, id: job.id },
    enqueueJob(after, readyAtMs),
  ]);
};

const toJobError = (reason: unknown): JobError => {
  const coded = reason instanceof Error && 'code' in reason && reason.code === 'processing_timeout';
  if (coded) return { code: 'processing_timeout', message: reason.message };
  const { code, message, param } = asProblem(reason);
  return { code, message, ...(param === undefined ? {} : { param }) };
};

const isoNow = (parts: WorkerParts): string => new Date(parts.now()).toISOString();

const move = async (parts: WorkerParts, id: string, event: JobEvent): Promise<JobRow | undefined> =>
  (await moveJob(parts.store, id, event, isoNow(parts)))?.after;

const settle = async (
  parts: WorkerParts,
  job: JobRow,
  event: JobEvent,
  more: readonly Change[] = [],
): Promise<void> => {
  const moved = await moveJob(parts.store, job.id, event, isoNow(parts), (after) => [
    ...more,
    ...parts.onTerminal(after),
  ]);
  if (moved) await parts.onEnded(moved.after);
};
