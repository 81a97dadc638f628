/**
 * Takes jobs from the queue and runs them: a lease with renewal, a checkpoint as it goes, one commit at the end. Every
 * outcome is told by a transition; a job whose process dies is claimed again when its lease is over.
 */
import type { Log } from '@parley/kit/log.ts';
import { asProblem } from '@parley/kit/problem.ts';
import type { Change, Claim, Store } from '@parley/kit/store/store.ts';
import type { Transcript } from '../core/types.ts';
import { type Checkpoint, createCheckpoint, type Drafts, readUtterances } from './checkpoint.ts';
import { startClaimLoop } from './claim-loop.ts';
import { isTerminal, type JobError, type JobEvent, type JobRow } from './job.ts';
import type { Live } from './live.ts';
import { DOMAIN, enqueueJob, JOBS_QUEUE, KIND, moveJob } from './records.ts';
import type { Spool } from './spool.ts';

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
  readonly cleanUp: (job: JobRow) => Promise<void>;
  readonly limits: WorkerLimits;
  /** Names this process as the holder of leases. */
  readonly owner: string;
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
/** How long a job rests whose model could not be had. */
const BUSY_REST_MS = 3000;

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
  const refusal = await refusalOf(parts, row.data, claim);
  if (refusal) {
    await settle(parts, row.data, refusal);
    return;
  }
  const moved = await move(parts, row.data.id, { type: 'claimed', attempt: claim.attempt });
  if (moved) await runJob(parts, moved, stopping);
};

/** Why a claimed job is not run at all. */
const refusalOf = async (parts: WorkerParts, job: JobRow, claim: Claim): Promise<JobEvent | undefined> => {
  const { limits } = parts;
  const lost = { code: 'audio_missing', message: 'The upload is no longer there.' };
  if (!(await parts.spool.has(job.spool))) {
    return job.status === 'queued' ? { type: 'expired', error: lost } : { type: 'failed', error: lost };
  }
  if (claim.attempt > limits.maxAttempts) {
    return {
      type: 'failed',
      error: { code: 'server_restart', message: `Not finished in ${limits.maxAttempts} attempts.` },
    };
  }
  if (
    job.status === 'queued' &&
    job.started_at === null &&
    parts.now() - Date.parse(job.created_at) > limits.maxQueueWaitMs
  ) {
    return { type: 'expired', error: { code: 'expired', message: 'Waited longer than allowed.' } };
  }
  return undefined;
};

const runJob = async (parts: WorkerParts, job: JobRow, stopping: AbortSignal): Promise<void> => {
  const ending = new AbortController();
  const unsubscribe = parts.live.onChange(job.id, (current) => {
    if (isTerminal(current.status)) ending.abort(CANCELED);
  });
  const deadline = setTimeout(() => ending.abort(timeout(parts.limits)), parts.limits.maxProcessingMs);
  const renewal = keepLease(parts, job.id, () => ending.abort(LEASE_LOST));
  const checkpoint = createCheckpoint(parts.store, job, parts.now, (thrown) => ending.abort(thrown));
  const signal = AbortSignal.any([ending.signal, stopping]);
  try {
    const known = await readUtterances(parts.store, job.id);
    const transcript = await parts.run(job, parts.spool.pathOf(job.spool), known, checkpoint, signal);
    await checkpoint.flush();
    signal.throwIfAborted();
    await settle(parts, job, { type: 'succeeded', audioSeconds: transcript.duration }, [
      { op: 'put', kind: KIND.result, id: job.id, data: { ...transcript, id: job.id } },
    ]);
  } catch (thrown) {
    await checkpoint.flush();
    await endEarly(parts, job, signal.aborted ? signal.reason : thrown);
  } finally {
    unsubscribe();
    clearTimeout(deadline);
    clearInterval(renewal);
  }
};

const timeout = (limits: WorkerLimits): Error =>
  Object.assign(new Error(`Not finished within ${Math.round(limits.maxProcessingMs / 1000)} s.`), {
    code: 'processing_timeout',
  });

const keepLease = (parts: WorkerParts, id: string, onLost: () => void): NodeJS.Timeout =>
  setInterval(() => {
    const untilMs = parts.now() + parts.limits.leaseMs;
    parts.store
      .commit(DOMAIN, [{ op: 'renew', queue: JOBS_QUEUE, id, owner: parts.owner, untilMs }])
      .catch((thrown: unknown) => {
        if (thrown instanceof Error && thrown.name === 'Conflict') onLost();
        else parts.log.warn({ err: thrown, job: id }, 'lease could not be renewed');
      });
  }, parts.limits.leaseMs / 3);

/** A job that did not end in a transcript: cancelled, put back, or failed. */
const endEarly = async (parts: WorkerParts, job: JobRow, reason: unknown): Promise<void> => {
  if (reason === LEASE_LOST) return;
  // Told of already; but what was written since must not stay.
  if (reason === CANCELED) return parts.cleanUp(job);
  if (reason === STOPPING) return putBack(parts, job, parts.now());
  const error = toJobError(reason);
  if (error.code === 'model_unavailable') return putBack(parts, job, parts.now() + BUSY_REST_MS);
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
  if (moved) await parts.cleanUp(moved.after);
};
