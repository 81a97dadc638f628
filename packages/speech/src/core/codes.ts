/** The closed list of problem codes of the speech service, with the HTTP status each stands for (docs/speech-api.md). */
import { Problem, type ProblemParts } from '@parley/kit/problem.ts';

export const CODES = {
  invalid_request: 400,
  invalid_audio: 400,
  unauthorized: 401,
  forbidden: 403,
  download_refused: 403,
  not_found: 404,
  model_not_found: 404,
  job_not_found: 404,
  method_not_allowed: 405,
  upload_timeout: 408,
  job_not_finished: 409,
  model_pinned: 409,
  model_busy: 409,
  idempotency_conflict: 409,
  file_too_large: 413,
  duration_exceeded: 413,
  unsupported_media_type: 415,
  capability_unavailable: 422,
  upgrade_required: 426,
  queue_full: 429,
  rate_limited: 429,
  quota_exceeded: 429,
  internal: 500,
  inference_failed: 500,
  not_implemented: 501,
  model_unavailable: 503,
  draining: 503,
  storage_unavailable: 503,
  processing_timeout: 504,
} as const satisfies Readonly<Record<string, number>>;

export type Code = keyof typeof CODES;

/** A Problem of this service; the status follows from the code. */
export const problem = (
  code: Code,
  message: string,
  more: Pick<ProblemParts, 'param' | 'details' | 'retryAfterSec' | 'cause'> = {},
): Problem => new Problem({ code, status: CODES[code], message, ...more });
