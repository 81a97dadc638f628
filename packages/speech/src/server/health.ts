/** Liveness with the versions of what is inside, and readiness with the depth of the queue. Neither needs a key. */
import type { SpeechEndpoint } from '../dialects/dialect.ts';

/** Versions are asked once from a short-lived engine process at start; an engine that is not there is left out. */
export type Health = {
  readonly version: string;
  readonly engines: {
    readonly sherpa_onnx?: string;
    readonly onnxruntime?: string;
    readonly pocketsphinx?: string;
  };
  readonly ffmpeg?: string;
};

export type Readiness = {
  /** Anything but `ready` is answered with 503, so that a load balancer sends work elsewhere. */
  readonly status: 'ready' | 'saturated' | 'draining' | 'starting';
  readonly queue_depth: number;
  readonly queue_size: number;
  readonly queued_bytes: number;
  readonly max_queued_bytes: number;
  readonly running: number;
  readonly workers: number;
  readonly models_resident: number;
  /** Seconds until asking again makes sense. */
  readonly retryAfterSec?: number;
};

export type HealthParts = { readonly health: () => Health; readonly readiness: () => Readiness };

const DEFAULT_RETRY_AFTER_SEC = 5;

/** `/healthz` and `/readyz`. */
export const healthEndpoints = ({ health, readiness }: HealthParts): SpeechEndpoint[] => [
  {
    method: 'GET',
    path: '/healthz',
    access: 'open',
    tag: 'server',
    summary: 'Liveness, with the versions of the native libraries',
    description: 'Answers as long as the process can answer at all.',
    handle: () => {
      const { version, engines, ffmpeg } = health();
      const { sherpa_onnx = null, onnxruntime = null } = engines;
      return {
        status: 'ok',
        version,
        engines,
        sherpa_onnx,
        onnxruntime,
        node: process.versions.node,
        ...(ffmpeg !== undefined && { ffmpeg }),
        uptime_s: Math.round(process.uptime()),
      };
    },
  },
  {
    method: 'GET',
    path: '/readyz',
    access: 'open',
    tag: 'server',
    summary: 'Readiness and queue depth',
    description: 'Answers 503 with the same body while starting, while draining and when the queue is full.',
    handle: ({ reply }) => {
      const { retryAfterSec = DEFAULT_RETRY_AFTER_SEC, ...body } = readiness();
      if (body.status !== 'ready') reply.code(503).header('Retry-After', String(Math.max(1, Math.ceil(retryAfterSec))));
      return body;
    },
  },
];
