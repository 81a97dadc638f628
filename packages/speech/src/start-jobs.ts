/** Composition of everything about jobs: the place of uploads, the queue, the workers, the outbox. */
import { randomUUID } from 'node:crypto';
import type { Log } from '@parley/kit/log.ts';
import { fetchOutbound, readOutboundUrl } from '@parley/kit/outbound.ts';
import type { Store } from '@parley/kit/store/store.ts';
import type { Tracing } from '@parley/kit/tracing.ts';
import type { Jobs } from './core/speech.ts';
import { renderJob } from './dialects/native/jobs.ts';
import { type Admission, createAdmission } from './jobs/admission.ts';
import { type CallbackParts, oweDelivery, startCallbacks } from './jobs/callback.ts';
import { createSharedGate, openGate } from './jobs/gate.ts';
import type { JobRow } from './jobs/job.ts';
import { type Live, openLive } from './jobs/live.ts';
import { createQueue, type Queue } from './jobs/queue.ts';
import { createCleanUp, recover, startSweeper } from './jobs/recover.ts';
import { openSpool, type SpoolSettings } from './jobs/spool-place.ts';
import { watchJob } from './jobs/watch.ts';
import { type RunJob, startWorker, type WorkerLimits } from './jobs/worker.ts';
import type { SpeechMeasures } from './metrics.ts';
import { type SpeechSettings, sizeFor } from './settings.ts';
import { dataDirOf } from './start-models.ts';

export type JobParts = {
  readonly queue: Queue;
  readonly live: Live;
  readonly admission: Admission;
  readonly watch: Jobs['watch'];
  /** Begins to take jobs; before that they only wait. */
  startWork(run: RunJob): void;
};

/** The one process of a data folder: after a crash its leases are its own again. */
const LOCAL_OWNER = 'local';
const DELIVERY_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 4096;

/** What the queue needs of the house. */
export type JobsHouse = {
  readonly store: Store;
  readonly log: Log;
  /** Whether this process has the revision of a model that a job was accepted with. */
  readonly hasModel: (id: string, revision: string) => boolean;
  readonly measures: SpeechMeasures;
  readonly tracing: Tracing;
};

/** Takes up what an earlier process left, and makes the queue. What must be closed goes on the stack. */
export const openJobs = async (
  settings: SpeechSettings,
  { store, log, hasModel, measures, tracing }: JobsHouse,
  stack: AsyncDisposableStack,
): Promise<JobParts> => {
  const { values } = settings;
  const now = Date.now;
  const isAlone = store.driver === 'sqlite';
  const owner = isAlone ? LOCAL_OWNER : randomUUID();
  const spool = await openSpool(spoolSettingsOf(settings), (thrown) =>
    log.warn({ err: thrown }, 'the place of uploads does not answer'),
  );
  if (!isAlone && !spool.isShared) log.warn('spool.url is not set: jobs accepted here run here only');
  const live = stack.use(await openLive(store, log));
  const canRun = (job: JobRow): boolean =>
    isAlone || (job.place === spool.place && hasModel(job.model_id, job.model_rev));
  const limits = workerLimitsOf(settings);
  const onTerminal = oweDelivery(now);
  const cleanUp = createCleanUp(store, spool, log);
  const onEnded = (job: JobRow): Promise<void> => {
    measures.jobEnded(job.status);
    return cleanUp(job);
  };
  const common = { store, spool, live, log, now, canRun, onTerminal, cleanUp, onEnded };
  const recovery = { ...common, ...limits, owner: isAlone ? owner : undefined };
  await recover(recovery);
  stack.use(startSweeper(recovery, values['jobs.history_ttl']));
  const checkCallback = (url: string): void => {
    readOutboundUrl(url, values['jobs.webhook_allowed_hosts'], 'webhook_url');
  };
  const admitted = { maxQueued: values['jobs.queue_size'], maxBytes: values['jobs.max_queued_bytes'] };
  const retryAfterSec = (): number => estimateWaitSec(live);
  const gate = isAlone ? openGate(store) : createSharedGate(store, live, admitted, retryAfterSec);
  const queue = createQueue({
    ...common,
    gate,
    checkCallback,
    currentTrace: tracing.current,
    tellsOfCancel: values['jobs.webhook_on_cancel'],
  });
  const callbacks = stack.use(startCallbacks(callbackParts(settings, { store, log, measures }, owner)));
  stack.defer(live.onAnyChange((job) => job.callback?.status === 'pending' && callbacks.ring()));
  return {
    queue,
    live,
    admission: createAdmission(live, admitted, retryAfterSec),
    watch: (caller, id, options) => watchJob({ store, live, queue }, caller, id, options),
    startWork: (run) => void stack.use(startWorker({ ...common, run: traced(tracing, run), limits, owner })),
  };
};

/** A trace of its own for each attempt, linked to the request that brought the job. */
const traced =
  (tracing: Tracing, run: RunJob): RunJob =>
  (job, ...rest) => {
    const attributes = { 'parley.job.id': job.id, 'parley.job.attempt': job.attempt, 'parley.model': job.model_id };
    const links = job.trace === null ? [] : [job.trace];
    return tracing.run('job', { kind: 'consumer', links, attributes }, () => run(job, ...rest));
  };

const spoolSettingsOf = (settings: SpeechSettings): SpoolSettings => ({
  url: settings.values['spool.url'],
  endpoint: settings.values['spool.endpoint'],
  region: settings.values['spool.region'],
  accessKey: settings.values['spool.access_key'],
  secretKey: settings.values['spool.secret_key'],
  dataDir: dataDirOf(settings),
});

const workerLimitsOf = (settings: SpeechSettings): WorkerLimits => ({
  maxConcurrent: sizeFor(settings).jobWorkers,
  maxAttempts: settings.values['jobs.max_attempts'],
  maxQueueWaitMs: settings.values['jobs.max_queue_wait'],
  maxProcessingMs: settings.values['jobs.max_processing_time'],
  leaseMs: settings.values['jobs.lease'],
});

const callbackParts = (
  { values }: SpeechSettings,
  { store, log, measures }: Pick<JobsHouse, 'store' | 'log' | 'measures'>,
  owner: string,
): CallbackParts => {
  if (values['jobs.webhook_secret'].length === 0)
    log.warn('jobs.webhook_secret is not set: deliveries carry no signature');
  return {
    store,
    log,
    now: Date.now,
    owner,
    render: renderJob,
    secrets: values['jobs.webhook_secret'],
    post: async (url, headers, body, signal) => {
      try {
        const answer = await fetchOutbound(url, {
          method: 'POST',
          headers,
          body,
          signal,
          timeoutMs: DELIVERY_TIMEOUT_MS,
          maxResponseBytes: MAX_ANSWER_BYTES,
          whenLonger: 'cut',
          allowedHosts: values['jobs.webhook_allowed_hosts'],
        });
        measures.delivered(`${Math.floor(answer.status / 100)}xx`);
        const retryAfterSec = Number(answer.headers['retry-after']);
        return { status: answer.status, retryAfterSec: Number.isFinite(retryAfterSec) ? retryAfterSec : undefined };
      } catch (thrown) {
        measures.delivered('none');
        return { fault: thrown instanceof Error ? thrown.message : 'failed' };
      }
    },
  };
};

const MIN_RETRY_SEC = 1;
const MAX_RETRY_SEC = 60;

/** Seconds until a running job is likely over: what the quickest one still needs at its speed so far. */
const estimateWaitSec = (live: Live): number => {
  const nowMs = Date.now();
  const left = [...live.all()].flatMap((job) => {
    const gained = (job.percent ?? 0) - job.run_started_percent;
    if (job.status !== 'running' || job.run_started_ms === null || gained <= 0) return [];
    return [(((nowMs - job.run_started_ms) / gained) * (100 - (job.percent ?? 0))) / 1000];
  });
  const shortest = left.length === 0 ? MAX_RETRY_SEC / 4 : Math.min(...left);
  return Math.min(MAX_RETRY_SEC, Math.max(MIN_RETRY_SEC, Math.ceil(shortest)));
};
