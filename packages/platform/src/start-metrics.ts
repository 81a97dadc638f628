/** Composition of what is measured and traced, and of who may read it. */
import { startMetricsListener } from '@parley/kit/http/metrics-listener.ts';
import type { RequestWatcher } from '@parley/kit/http/request-log.ts';
import type { Log } from '@parley/kit/log.ts';
import { type Metrics, measureCommits, measureRequests, NO_METRICS, openMetrics } from '@parley/kit/metrics.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { openTracing, traceCommits } from '@parley/kit/tracing.ts';
import type { PlatformSettings } from './settings.ts';

export type Observed = {
  readonly metrics: Metrics;
  /** Told of every request. */
  readonly watchers: readonly RequestWatcher[];
  /** The same store, its commits timed and traced. */
  observe(store: Store): Store;
};

type Parts = {
  readonly values: PlatformSettings;
  readonly version: string;
  /** Variables that say where traces go (OTEL_*). */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
};

/** Opens the measures where a setting asks for them, and traces where the environment does. */
export const openObserved = async (
  { values, version, env, log }: Parts,
  stack: AsyncDisposableStack,
): Promise<Observed> => {
  const tracing = stack.use(await openTracing('platform', version, env, log));
  const address = values['metrics.addr'];
  const metrics = address === '' && values['metrics.token'] === '' ? NO_METRICS : await openMetrics(log);
  if (address !== '') {
    const listening = await startMetricsListener(metrics, address, log);
    stack.defer(() => listening.close());
  }
  return {
    metrics,
    watchers: [
      ...(tracing.isOn ? [tracing.watcher] : []),
      // Requests are answered from memory; whoever measures nothing pays nothing.
      ...(metrics.isOn ? [measureRequests(metrics)] : []),
    ],
    observe: (store) => traceCommits(tracing, measureCommits(metrics, store)),
  };
};
