/**
 * Traces by OpenTelemetry, sent over OTLP/HTTP as JSON when the usual OTEL_* variables name where to; nothing of it is
 * loaded otherwise. Spans hang together through the asynchronous context of the work they stand for, and across
 * processes by W3C's `traceparent` (https://www.w3.org/TR/trace-context/). Attributes follow OpenTelemetry's names.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context, Link, Span as OtelSpan, SpanContext, Tracer } from '@opentelemetry/api';
import type { Sampler } from '@opentelemetry/sdk-trace';
import type { RequestWatcher } from './http/request-log.ts';
import type { Log } from './log.ts';
import type { Store } from './store/store.ts';

type Attributes = Readonly<Record<string, string | number | boolean>>;

export type SpanOptions = {
  readonly attributes?: Attributes;
  readonly kind?: 'server' | 'internal' | 'consumer';
  /** Trace context of another process or time: the span becomes part of that trace. */
  readonly parent?: string | undefined;
  /** Trace contexts this work comes from without being part of them; the span then begins a trace of its own. */
  readonly links?: readonly string[];
  /** When it began, unix ms; now when not given. */
  readonly startMs?: number;
};

export type Span = {
  /** For whoever goes on with this elsewhere; undefined when nothing is traced. */
  readonly traceparent: string | undefined;
  /** Adds attributes; `name` replaces what it was begun under. */
  set(attributes: Attributes, name?: string): void;
  /** Idempotent. With `thrown` the span counts as failed; `endMs` is unix ms. */
  end(thrown?: unknown, endMs?: number): void;
};

export type Tracing = AsyncDisposable & {
  readonly isOn: boolean;
  /** Begins a span below the current one; it does not become current. */
  start(name: string, options?: SpanOptions): Span;
  /** Runs work within a span that is current for all it does, and ends it with the work. */
  run<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** The trace context that work done now belongs to. */
  current(): string | undefined;
  /** A span for each request, part of the caller's trace when it names one. */
  readonly watcher: RequestWatcher;
};

const NO_SPAN: Span = { traceparent: undefined, set: () => undefined, end: () => undefined };

/** Traces nothing. */
export const NO_TRACING: Tracing = {
  isOn: false,
  start: () => NO_SPAN,
  run: (_name, _options, work) => work(NO_SPAN),
  current: () => undefined,
  watcher: (_request, next) => {
    next();
    return () => undefined;
  },
  [Symbol.asyncDispose]: async () => undefined,
};

/** The same store, a span for each commit. */
export const traceCommits = (tracing: Tracing, store: Store): Store =>
  tracing.isOn
    ? {
        ...store,
        commit: (domain, changes) => {
          const attributes = { 'db.operation.name': 'commit', 'db.operation.batch.size': changes.length };
          return tracing.run('commit', { attributes }, () => store.commit(domain, changes));
        },
      }
    : store;

type Env = Readonly<Record<string, string | undefined>>;

/** Whether the variables ask for traces: an endpoint or the exporter by name, and nothing that switches it off. */
export const wantsTraces = (env: Env): boolean => {
  const exporter = env.OTEL_TRACES_EXPORTER ?? '';
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || exporter === 'none') return false;
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  return exporter.split(',').includes('otlp') || Boolean(endpoint);
};

/** How long the last spans may take to leave when the service ends. */
const SHUTDOWN_MS = 5000;

/** Begins to trace when the variables say so. The exporter reads its own variables (endpoint, headers, timeout) itself. */
export const openTracing = async (service: string, version: string, env: Env, log: Log): Promise<Tracing> => {
  if (!wantsTraces(env)) return NO_TRACING;
  const [api, sdk, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const named = resources.resourceFromAttributes({ 'service.name': `parley-${service}`, 'service.version': version });
  const { resourceAttributesEnvDetector, serviceNameEnvDetector } = resources;
  const asked = resources.detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  const sampler = samplerOf(sdk, env);
  const provider = new sdk.TracerProvider({
    resource: resources.defaultResource().merge(named).merge(asked),
    ...(sampler && { sampler }),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new OTLPTraceExporter(),
        ...numberOf(env.OTEL_BSP_SCHEDULE_DELAY, 'scheduledDelayMillis'),
        ...numberOf(env.OTEL_BSP_MAX_QUEUE_SIZE, 'maxQueueSize'),
        ...numberOf(env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, 'maxExportBatchSize'),
        ...numberOf(env.OTEL_BSP_EXPORT_TIMEOUT, 'exportTimeoutMillis'),
      }),
    ],
  });
  log.info('traces are sent');
  const close = async (): Promise<void> => {
    const late = new Promise<void>((resolve) => setTimeout(resolve, SHUTDOWN_MS).unref());
    await Promise.race([provider.shutdown(), late]).catch((thrown: unknown) => {
      log.warn({ err: thrown }, 'the last traces could not be sent');
    });
  };
  return createTracing(api, provider.getTracer('parley', version), close);
};

type Api = typeof import('@opentelemetry/api');

const numberOf = (text: string | undefined, name: string): Record<string, number> => {
  const value = Number(text);
  return text !== undefined && text !== '' && Number.isFinite(value) && value >= 0 ? { [name]: value } : {};
};

/** OTEL_TRACES_SAMPLER and its argument; undefined is what the SDK does by itself. */
const samplerOf = (sdk: typeof import('@opentelemetry/sdk-trace'), env: Env): Sampler | undefined => {
  const name = env.OTEL_TRACES_SAMPLER ?? '';
  const root = (): Sampler => {
    if (name.endsWith('always_off')) return new sdk.AlwaysOffSampler();
    const ratio = numberOf(env.OTEL_TRACES_SAMPLER_ARG, 'ratio').ratio ?? 1;
    return name.endsWith('traceidratio') ? new sdk.TraceIdRatioBasedSampler(ratio) : new sdk.AlwaysOnSampler();
  };
  if (name === '') return undefined;
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root: root() }) : root();
};

const createTracing = (api: Api, tracer: Tracer, close: () => Promise<void>): Tracing => {
  const context = new AsyncLocalStorage<Span>();
  const kinds = kindsOf(api);

  const parentOf = ({ parent, links }: SpanOptions): Context => {
    const named = parent ?? (links ? undefined : context.getStore()?.traceparent);
    const remote = named === undefined ? undefined : parseTraceparent(named);
    return remote ? api.trace.setSpanContext(api.ROOT_CONTEXT, remote) : api.ROOT_CONTEXT;
  };

  const start = (name: string, options: SpanOptions = {}): Span => {
    const { attributes, kind = 'internal', links = [], startMs } = options;
    const span = tracer.startSpan(
      name,
      {
        kind: kinds[kind],
        ...(attributes && { attributes }),
        links: links.flatMap((link): Link[] => {
          const linked = parseTraceparent(link);
          return linked ? [{ context: linked }] : [];
        }),
        ...(startMs === undefined ? {} : { startTime: startMs }),
      },
      parentOf(options),
    );
    return toSpan(api, span);
  };

  const run = <T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> => {
    const span = start(name, options);
    return context.run(span, async () => {
      try {
        const value = await work(span);
        span.end();
        return value;
      } catch (thrown) {
        span.end(thrown);
        throw thrown;
      }
    });
  };

  return {
    isOn: true,
    start,
    run,
    current: () => context.getStore()?.traceparent,
    watcher: (request, next) => {
      const { traceparent } = request.headers;
      const span = start(request.method, {
        kind: 'server',
        attributes: { 'http.request.method': request.method, 'parley.request_id': request.id },
        ...(typeof traceparent === 'string' && { parent: traceparent }),
      });
      context.run(span, next);
      return ({ method, route, status, isComplete }) => {
        span.set({ 'http.route': route, 'http.response.status_code': status }, `${method} ${route}`);
        span.end(status >= 500 || !isComplete ? { code: isComplete ? String(status) : 'client_gone' } : undefined);
      };
    },
    [Symbol.asyncDispose]: close,
  };
};

const kindsOf = ({ SpanKind }: Api) => ({
  server: SpanKind.SERVER,
  internal: SpanKind.INTERNAL,
  consumer: SpanKind.CONSUMER,
});

const toSpan = ({ SpanStatusCode }: Api, span: OtelSpan): Span => {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    set: (attributes, name) => {
      if (name !== undefined) span.updateName(name);
      span.setAttributes(attributes);
    },
    end: (thrown, endMs) => {
      if (!span.isRecording()) return;
      // Never the message: it may hold what a caller sent.
      if (thrown !== undefined) {
        span.setStatus({ code: SpanStatusCode.ERROR });
        span.setAttribute('error.type', codeOf(thrown));
      }
      span.end(endMs);
    },
  };
};

const codeOf = (thrown: unknown): string => {
  const code = (thrown as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : thrown instanceof Error ? thrown.name : 'unknown';
};

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
const NOTHING = /^0+$/;

/** Undefined for what is no trace context, as the standard wants it. */
const parseTraceparent = (text: string): SpanContext | undefined => {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? [];
  if (traceId === '' || NOTHING.test(traceId) || NOTHING.test(spanId) || text.startsWith('ff')) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
};
