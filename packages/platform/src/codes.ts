/**
 * The closed list of the platform's problem codes: each with its HTTP status and the `error_code` of the wire, and the
 * one function that writes an error body.
 */
import { Problem } from '@parley/kit/problem.ts';

type Code = { readonly status: number; readonly errorCode: number; readonly message: string };

export const CODES = {
  bad_request: { status: 400, errorCode: 1400, message: 'Bad request parameters' },
  unauthorized: { status: 401, errorCode: 1401, message: 'Authentication required' },
  wrong_combination: { status: 401, errorCode: 1401, message: 'Wrong combination of domain, login and password' },
  forbidden: { status: 403, errorCode: 1401, message: 'Access denied' },
  not_found: { status: 404, errorCode: 1401, message: 'Not found' },
  lookup_failed: { status: 404, errorCode: 1404, message: 'Lookup failed' },
  token_not_found: { status: 404, errorCode: 1404, message: 'Token not found' },
  method_not_allowed: { status: 405, errorCode: 1401, message: 'Method not allowed' },
  exists: { status: 409, errorCode: 1402, message: 'Resource already exists' },
  precondition_failed: { status: 412, errorCode: 1412, message: 'Resource was changed meanwhile' },
  invitation_failed: { status: 412, errorCode: 1413, message: 'The invitation failed' },
  payload_too_large: { status: 413, errorCode: 1423, message: 'Request body is too large' },
  uri_too_long: { status: 414, errorCode: 1424, message: 'Address is too long' },
  unsupported_media_type: { status: 415, errorCode: 1415, message: 'Content type is not supported here' },
  cannot_apply: { status: 422, errorCode: 1405, message: 'Resource parameters cannot be applied' },
  too_many: { status: 429, errorCode: 1429, message: 'Too many attempts' },
  headers_too_large: { status: 431, errorCode: 1431, message: 'Request headers are too large' },
  internal: { status: 500, errorCode: 1409, message: 'Server error' },
  upstream_failed: { status: 502, errorCode: 1502, message: 'An external service failed' },
  unavailable: { status: 503, errorCode: 1503, message: 'Service is not available now' },
} as const satisfies Readonly<Record<string, Code>>;

export type PlatformCode = keyof typeof CODES;

type More = {
  message?: string;
  details?: Readonly<Record<string, unknown>>;
  retryAfterSec?: number;
  cause?: unknown;
};

/** A Problem of the platform. `details` becomes `error_details`. */
export const problem = (code: PlatformCode, more: More = {}): Problem =>
  new Problem({
    code,
    status: CODES[code].status,
    message: more.message ?? CODES[code].message,
    ...(more.details ? { details: more.details } : {}),
    ...(more.retryAfterSec === undefined ? {} : { retryAfterSec: more.retryAfterSec }),
    ...(more.cause === undefined ? {} : { cause: more.cause }),
  });

/** 400: the request itself is wrong at `field`. */
export const badRequest = (field: string, reason: string): Problem =>
  problem('bad_request', { message: `${field}: ${reason}`, details: { field, reason } });

/** 422: well formed, but it cannot be applied. */
export const cannotApply = (field: string, reason: string, more: Readonly<Record<string, unknown>> = {}): Problem =>
  problem('cannot_apply', { message: `${field}: ${reason}`, details: { field, reason, ...more } });

/** 409: the unique key is taken. `value` is shown only for fields that are no secret. */
export const taken = (field: string, value?: string): Problem =>
  problem('exists', { details: value === undefined ? { field } : { field, value } });

export const notFound = (): Problem => problem('not_found');

export type ErrorBody = {
  error_code: number;
  error_message: string;
  error_details?: Readonly<Record<string, unknown>>;
};

const isPlatformCode = (code: string): code is PlatformCode => Object.hasOwn(CODES, code);

/** Codes that parts below the platform (kit) use, in ours. */
const byStatus = (status: number): PlatformCode => {
  for (const [code, entry] of Object.entries(CODES)) if (entry.status === status) return code as PlatformCode;
  return status < 500 ? 'bad_request' : 'internal';
};

/** A Problem as the wire knows it. Inner causes stay inside; a 500 names the request so that the log can be searched. */
export const renderError = (fault: Problem, requestId: string): ErrorBody => {
  const code = isPlatformCode(fault.code) ? fault.code : byStatus(fault.status);
  const details: Record<string, unknown> = { ...fault.details };
  if (fault.param !== undefined && details.field === undefined) details.field = fault.param;
  if (fault.status === 500) details.request_id = requestId;
  if (fault.retryAfterSec !== undefined && fault.status === 429) details.retry_after = fault.retryAfterSec;
  // An error_code of its own (the invitation family) travels in the details and is lifted out here.
  const { error_code: own, ...rest } = details;
  return {
    error_code: typeof own === 'number' ? own : CODES[code].errorCode,
    error_message: fault.status === 500 ? CODES.internal.message : fault.message,
    ...(Object.keys(rest).length > 0 ? { error_details: rest } : {}),
  };
};
