/**
 * What has to be put in order at a start, and what grows old while running. Order matters at a start: first the jobs
 * are known (jobs/live.ts has read them), then files that no living job names are orphans, never the other way round.
 */
import type { Log } from '@parley/kit/log.ts';
import type { Change, Store } from '@parley/kit/store/store.ts';
import { isTerminal, type JobRow } from './job.ts';
import type { Live } from './live.ts';
import { endOverdue, type OverdueParts } from './overdue.ts';
import { CALLBACK_QUEUE, DOMAIN, dropMembers, JOBS_QUEUE, jobIdOf, KIND, memberId } from './records.ts';
import type { Spool } from './spool.ts';

export type RecoverParts = {
  readonly store: Store;
  readonly spool: Spool;
  readonly live: Live;
  readonly log: Log;
  readonly now: () => number;
  /** This process held them before it died: their leases are over at once. Only where it is the Store's only user. */
  readonly owner: string | undefined;
};

/** Events of a job stay this long after its end, for followers that are still reading. */
const EVENTS_KEPT_MS = 600_000;
const SWEEP_EVERY_MS = 600_000;
/** Longer than any upload takes on its way to a shared place; S3 dates a large object from the beginning of its upload. */
const ORPHAN_AGE_MS = 24 * 3_600_000;
const PAGE = 200;
const LAST_NUMBER = 999_999_999_999_999;

/** Frees what the former process held and removes uploads that belong to no living job. */
export const recover = async (parts: RecoverParts): Promise<void> => {
  const { store, spool, live, log, owner } = parts;
  const interrupted = [...live.all()].filter((job) => job.status === 'running');
  if (owner !== undefined) {
    await Promise.all(interrupted.map((job) => freeLease(store, JOBS_QUEUE, job.id, owner)));
    await freeDeliveries(store, owner);
  }
  // Where nobody else brings uploads, one without a job is left from before.
  const orphans = spool.isShared ? 0 : await removeOrphans(parts, 0);
  if (interrupted.length > 0 || orphans > 0) {
    log.info({ interrupted: interrupted.length, queued: live.queued(), orphans }, 'jobs taken up again');
  }
};

/**
 * Removes uploads of jobs that are over, and those without a job from before `minAgeMs`: a younger one may be about to
 * be accepted by another process. Resolves with how many.
 */
const removeOrphans = async ({ store, spool, live, now }: RecoverParts, minAgeMs: number): Promise<number> => {
  let removed = 0;
  for (const { jobId, modifiedMs } of await spool.list()) {
    if (live.get(jobId)) continue;
    const job = await store.get<JobRow>(DOMAIN, KIND.job, jobId);
    const isOrphan = job ? isTerminal(job.data.status) : now() - modifiedMs >= minAgeMs;
    if (!isOrphan) continue;
    await spool.remove(jobId);
    removed += 1;
  }
  return removed;
};

/** A lease that ran out by itself meanwhile, or was never taken, is as good as freed. */
const freeLease = async (store: Store, queue: string, id: string, owner: string): Promise<void> => {
  const change: Change = { op: 'renew', queue, id, owner, untilMs: 0 };
  await store.commit(DOMAIN, [change]).catch((thrown: unknown) => {
    if (!(thrown instanceof Error && thrown.name === 'Conflict')) throw thrown;
  });
};

const freeDeliveries = async (store: Store, owner: string): Promise<void> => {
  let afterId: string | undefined;
  for (;;) {
    const rows = await store.query(DOMAIN, KIND.delivery, {
      limit: PAGE,
      ...(afterId === undefined ? {} : { afterId }),
    });
    await Promise.all(rows.map(({ id }) => freeLease(store, CALLBACK_QUEUE, id, owner)));
    if (rows.length < PAGE) return;
    afterId = rows.at(-1)!.id;
  }
};

/** Removes what a finished job no longer needs. May be called more than once; what fails is left to the sweep. */
export const createCleanUp =
  (store: Store, spool: Spool, log: Log) =>
  async (job: JobRow): Promise<void> => {
    const left = (err: unknown): void => log.warn({ err, job: job.id }, 'leftovers of a job wait for the sweep');
    // An upload that another process holds for itself is that one's to remove.
    if (job.place === spool.place) await spool.remove(job.id).catch(left);
    await dropMembers(store, KIND.utterance, job.id).catch(left);
  };

export type Sweeper = AsyncDisposable & { sweep(): Promise<void> };

/** Looks every few minutes for kept events, leftovers and records that are past their time. */
export const startSweeper = (parts: RecoverParts & OverdueParts, historyMs: number): Sweeper => {
  let sweeping: Promise<void> | undefined;
  const sweepOnce = async (): Promise<void> => {
    await endOverdue(parts);
    await removeOrphans(parts, ORPHAN_AGE_MS);
    await dropOldMembers(parts, KIND.event, EVENTS_KEPT_MS);
    await dropOldMembers(parts, KIND.utterance, 0);
    await dropOldJobs(parts, historyMs);
  };
  const sweep = (): Promise<void> => {
    sweeping ??= sweepOnce()
      .catch((thrown: unknown) => parts.log.warn({ err: thrown }, 'sweep of old jobs failed'))
      .finally(() => {
        sweeping = undefined;
      });
    return sweeping;
  };
  const timer = setInterval(() => void sweep(), SWEEP_EVERY_MS);
  // A kill between the end of a job and its cleaning up leaves rows behind.
  void sweep();
  return {
    sweep,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await sweeping;
    },
  };
};

/** Goes from job to job through the ids of one kind; rows whose job ended long enough ago, or is gone, are dropped. */
const dropOldMembers = async ({ store, live, now }: RecoverParts, kind: string, keptMs: number): Promise<void> => {
  let afterId: string | undefined;
  for (;;) {
    const [row] = await store.query(DOMAIN, kind, { limit: 1, ...(afterId === undefined ? {} : { afterId }) });
    if (!row) return;
    const jobId = jobIdOf(row.id);
    afterId = memberId(jobId, LAST_NUMBER);
    if (live.get(jobId)) continue;
    const job = await store.get<JobRow>(DOMAIN, KIND.job, jobId);
    const ended = job?.data.finished_at;
    if (!job || (ended && now() - Date.parse(ended) >= keptMs)) await dropMembers(store, kind, jobId);
  }
};

const dropOldJobs = async ({ store, now }: RecoverParts, historyMs: number): Promise<void> => {
  const before = new Date(now() - historyMs).toISOString();
  for (;;) {
    const rows = await store.query<JobRow>(DOMAIN, KIND.job, {
      where: [{ path: 'finished_at', op: '<', value: before }],
      limit: PAGE,
    });
    const over = rows.filter((row) => isTerminal(row.data.status));
    if (over.length > 0) {
      await store.commit(
        DOMAIN,
        over.flatMap(({ id }): Change[] => [
          { op: 'drop', kind: KIND.job, id },
          { op: 'drop', kind: KIND.result, id, quiet: true },
        ]),
      );
    }
    if (rows.length < PAGE) break;
  }
  const repeated = await store.query(DOMAIN, KIND.idempotency, {
    where: [{ path: 'created_at', op: '<', value: new Date(now() - IDEMPOTENCY_MS).toISOString() }],
    limit: PAGE,
  });
  if (repeated.length > 0) {
    await store.commit(
      DOMAIN,
      repeated.map(({ id }) => ({ op: 'drop', kind: KIND.idempotency, id, quiet: true })),
    );
  }
};

/** How long a repeated submission is recognised. */
const IDEMPOTENCY_MS = 24 * 3_600_000;
