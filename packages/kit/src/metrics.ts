/**
 * What a service measures, in Prometheus' text format (prom-client). Each service declares its measures in a file of its
 * own. Labels are names of ours (routes, codes, installed models), never what a caller sent: each value is kept for ever.
 */
import type { Registry } from 'prom-client';
import type { RequestWatcher } from './http/request-log.ts';
import type { Log } from './log.ts';
import type { Store } from './store/store.ts';

type Labels<L extends string> = Readonly<Record<L, string>>;

export type Counter<L extends string = never> = { add(labels: Labels<L>, count?: number): void };
export type Histogram<L extends string = never> = { observe(labels: Labels<L>, value: number): void };
type Sample<L extends string> = { readonly labels: Labels<L>; readonly value: number };

type Description<L extends string> = {
  /** With its unit at the end, a counter with `_total`, as Prometheus' naming rules want it. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
};

export type Metrics = {
  /** False when nobody asked for measures; all members then do nothing. */
  readonly isOn: boolean;
  counter<L extends string = never>(description: Description<L>): Counter<L>;
  histogram<L extends string = never>(description: Description<L> & { buckets: readonly number[] }): Histogram<L>;
  /** Asks `read` at each scrape; a read that fails or takes too long leaves its samples out. */
  gauge<L extends string = never>(
    description: Description<L>,
    read: () => readonly Sample<L>[] | Promise<readonly Sample<L>[]>,
  ): void;
  /** Everything measured, as Prometheus scrapes it. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>;
};

/** Longest time one gauge may take: a database that is away must not take the other measures along. */
const READ_TIMEOUT_MS = 2000;

/** Measures nothing. */
export const NO_METRICS: Metrics = {
  isOn: false,
  counter: () => ({ add: () => undefined }),
  histogram: () => ({ observe: () => undefined }),
  gauge: () => undefined,
  render: async () => ({ contentType: 'text/plain', body: '' }),
};

/** Opens a registry of its own, with the measures of the process: CPU, memory, event loop, garbage collection. */
export const openMetrics = async (log: Log): Promise<Metrics> => {
  const prom = await import('prom-client');
  const registry: Registry = new prom.Registry();
  prom.collectDefaultMetrics({ register: registry });
  const common = <L extends string>({ name, help, labels = [] }: Description<L>) => ({
    name,
    help,
    labelNames: labels,
    registers: [registry],
  });
  return {
    isOn: true,
    counter: (description) => {
      const counter = new prom.Counter(common(description));
      return { add: (labels, count = 1) => counter.inc({ ...labels }, count) };
    },
    histogram: (description) => {
      const histogram = new prom.Histogram({ ...common(description), buckets: [...description.buckets] });
      return { observe: (labels, value) => histogram.observe({ ...labels }, value) };
    },
    gauge: (description, read) => {
      const gauge = new prom.Gauge({
        ...common(description),
        collect: async () => {
          const samples = await inTime(read).catch((thrown: unknown) => {
            log.warn({ err: thrown, metric: description.name }, 'cannot be measured now');
            return [];
          });
          gauge.reset();
          // One without labels stands at 0 then, which would be a lie.
          if (samples.length === 0 && !description.labels) gauge.remove();
          for (const { labels, value } of samples) gauge.set({ ...labels }, value);
        },
      });
    },
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
};

const inTime = async <T>(read: () => T | Promise<T>): Promise<T> => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), READ_TIMEOUT_MS);
  try {
    return await Promise.race([
      read(),
      new Promise<never>((_, reject) => {
        late.signal.addEventListener('abort', () => reject(new Error('took too long')), { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
};

/** A single value without labels. */
export const plain = (value: number): readonly Sample<never>[] => [{ labels: {}, value }];

/** From a request that is answered from memory to an hour of audio. */
const REQUEST_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const COMMIT_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** Counts requests and their times, by route and status. */
export const measureRequests = (metrics: Metrics): RequestWatcher => {
  const durations = metrics.histogram({
    name: 'parley_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labels: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
  });
  return (_request, next) => {
    next();
    return ({ method, route, status, seconds }) =>
      durations.observe({ method, route, status: String(status) }, seconds);
  };
};

/** The same store, its commits timed. */
export const measureCommits = (metrics: Metrics, store: Store): Store => {
  if (!metrics.isOn) return store;
  const durations = metrics.histogram({
    name: 'parley_store_commit_duration_seconds',
    help: 'Time until a commit is durable, its wait for others included.',
    labels: ['outcome'],
    buckets: COMMIT_BUCKETS,
  });
  return {
    ...store,
    commit: async (domain, changes, also) => {
      const startedMs = performance.now();
      const tell = (outcome: string): void => durations.observe({ outcome }, (performance.now() - startedMs) / 1000);
      try {
        const committed = await store.commit(domain, changes, also);
        tell('done');
        return committed;
      } catch (thrown) {
        tell(thrown instanceof Error && thrown.name === 'Conflict' ? 'conflict' : 'failed');
        throw thrown;
      }
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
};
