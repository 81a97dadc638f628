/** Jobs as callers see them. */
import type { Priority, Stage, Transcript } from './types.ts';

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired';

/** A job as callers see it; field names are the wire's (docs/speech-api.md, job record). */
export type JobRecord = {
  readonly id: string;
  readonly object: 'job';
  readonly status: JobStatus;
  /** 1-based; only while queued. */
  readonly position?: number;
  readonly stage?: Stage;
  readonly percent?: number;
  readonly eta_seconds?: number;
  readonly model_id: string;
  readonly model_rev: string;
  readonly filename?: string;
  readonly audio_seconds?: number;
  readonly audio_bytes: number;
  readonly source: 'api' | 'ui';
  readonly priority: Priority;
  readonly attempt: number;
  readonly created_at: string;
  readonly started_at?: string;
  readonly finished_at?: string;
  readonly result?: Transcript;
  readonly error?: { readonly code: string; readonly message: string; readonly param?: string };
  readonly webhook?: {
    readonly url_host: string;
    readonly status: string;
    readonly attempts: number;
    readonly last_status: number | null;
  };
  /** Only for administrative callers. */
  readonly key_id?: string;
  readonly links: { readonly self: string; readonly events: string };
};

/** One message of a job's event stream. */
export type JobMessage = {
  /** States count 1, 2, 3 …; segments told after state n are n.1, n.2 … */
  readonly id: string;
  /** The job's status, or `segment`. */
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly last: boolean;
};
