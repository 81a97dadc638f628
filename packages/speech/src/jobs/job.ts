/**
 * The job record as it is stored, and `next`: every transition in one pure function. Field names are the wire's where
 * the wire has them (docs/speech-api.md, job record).
 */
import type { JobStatus } from '../core/job-record.ts';
import type { Priority, Stage, TranscriptionRequest } from '../core/types.ts';

export type JobError = { readonly code: string; readonly message: string; readonly param?: string };

export type Callback = {
  /** The whole address; never shown again, it may hold secrets. */
  readonly url: string;
  /** `waiting` for the job's end; `pending` once a delivery is owed; `skipped` where none will be made. */
  readonly status: 'waiting' | 'pending' | 'delivered' | 'failed' | 'skipped';
  readonly attempts: number;
  readonly last_status: number | null;
};

export type JobRow = {
  readonly id: string;
  /** Who owns it: the key's id, stable over rotation. */
  readonly key_id: string;
  readonly status: JobStatus;
  /** Number of its newest state. */
  readonly seq: number;
  readonly attempt: number;
  readonly source: 'api' | 'ui';
  readonly priority: Priority;
  readonly model_id: string;
  readonly model_rev: string;
  readonly filename: string | null;
  readonly audio_bytes: number;
  readonly audio_seconds: number | null;
  readonly request: TranscriptionRequest;
  /** Which spool holds the upload, under the job's id, until the job is terminal. */
  readonly place: string;
  readonly stage: Stage | null;
  readonly percent: number | null;
  /** Seconds of the recording that are recognised and kept. */
  readonly done_seconds: number;
  /** Segments that were told of as events. */
  readonly segments_told: number;
  /** When the present attempt began and how far the job was then: what the time left is worked out from. */
  readonly run_started_ms: number | null;
  readonly run_started_percent: number;
  /** Trace context of the request that brought it, where requests are traced. */
  readonly trace: string | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly error: JobError | null;
  readonly callback: Callback | null;
};

export type JobEvent =
  | { readonly type: 'claimed'; readonly attempt: number }
  | {
      readonly type: 'progress';
      readonly stage: Stage;
      readonly percent: number;
      readonly doneSec: number;
      /** Finished segments that become events of their own, numbered before this one. */
      readonly segments: number;
    }
  | { readonly type: 'interrupted' }
  | { readonly type: 'succeeded'; readonly audioSeconds: number }
  | { readonly type: 'failed'; readonly error: JobError }
  /** `delivers`: whether a cancelled job is told of. */
  | { readonly type: 'canceled'; readonly delivers: boolean }
  | { readonly type: 'expired'; readonly error: JobError };

export const isTerminal = (status: JobStatus): boolean => status !== 'queued' && status !== 'running';

/**
 * The job after `event` at `now` (RFC 3339), or undefined when the event changes nothing: a terminal job stays as it
 * is, progress of a job that does not run is late news.
 */
export const next = (job: JobRow, event: JobEvent, now: string): JobRow | undefined => {
  if (isTerminal(job.status)) return undefined;
  const step = { ...job, seq: job.seq + 1 };
  switch (event.type) {
    case 'claimed':
      return {
        ...step,
        status: 'running',
        attempt: event.attempt,
        started_at: job.started_at ?? now,
        stage: 'decode',
        run_started_ms: Date.parse(now),
        run_started_percent: job.percent ?? 0,
      };
    case 'progress':
      if (job.status !== 'running') return undefined;
      return {
        ...step,
        stage: event.stage,
        percent: event.percent,
        done_seconds: event.doneSec,
        segments_told: job.segments_told + event.segments,
      };
    case 'interrupted':
      return job.status === 'running' ? { ...step, status: 'queued', stage: null } : undefined;
    case 'succeeded':
      if (job.status !== 'running') return undefined;
      return finish({ ...step, status: 'succeeded', audio_seconds: event.audioSeconds, percent: 100 }, now);
    case 'failed':
      return finish({ ...step, status: 'failed', error: event.error }, now);
    case 'canceled':
      return finish({ ...step, status: 'canceled' }, now, event.delivers);
    case 'expired':
      return job.status === 'queued' ? finish({ ...step, status: 'expired', error: event.error }, now) : undefined;
  }
};

const finish = (job: JobRow, now: string, delivers = true): JobRow => ({
  ...job,
  stage: null,
  finished_at: now,
  callback: job.callback === null ? null : { ...job.callback, status: delivers ? 'pending' : 'skipped' },
});
