/**
 * Jobs as rows: one row a job, one a finished utterance, one an event, one a result, one a delivery still to be made.
 * A transition is one commit: the job, its event, and its place in the queue, or nothing.
 */
import type { Change, Store } from '@parley/kit/store/store.ts';
import { isTerminal, type JobEvent, type JobRow, next } from './job.ts';

/** The Store's domain of this service; no domain of the platform can have such a name when both share a database. */
export const DOMAIN = '$speech';
export const JOBS_QUEUE = 'jobs';
export const CALLBACK_QUEUE = 'callbacks';

export const KIND = {
  job: 'job',
  result: 'job_result',
  event: 'job_event',
  utterance: 'job_utterance',
  delivery: 'job_delivery',
  idempotency: 'job_idempotency',
  /** One row that every submission writes where several processes admit jobs. */
  gate: 'job_gate',
} as const;

/** An event as kept: the job as it was then, without result, or a finished segment. */
export type EventRow = {
  readonly job: string;
  readonly number: number;
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
};

const DIGITS = 15;
/** Segment events between two states; a flush tells of far fewer. */
const SEGMENTS_PER_STATE = 100_000;

/** Number of an event's row: states count 1, 2, 3 …; the segments told after state n are n.1, n.2 … */
export const eventNumber = (state: number, segment = 0): number => state * SEGMENTS_PER_STATE + segment;

/** The number as the wire shows it: `7`, or `7.2` for the second segment after state 7. */
export const toEventId = (number: number): string => {
  const [state, segment] = [Math.floor(number / SEGMENTS_PER_STATE), number % SEGMENTS_PER_STATE];
  return segment === 0 ? String(state) : `${state}.${segment}`;
};

/** 0 for an empty text. */
export const parseEventId = (id: string): number => {
  const [state = '0', segment = '0'] = id.split('.');
  return eventNumber(Number(state), Number(segment));
};

/** Ids of rows that belong to a job begin with its id, so that one range of ids holds them all, in order. */
export const memberId = (jobId: string, number: number): string => `${jobId}.${String(number).padStart(DIGITS, '0')}`;
export const jobIdOf = (memberRowId: string): string => memberRowId.slice(0, -(DIGITS + 1));

const PRIORITY_RANK = { batch: 0, interactive: 10 } as const;

export const enqueueJob = (job: JobRow, readyAtMs: number): Change => ({
  op: 'enqueue',
  queue: JOBS_QUEUE,
  id: job.id,
  priority: PRIORITY_RANK[job.priority],
  share: job.key_id,
  readyAtMs,
});

/** The event row that tells of the job as it is now. */
export const statusEvent = (job: JobRow): Change => ({
  op: 'put',
  kind: KIND.event,
  id: memberId(job.id, eventNumber(job.seq)),
  data: { job: job.id, number: eventNumber(job.seq), name: job.status, data: job } satisfies EventRow,
});

export type Transition = { readonly before: JobRow; readonly after: JobRow };

/**
 * Moves a job by `event` in one commit together with `more` changes; reads again and tries anew when somebody else
 * moved it first. Undefined when the job is gone or the event changes nothing (see `next`).
 */
export const moveJob = async (
  store: Store,
  id: string,
  event: JobEvent,
  now: string,
  more: (after: JobRow) => readonly Change[] = () => [],
): Promise<Transition | undefined> => {
  for (;;) {
    const row = await store.get<JobRow>(DOMAIN, KIND.job, id);
    const after = row && next(row.data, event, now);
    if (!row || !after) return undefined;
    const changes: Change[] = [
      { op: 'put', kind: KIND.job, id, data: after, expect: row.version },
      statusEvent(after),
      ...(isTerminal(after.status) ? [{ op: 'dequeue', queue: JOBS_QUEUE, id } as const] : []),
      ...more(after),
    ];
    try {
      await store.commit(DOMAIN, changes);
      return { before: row.data, after };
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown;
    }
  }
};

const isVersionConflict = (thrown: unknown): boolean =>
  thrown instanceof Error && thrown.name === 'Conflict' && (thrown as { reason?: unknown }).reason === 'version';

/** Rows of a job kept under `kind` with numbers above `after`, in order. Numbers begin with 1. */
export const membersOf = async <T extends object>(
  store: Store,
  kind: string,
  jobId: string,
  after: number,
  limit: number,
): Promise<{ id: string; data: T }[]> => {
  const rows = await store.query<T>(DOMAIN, kind, { afterId: memberId(jobId, after), idDirection: 'asc', limit });
  return rows.filter((row) => jobIdOf(row.id) === jobId).map(({ id, data }) => ({ id, data }));
};

/** Rows dropped in one commit; a long job has thousands of utterances. */
const DROPS_PER_COMMIT = 500;

/** Drops every row of a job kept under `kind`. */
export const dropMembers = async (store: Store, kind: string, jobId: string): Promise<void> => {
  for (;;) {
    const rows = await membersOf(store, kind, jobId, 0, DROPS_PER_COMMIT);
    if (rows.length > 0)
      await store.commit(
        DOMAIN,
        rows.map(({ id }) => ({ op: 'drop', kind, id, quiet: true })),
      );
    if (rows.length < DROPS_PER_COMMIT) return;
  }
};
