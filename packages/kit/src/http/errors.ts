/**
 * How a fault becomes an answer. Everything thrown ends here: a Problem as it is, Fastify's own errors by a table, the
 * rest as `internal` with its cause logged. The service's `render` writes the body in the shape of whoever was asked.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import { asProblem, Problem } from '../problem.ts';
import type { ProblemLog } from './problem-log.ts';

/** What a renderer may know of the request. `path` has no query; it is `/` when the request could not be read. */
export type RequestFacts = {
  readonly path: string;
  readonly method: string;
  readonly requestId: string;
};

/** An answer: `content-type` stands among the headers; a body that is not text is written as JSON. */
export type Rendered = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

export type Render = (problem: Problem, request: RequestFacts) => Rendered;

/** Faults that HTTP itself knows, with the status each has here whatever code the service gives it. */
const FAULTS = {
  badRequest: { status: 400, message: 'The request cannot be read.' },
  notFound: { status: 404, message: 'There is nothing at this address.' },
  methodNotAllowed: { status: 405, message: 'This address does not know that method.' },
  timeout: { status: 408, message: 'The request did not arrive in time.' },
  tooLarge: { status: 413, message: 'The request body is too large.' },
  uriTooLong: { status: 414, message: 'The address is too long.' },
  unsupportedMedia: { status: 415, message: 'This content type is not supported here.' },
  expectationFailed: { status: 417, message: 'The expectation cannot be met.' },
  headersTooLarge: { status: 431, message: 'The request headers are too large.' },
  draining: { status: 503, message: 'The service is shutting down.' },
} as const;

export type HttpFault = keyof typeof FAULTS;

/** The code a service gives each fault of HTTP. */
export type HttpCodes = Readonly<Record<HttpFault, string>>;

export const DEFAULT_CODES: HttpCodes = {
  badRequest: 'invalid_request',
  notFound: 'not_found',
  methodNotAllowed: 'method_not_allowed',
  timeout: 'upload_timeout',
  tooLarge: 'file_too_large',
  uriTooLong: 'uri_too_long',
  unsupportedMedia: 'unsupported_media_type',
  expectationFailed: 'invalid_request',
  headersTooLarge: 'headers_too_large',
  draining: 'draining',
};

/** Seconds given when a 429 or 503 does not know better. */
const DEFAULT_RETRY_AFTER_SEC = 5;

/** A Problem for a fault of HTTP, under the service's own code. */
export const httpProblem = (codes: HttpCodes, fault: HttpFault, message?: string, cause?: unknown): Problem =>
  new Problem({
    code: codes[fault],
    status: FAULTS[fault].status,
    message: message ?? FAULTS[fault].message,
    ...(cause === undefined ? {} : { cause }),
  });

const FASTIFY_FAULTS: Readonly<Record<string, HttpFault>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'tooLarge',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupportedMedia',
  FST_ERR_MAX_PARAM_LENGTH: 'uriTooLong',
  FST_ERR_NOT_FOUND: 'notFound',
};

const FAULT_MESSAGES: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'The address is not well formed.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body does not have the length its header says.',
};

/** Turns anything thrown while a request was served into a Problem; the caller's faults never become a 500. */
export const toHttpProblem = (thrown: unknown, codes: HttpCodes): Problem => {
  if (thrown instanceof Problem) return thrown;
  const error = thrown as Partial<FastifyError> | null | undefined;
  const code = typeof error?.code === 'string' ? error.code : '';
  const status = typeof error?.statusCode === 'number' ? error.statusCode : 500;
  const fault = FASTIFY_FAULTS[code];
  if (fault) return httpProblem(codes, fault, undefined, thrown);
  if (status >= 400 && status < 500) return httpProblem(codes, 'badRequest', FAULT_MESSAGES[code], thrown);
  return asProblem(thrown);
};

/** Whole seconds for `Retry-After`, when the answer should have one. */
const retryAfterOf = (problem: Problem): string | undefined => {
  const asked =
    problem.retryAfterSec ?? (problem.status === 503 || problem.status === 429 ? DEFAULT_RETRY_AFTER_SEC : 0);
  return asked > 0 ? String(Math.max(1, Math.ceil(asked))) : undefined;
};

/** Runs the service's renderer; should it throw, a plain body stands in. `Retry-After` is added where it is due. */
export const renderSafely = (render: Render, problem: Problem, request: RequestFacts, log: Log): Rendered => {
  const headers = withRetryAfter(problem);
  try {
    const rendered = render(problem, request);
    return { ...rendered, headers: { ...headers, ...rendered.headers } };
  } catch (thrown) {
    log.error({ requestId: request.requestId, err: thrown }, 'a problem could not be rendered');
    const body = { code: problem.code, message: problem.message };
    return { status: problem.status, headers: { ...headers, 'content-type': 'application/json; charset=utf-8' }, body };
  }
};

const withRetryAfter = (problem: Problem): Record<string, string> => {
  const seconds = retryAfterOf(problem);
  return seconds === undefined ? {} : { 'retry-after': seconds };
};

/** The body as it goes over the wire. */
export const toBody = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body ?? null));

/** The path of a request target, without its query. */
export const pathOf = (url: string): string => url.split('?', 1)[0] || '/';

export type ErrorParts = {
  readonly render: Render;
  readonly codes: HttpCodes;
  readonly log: Log;
  readonly tell: ProblemLog;
};

/** Answers with a problem, and tells the log what only we may see. */
export const sendProblem = (
  parts: ErrorParts,
  problem: Problem,
  request: FastifyRequest,
  reply: FastifyReply,
): void => {
  parts.tell(problem, request.id);
  const facts = { path: pathOf(request.url), method: request.method, requestId: request.id };
  const rendered = renderSafely(parts.render, problem, facts, parts.log);
  reply.code(rendered.status).headers(rendered.headers).send(toBody(rendered.body));
};

/** Fastify's error handler. */
export const createErrorHandler =
  (parts: ErrorParts) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    sendProblem(parts, toHttpProblem(thrown, parts.codes), request, reply);
