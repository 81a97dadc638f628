/** Submitting, listing, reading and cancelling jobs. Who may see which job is decided here, once. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createPrefixedId } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import { type Change, type Condition, Conflict, type Store, StoreUnavailable } from '@parley/kit/store/store.ts';
import { problem } from '../core/codes.ts';
import type { JobRecord } from '../core/job-record.ts';
import type { JobFilter, JobOptions, JobPage } from '../core/speech.ts';
import type { Caller, ModelInfo, Transcript, TranscriptionRequest, Upload } from '../core/types.ts';
import type { Gate } from './gate.ts';
import type { JobRow } from './job.ts';
import type { Live } from './live.ts';
import { DOMAIN, enqueueJob, KIND, moveJob, statusEvent } from './records.ts';
import type { Spool } from './spool.ts';
import { toJobRecord } from './view.ts';

export type QueueParts = {
  readonly store: Store;
  readonly spool: Spool;
  readonly gate: Gate;
  readonly live: Live;
  readonly log: Log;
  readonly currentTrace: () => string | undefined;
  readonly now: () => number;
  /** Throws Problem invalid_request (param webhook_url) for an address that can never be delivered to. */
  readonly checkCallback: (url: string) => void;
  /** Whether a cancelled job is delivered. */
  readonly tellsOfCancel: boolean;
  /** Changes that go with a terminal state: the delivery to be made. */
  readonly onTerminal: (job: JobRow) => readonly Change[];
  /** Told of each job that this process ended; cleans up. */
  readonly onEnded: (job: JobRow) => Promise<void>;
};

type IdempotencyRow = { readonly job: string; readonly fingerprint: string; readonly created_at: string };

export type Queue = {
  submit(
    caller: Caller,
    model: ModelInfo,
    request: TranscriptionRequest,
    upload: Upload,
    options: JobOptions,
  ): Promise<JobRecord>;
  list(caller: Caller, filter: JobFilter): Promise<JobPage>;
  get(caller: Caller, id: string): Promise<JobRecord>;
  cancel(caller: Caller, id: string): Promise<JobRecord>;
  /** The caller's own job (any job for an administrator). Problem job_not_found, also for another key's. */
  require(caller: Caller, id: string): Promise<JobRow>;
  view(caller: Caller, job: JobRow, result?: Transcript): JobRecord;
};

export const createQueue = (parts: QueueParts): Queue => {
  const { store, live, now } = parts;
  const view = (caller: Caller, job: JobRow, result?: Transcript): JobRecord =>
    toJobRecord(job, { caller, position: live.positionOf(job.id), result, nowMs: now() });

  const requireJob = async (caller: Caller, id: string): Promise<JobRow> => {
    const row = await store.get<JobRow>(DOMAIN, KIND.job, id);
    if (!row || (!caller.admin && row.data.key_id !== caller.keyId))
      throw problem('job_not_found', 'There is no such job.');
    return row.data;
  };

  const resultOf = async (job: JobRow): Promise<Transcript | undefined> =>
    job.status === 'succeeded' ? (await store.get<Transcript>(DOMAIN, KIND.result, job.id))?.data : undefined;

  return {
    view,
    require: requireJob,
    submit: async (caller, model, request, upload, options) => {
      if (options.webhookUrl !== undefined) parts.checkCallback(options.webhookUrl);
      const fingerprint = options.idempotencyKey === undefined ? '' : await fingerprintOf(upload, options.fingerprint);
      const repetition = { key: options.idempotencyKey, fingerprint };
      const known = await findRepeated(parts, caller, repetition);
      if (known) return view(caller, await requireJob(caller, known));
      const { place } = parts.spool;
      const job = createJob(caller, model, request, upload, { ...options, place, trace: parts.currentTrace() }, now());
      await parts.spool.adopt(upload, job.id);
      try {
        await parts.gate.pass(upload.sizeBytes, submission(job, caller, repetition, now()));
      } catch (thrown) {
        await giveUp(parts, job, thrown);
        const first = isTaken(thrown) ? await findRepeated(parts, caller, repetition) : undefined;
        if (first) return view(caller, await requireJob(caller, first));
        throw thrown;
      }
      return toJobRecord(job, { caller, position: live.positionOf(job.id) ?? live.queued() + 1, nowMs: now() });
    },
    list: (caller, filter) => listJobs(parts, view, resultOf, caller, filter),
    get: async (caller, id) => {
      const job = await requireJob(caller, id);
      return view(caller, job, await resultOf(job));
    },
    cancel: async (caller, id) => {
      const job = await requireJob(caller, id);
      const event = { type: 'canceled', delivers: parts.tellsOfCancel } as const;
      const moved = await moveJob(store, id, event, new Date(now()).toISOString(), parts.onTerminal);
      if (moved) await parts.onEnded(moved.after);
      const current = moved?.after ?? (await requireJob(caller, job.id));
      return view(caller, current, await resultOf(current));
    },
  };
};

const createJob = (
  caller: Caller,
  model: ModelInfo,
  request: TranscriptionRequest,
  upload: Upload,
  options: JobOptions & { readonly place: string; readonly trace: string | undefined },
  nowMs: number,
): JobRow => {
  const id = createPrefixedId('job');
  return {
    id,
    key_id: caller.keyId,
    status: 'queued',
    seq: 1,
    attempt: 0,
    source: options.source,
    priority: caller.priority,
    model_id: model.id,
    model_rev: model.revision,
    filename: upload.filename ?? null,
    audio_bytes: upload.sizeBytes,
    audio_seconds: null,
    request,
    place: options.place,
    stage: null,
    percent: null,
    done_seconds: 0,
    segments_told: 0,
    run_started_ms: null,
    run_started_percent: 0,
    trace: options.trace ?? null,
    created_at: new Date(nowMs).toISOString(),
    started_at: null,
    finished_at: null,
    error: null,
    callback:
      options.webhookUrl === undefined
        ? null
        : { url: options.webhookUrl, status: 'waiting', attempts: 0, last_status: null },
  };
};

/** Removes the upload of a job that was not accepted. Where that is not known, the sweep of orphans decides later. */
const giveUp = async ({ store, spool, log }: QueueParts, job: JobRow, thrown: unknown): Promise<void> => {
  if (thrown instanceof StoreUnavailable && store.driver === 'postgres') return;
  await spool.remove(job.id).catch((err: unknown) => log.warn({ err, job: job.id }, 'upload is left to the sweep'));
};

const IDEMPOTENCY_MS = 24 * 3_600_000;

const idempotencyId = (caller: Caller, key: string): string =>
  createHash('sha256').update(`${caller.keyId}\n${key}`).digest('hex');

const submission = (job: JobRow, caller: Caller, { key, fingerprint }: Repetition, nowMs: number): Change[] => [
  { op: 'put', kind: KIND.job, id: job.id, data: job, expect: 0 },
  statusEvent(job),
  enqueueJob(job, nowMs),
  ...(key === undefined
    ? []
    : [
        {
          op: 'put',
          kind: KIND.idempotency,
          id: idempotencyId(caller, key),
          data: { job: job.id, fingerprint, created_at: job.created_at } satisfies IdempotencyRow,
          // Two at once: the second is refused here and gets the first one's answer.
          expect: 0,
          quiet: true,
        } as const,
      ]),
];

const isTaken = (thrown: unknown): boolean => thrown instanceof Conflict && thrown.kind === KIND.idempotency;

type Repetition = { readonly key: string | undefined; readonly fingerprint: string };

/** Digest of the fields and of the file's bytes. */
const fingerprintOf = async (upload: Upload, fields: string): Promise<string> => {
  const hash = createHash('sha256').update(fields);
  await pipeline(createReadStream(upload.path), hash);
  return hash.digest('hex');
};

/** The job a repeated request made before. Problem idempotency_conflict when the request was another. */
const findRepeated = async (
  { store, now }: QueueParts,
  caller: Caller,
  { key, fingerprint }: Repetition,
): Promise<string | undefined> => {
  if (key === undefined) return undefined;
  const id = idempotencyId(caller, key);
  const row = await store.get<IdempotencyRow>(DOMAIN, KIND.idempotency, id);
  if (!row) return undefined;
  if (now() - Date.parse(row.data.created_at) > IDEMPOTENCY_MS) {
    await store.commit(DOMAIN, [{ op: 'drop', kind: KIND.idempotency, id, quiet: true }]);
    return undefined;
  }
  if (row.data.fingerprint !== fingerprint) {
    throw problem('idempotency_conflict', 'This Idempotency-Key came with another request before.', {
      param: 'Idempotency-Key',
    });
  }
  return row.data.job;
};

const readCursor = (cursor: string): string => {
  const id = Buffer.from(cursor, 'base64url').toString('utf8');
  if (!/^job_[0-9a-f]{32}$/.test(id))
    throw problem('invalid_request', 'The cursor is not one of ours.', { param: 'cursor' });
  return id;
};

const conditionsOf = (caller: Caller, filter: JobFilter): Condition[] => {
  if (filter.keyId !== undefined && !caller.admin)
    throw problem('forbidden', 'Only administrators list by key.', { param: 'key' });
  const keyId = caller.admin ? filter.keyId : caller.keyId;
  return [
    ...(keyId === undefined ? [] : [{ path: 'key_id', op: '=', value: keyId } as const]),
    ...(filter.statuses.length === 0 ? [] : [{ path: 'status', op: 'in', values: filter.statuses } as const]),
    ...(filter.model === undefined ? [] : [{ path: 'model_id', op: '=', value: filter.model } as const]),
    ...(filter.source === undefined ? [] : [{ path: 'source', op: '=', value: filter.source } as const]),
    ...(filter.since === undefined ? [] : [{ path: 'created_at', op: '>=', value: filter.since } as const]),
    ...(filter.until === undefined ? [] : [{ path: 'created_at', op: '<=', value: filter.until } as const]),
  ];
};

/** Newest first; ids are ordered by time, so the cursor is the last id seen. */
const listJobs = async (
  { store }: QueueParts,
  view: Queue['view'],
  resultOf: (job: JobRow) => Promise<Transcript | undefined>,
  caller: Caller,
  filter: JobFilter,
): Promise<JobPage> => {
  const rows = await store.query<JobRow>(DOMAIN, KIND.job, {
    where: conditionsOf(caller, filter),
    idDirection: 'desc',
    limit: filter.limit + 1,
    ...(filter.cursor === undefined ? {} : { afterId: readCursor(filter.cursor) }),
  });
  const page = rows.slice(0, filter.limit);
  const data = await Promise.all(
    page.map(async ({ data: job }) => view(caller, job, filter.includeResult ? await resultOf(job) : undefined)),
  );
  const hasMore = rows.length > filter.limit;
  const last = page.at(-1);
  return {
    data,
    has_more: hasMore,
    next_cursor: hasMore && last ? Buffer.from(last.id).toString('base64url') : null,
  };
};
