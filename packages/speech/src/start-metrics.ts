/** Composition of what is measured, and of who may read it. */
import { startMetricsListener } from '@parley/kit/http/metrics-listener.ts';
import type { Log } from '@parley/kit/log.ts';
import { type Metrics, NO_METRICS, openMetrics } from '@parley/kit/metrics.ts';
import type { Store } from '@parley/kit/store/store.ts';
import type { Realtime } from './core/realtime.ts';
import { DOMAIN, KIND } from './jobs/records.ts';
import { measureState } from './metrics.ts';
import type { Line } from './pipeline/transcribe.ts';
import type { SpeechSettings } from './settings.ts';
import type { RunningSpeech } from './speech.ts';
import type { JobParts } from './start-jobs.ts';
import type { ModelParts } from './start-models.ts';

/** Opens the measures where a setting asks for them, and their own listener where one is named. */
export const openSpeechMetrics = async (
  { values }: SpeechSettings,
  log: Log,
  stack: AsyncDisposableStack,
): Promise<Metrics> => {
  const address = values['metrics.addr'];
  if (!values['metrics.enabled'] && address === '') return NO_METRICS;
  const metrics = await openMetrics(log);
  if (address !== '') {
    const listening = await startMetricsListener(metrics, address, log);
    stack.defer(() => listening.close());
  }
  return metrics;
};

export type Measured = {
  readonly store: Store;
  readonly jobs: JobParts;
  readonly line: Line;
  readonly realtime: Realtime;
  readonly speech: RunningSpeech;
  readonly models: ModelParts;
};

/** Declares what is asked for at each scrape. */
export const watchState = (metrics: Metrics, { store, jobs, line, realtime, speech, models }: Measured): void => {
  const { live } = jobs;
  measureState(metrics, {
    queued: live.queued,
    running: live.running,
    queuedBytes: () => live.bytes() + jobs.admission.reservedBytes(),
    oldestSec: () => {
      const waiting = [...live.all()].filter(({ status }) => status === 'queued');
      const oldestMs = Math.min(Date.now(), ...waiting.map((job) => Date.parse(job.created_at)));
      return Math.max(0, Date.now() - oldestMs) / 1000;
    },
    feedLag: async () => Math.max(0, (await store.lastSeq(DOMAIN)) - live.reached()),
    pendingDeliveries: () => store.count(DOMAIN, KIND.delivery),
    waitingSegments: line.scheduler.waiting,
    underWay: speech.underWay,
    realtimeSessions: realtime.active,
    models: () =>
      new Map(
        models.installed.list().flatMap((model) => {
          const { state, rssBytes } = models.pool.residence(model);
          return state ? [[`${model.id}@${model.revision}`, rssBytes] as const] : [];
        }),
      ),
  });
};
