/**
 * Jobs that nobody ends by working on them: no process that runs has their model, or sees their upload. Any process ends
 * them; the transition lets only one succeed.
 */
import type { Change, Store } from '@parley/kit/store/store.ts';
import type { JobEvent, JobRow } from './job.ts';
import type { Live } from './live.ts';
import { moveJob } from './records.ts';

export type OverdueParts = {
  readonly store: Store;
  readonly live: Live;
  readonly now: () => number;
  /** Whether this process can work on the job; such a one is ended, if at all, when it is claimed. */
  readonly canRun: (job: JobRow) => boolean;
  readonly onTerminal: (job: JobRow) => readonly Change[];
  /** Told of each job that this process ended; cleans up. */
  readonly onEnded: (job: JobRow) => Promise<void>;
  readonly maxQueueWaitMs: number;
  readonly maxProcessingMs: number;
};

/** Ends what waited longer than allowed, and what was left by a process that died and is taken up by none. */
export const endOverdue = async (parts: OverdueParts): Promise<void> => {
  const nowMs = parts.now();
  for (const job of [...parts.live.all()]) {
    const event = parts.canRun(job) ? undefined : overdueEventOf(parts, job, nowMs);
    if (!event) continue;
    const moved = await moveJob(parts.store, job.id, event, new Date(nowMs).toISOString(), parts.onTerminal);
    if (moved) await parts.onEnded(moved.after);
  }
};

const overdueEventOf = (
  { maxQueueWaitMs, maxProcessingMs }: OverdueParts,
  job: JobRow,
  nowMs: number,
): JobEvent | undefined => {
  if (job.status === 'running') {
    const sinceMs = nowMs - (job.run_started_ms ?? nowMs);
    const message = 'The process that ran it ended, and no other can take it up.';
    return sinceMs > maxProcessingMs + maxQueueWaitMs
      ? { type: 'failed', error: { code: 'server_restart', message } }
      : undefined;
  }
  const sinceMs = nowMs - Date.parse(job.started_at ?? job.created_at);
  return sinceMs > maxQueueWaitMs
    ? { type: 'expired', error: { code: 'expired', message: 'Waited longer than allowed.' } }
    : undefined;
};
