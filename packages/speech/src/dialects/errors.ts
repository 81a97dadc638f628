/**
 * A Problem in the shape of the dialect that was spoken to: RFC 9457 under `/api`, the OpenAI error object under `/v1`,
 * FastAPI's `detail` everywhere else. The path decides, so that unknown routes and bad keys are answered in kind too.
 */
import { STATUS_CODES } from 'node:http';
import type { Rendered, RequestFacts } from '@parley/kit/http/errors.ts';
import type { Problem } from '@parley/kit/problem.ts';

/** Bounds of `Retry-After`, s: openai-node ignores anything above a minute. */
const MIN_RETRY_AFTER_SEC = 1;
const MAX_RETRY_AFTER_SEC = 60;
const DEFAULT_RETRY_AFTER_SEC = 5;

/** Codes for which trying again would only send the upload once more; openai-node retries every 5xx unless told. */
const FINAL_CODES: ReadonlySet<string> = new Set(['not_implemented', 'inference_failed', 'processing_timeout']);

/** Writes a Problem for this request: status, headers and a body to be sent as JSON. */
export const renderProblem = (problem: Problem, request: RequestFacts): Rendered => {
  const { path } = request;
  const dialect = isUnder(path, '/api') ? renderNative : isUnder(path, '/v1') ? renderCompat : renderLegacy;
  const { contentType, body } = dialect(problem, request);
  return { status: problem.status, headers: { 'content-type': contentType, ...headersOf(problem) }, body };
};

const isUnder = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

const headersOf = (problem: Problem): Record<string, string> => ({
  ...(problem.status === 401 && { 'www-authenticate': 'Bearer realm="parley"' }),
  ...((problem.status === 429 || problem.status === 503) && { 'retry-after': String(retryAfterOf(problem)) }),
  ...(FINAL_CODES.has(problem.code) && { 'x-should-retry': 'false' }),
});

const retryAfterOf = (problem: Problem): number =>
  Math.min(
    MAX_RETRY_AFTER_SEC,
    Math.max(MIN_RETRY_AFTER_SEC, Math.ceil(problem.retryAfterSec ?? DEFAULT_RETRY_AFTER_SEC)),
  );

type Body = { readonly contentType: string; readonly body: unknown };
type RenderBody = (problem: Problem, request: RequestFacts) => Body;

/** RFC 9457 with `code`, `param` and `request_id` added. */
const renderNative: RenderBody = (problem, { path, requestId }) => ({
  contentType: 'application/problem+json',
  body: {
    type: `/docs#error-${problem.code}`,
    title: STATUS_CODES[problem.status] ?? 'Error',
    status: problem.status,
    detail: problem.message,
    instance: path,
    code: problem.code,
    ...(problem.param !== undefined && { param: problem.param }),
    request_id: requestId,
    ...(Array.isArray(problem.details?.errors) && { errors: problem.details.errors }),
  },
});

const COMPAT_CODES: Readonly<Record<string, string>> = {
  unauthorized: 'invalid_api_key',
  not_found: 'unknown_url',
  rate_limited: 'rate_limit_exceeded',
};

/** The OpenAI error object; `param` and `code` are always there, null when there is nothing to say. */
const renderCompat: RenderBody = (problem, { path, method }) => ({
  contentType: 'application/json; charset=utf-8',
  body: { error: compatErrorOf(problem, `${method} ${path}`) },
});

/** The inner object of an OpenAI error; `route` is named when there is no such route. */
export const compatErrorOf = (problem: Problem, route: string): Record<string, string | null> => ({
  message: problem.code === 'not_found' ? `Invalid URL (${route})` : problem.message,
  type: compatTypeOf(problem.status),
  param: problem.param ?? (problem.code === 'model_not_found' ? 'model' : null),
  code: compatCodeOf(problem),
});

/** `details.reason` is a finer code than the service's own, where OpenAI's clients know one. */
const compatCodeOf = ({ code, details }: Problem): string =>
  typeof details?.reason === 'string' ? details.reason : (COMPAT_CODES[code] ?? code);

const compatTypeOf = (status: number): string => {
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 && status !== 501 ? 'server_error' : 'invalid_request_error';
};

/** FastAPI's `detail`: a plain sentence for routing faults, the list a validator made, else message and code. */
const renderLegacy: RenderBody = (problem) => ({
  contentType: 'application/json; charset=utf-8',
  body: { detail: legacyDetailOf(problem) },
});

const legacyDetailOf = (problem: Problem): unknown => {
  if (problem.code === 'not_found' || problem.code === 'method_not_allowed') return STATUS_CODES[problem.status];
  if (Array.isArray(problem.details?.detail)) return problem.details.detail;
  return {
    message: problem.message,
    code: problem.code,
    ...(problem.param !== undefined && { param: LEGACY_PARAMS[problem.param] ?? problem.param }),
  };
};

/** What the house calls a field and how legacy clients sent it. */
const LEGACY_PARAMS: Readonly<Record<string, string>> = { file: 'audio_file', hotwords: 'initial_prompt' };
