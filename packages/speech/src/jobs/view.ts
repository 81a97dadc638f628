/** A stored job as callers see it: position and time left are worked out now, the callback's address stays hidden. */
import type { JobRecord } from '../core/job-record.ts';
import type { Caller, Transcript } from '../core/types.ts';
import type { Callback, JobRow } from './job.ts';

export type ViewContext = {
  readonly caller: Pick<Caller, 'admin'>;
  readonly position: number | undefined;
  readonly result?: Transcript | undefined;
  readonly nowMs: number;
};

/** The job record of docs/speech-api.md; fields that do not apply are left out. */
export const toJobRecord = (job: JobRow, context: ViewContext): JobRecord => ({
  id: job.id,
  object: 'job',
  status: job.status,
  ...(context.position === undefined ? {} : { position: context.position }),
  ...(job.status === 'running' ? runningPart(job, context.nowMs) : {}),
  model_id: job.model_id,
  model_rev: job.model_rev,
  ...(job.filename === null ? {} : { filename: job.filename }),
  ...(job.audio_seconds === null ? {} : { audio_seconds: job.audio_seconds }),
  audio_bytes: job.audio_bytes,
  source: job.source,
  priority: job.priority,
  attempt: job.attempt,
  created_at: job.created_at,
  ...(job.started_at === null ? {} : { started_at: job.started_at }),
  ...(job.finished_at === null ? {} : { finished_at: job.finished_at }),
  ...(context.result === undefined ? {} : { result: context.result }),
  ...(job.error === null ? {} : { error: job.error }),
  ...(job.callback === null ? {} : { webhook: toWebhook(job.callback) }),
  ...(context.caller.admin ? { key_id: job.key_id } : {}),
  links: { self: `/api/v1/jobs/${job.id}`, events: `/api/v1/jobs/${job.id}/events` },
});

const runningPart = (job: JobRow, nowMs: number): Pick<JobRecord, 'stage' | 'percent' | 'eta_seconds'> => {
  const percent = job.percent ?? 0;
  const ranSec = job.run_started_ms === null ? 0 : Math.max(0, nowMs - job.run_started_ms) / 1000;
  const gained = percent - job.run_started_percent;
  return {
    ...(job.stage === null ? {} : { stage: job.stage }),
    percent,
    ...(gained > 0 ? { eta_seconds: Math.round(((100 - percent) / gained) * ranSec) } : {}),
  };
};

const toWebhook = (callback: Callback): NonNullable<JobRecord['webhook']> => ({
  url_host: new URL(callback.url).host,
  status: callback.status,
  attempts: callback.attempts,
  last_status: callback.last_status,
});
