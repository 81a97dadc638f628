/**
 * The outbox of signed deliveries: one row and one place in the queue per delivery, made in the commit that ends the
 * job, so that none is lost. Told at least once, always with the same delivery id.
 */

import { createPrefixedId } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import { type Change, type Claim, Conflict, type Store } from '@parley/kit/store/store.ts';
import type { JobRecord } from '../core/job-record.ts';
import type { Transcript } from '../core/types.ts';
import { type ClaimLoop, startClaimLoop } from './claim-loop.ts';
import type { Callback, JobRow } from './job.ts';
import { CALLBACK_QUEUE, DOMAIN, KIND } from './records.ts';
import { deliveryHeaders } from './signature.ts';
import { toJobRecord } from './view.ts';

/** What came of one attempt: a status line, or nothing at all. */
export type Attempt =
  | { readonly status: number; readonly retryAfterSec: number | undefined }
  | { readonly fault: string };

export type CallbackParts = {
  readonly store: Store;
  /** Posts to an address a stranger gave us, by the rules of kit/outbound.ts. Never rejects. */
  readonly post: (
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ) => Promise<Attempt>;
  /** The job record as the native dialect shows it. */
  readonly render: (job: JobRecord) => unknown;
  readonly secrets: readonly string[];
  readonly log: Log;
  readonly now: () => number;
  readonly owner: string;
  readonly limits?: Partial<CallbackLimits>;
};

export type CallbackLimits = {
  /** Pause before each repetition; their number is the number of repetitions. */
  readonly scheduleMs: readonly number[];
  readonly atOnce: number;
  readonly leaseMs: number;
  readonly lookMs: number;
};

const LIMITS: CallbackLimits = {
  scheduleMs: [1000, 5000, 25_000, 120_000, 600_000, 3_600_000],
  atOnce: 8,
  leaseMs: 30_000,
  lookMs: 1000,
};

const MAX_RETRY_AFTER_SEC = 3600;
/** Pauses vary by this share, so that deliveries that failed together do not come back together. */
const JITTER = 0.2;
/** Answers after which trying again makes sense; other refusals are final. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429]);

type DeliveryRow = {
  readonly job: string;
  readonly url: string;
  readonly attempts: number;
  readonly created_at: string;
};

/** The changes that owe a delivery for a job that just ended; none when there is none to be made. */
export const oweDelivery =
  (now: () => number) =>
  (job: JobRow): Change[] => {
    if (job.callback?.status !== 'pending') return [];
    const id = createPrefixedId('dlv');
    const row: DeliveryRow = {
      job: job.id,
      url: job.callback.url,
      attempts: 0,
      created_at: new Date(now()).toISOString(),
    };
    return [
      { op: 'put', kind: KIND.delivery, id, data: row, expect: 0, quiet: true },
      { op: 'enqueue', queue: CALLBACK_QUEUE, id, priority: 0, share: job.key_id, readyAtMs: now() },
    ];
  };

/** Starts delivering what is owed; disposing stops attempts under way, which are then made again. */
export const startCallbacks = (parts: CallbackParts): ClaimLoop => {
  const limits = { ...LIMITS, ...parts.limits };
  const run = async (claim: Claim, stopping: AbortSignal): Promise<void> => {
    try {
      await deliver(parts, limits, claim, stopping);
    } catch (thrown) {
      if (!(thrown instanceof Conflict && thrown.reason === 'lease')) throw thrown;
      // Ours took too long: what comes of the delivery is now another's to write down.
      parts.log.info({ delivery: claim.id }, 'delivery was taken over');
    }
  };
  return startClaimLoop({ ...parts, ...limits, queue: CALLBACK_QUEUE, run }, new Error('the service stops'));
};

const deliver = async (
  parts: CallbackParts,
  limits: CallbackLimits,
  claim: Claim,
  signal: AbortSignal,
): Promise<void> => {
  const { store, log } = parts;
  const row = await store.get<DeliveryRow>(DOMAIN, KIND.delivery, claim.id);
  const job = row && (await store.get<JobRow>(DOMAIN, KIND.job, row.data.job));
  if (!row || !job) {
    await store.commit(DOMAIN, dropDelivery(claim.id, parts.owner));
    return;
  }
  const attempt = row.data.attempts + 1;
  const body = JSON.stringify(parts.render(await recordOf(parts, job.data)));
  const timestampSec = Math.floor(parts.now() / 1000);
  const headers = deliveryHeaders(
    { id: claim.id, attempt, event: `job.${job.data.status}`, timestampSec, body },
    parts.secrets,
  );
  const outcome = await parts.post(row.data.url, headers, body, signal);
  const status = 'status' in outcome ? outcome.status : null;
  if (signal.aborted && status === null) {
    // Stopped in the middle: whether it arrived is not known, so it is made again, by whoever comes first.
    await store.commit(DOMAIN, [
      { op: 'renew', queue: CALLBACK_QUEUE, id: claim.id, owner: parts.owner, untilMs: parts.now() },
    ]);
    return;
  }
  log.info({ delivery: claim.id, job: job.id, attempt, status }, 'delivery attempted');
  const pauseMs = pauseAfter(outcome, attempt, limits);
  const callback = { attempts: attempt, last_status: status };
  if (pauseMs === undefined) {
    const delivered = status !== null && status >= 200 && status < 300;
    await note(
      store,
      job.id,
      { ...callback, status: delivered ? 'delivered' : 'failed' },
      dropDelivery(claim.id, parts.owner),
    );
    return;
  }
  await note(store, job.id, { ...callback, status: 'pending' }, [
    { op: 'put', kind: KIND.delivery, id: claim.id, data: { ...row.data, attempts: attempt }, quiet: true },
    { op: 'dequeue', queue: CALLBACK_QUEUE, id: claim.id, owner: parts.owner },
    {
      op: 'enqueue',
      queue: CALLBACK_QUEUE,
      id: claim.id,
      priority: 0,
      share: job.data.key_id,
      readyAtMs: parts.now() + pauseMs,
    },
  ]);
};

const dropDelivery = (id: string, owner: string): Change[] => [
  { op: 'drop', kind: KIND.delivery, id, quiet: true },
  { op: 'dequeue', queue: CALLBACK_QUEUE, id, owner },
];

const recordOf = async ({ store, now }: CallbackParts, job: JobRow) => {
  const result = job.status === 'succeeded' ? await store.get<Transcript>(DOMAIN, KIND.result, job.id) : undefined;
  return toJobRecord(job, { caller: { admin: false }, position: undefined, result: result?.data, nowMs: now() });
};

/** Milliseconds until the next attempt; undefined when this one was the last. */
const pauseAfter = (outcome: Attempt, attempt: number, limits: CallbackLimits): number | undefined => {
  const final = 'status' in outcome && outcome.status < 500 && !RETRYABLE.has(outcome.status);
  const plannedMs = limits.scheduleMs[attempt - 1];
  if (final || plannedMs === undefined) return undefined;
  const askedSec = 'status' in outcome ? (outcome.retryAfterSec ?? 0) : 0;
  const askedMs = Math.min(askedSec, MAX_RETRY_AFTER_SEC) * 1000;
  return Math.round(Math.max(askedMs, plannedMs * (1 + JITTER * (Math.random() * 2 - 1))));
};

/** Writes on the job what came of its delivery. Delivery never changes the job's state or number. */
const note = async (
  store: Store,
  jobId: string,
  news: Omit<Callback, 'url'>,
  more: readonly Change[],
): Promise<void> => {
  const row = await store.get<JobRow>(DOMAIN, KIND.job, jobId);
  const changes: Change[] = [...more];
  if (row?.data.callback) {
    const data: JobRow = { ...row.data, callback: { ...row.data.callback, ...news } };
    changes.push({ op: 'put', kind: KIND.job, id: jobId, data, expect: row.version });
  }
  await store.commit(DOMAIN, changes);
};
