/**
 * The one error type meant for a caller. Inside the house it carries a code from the service's closed list; outer
 * layers (dialects, the REST engine) write it in their own shape. The cause is logged and never sent.
 */

/** What a Problem is made of. `status` is the HTTP status the code stands for, `param` the field at fault. */
export type ProblemParts = {
  code: string;
  status: number;
  message: string;
  param?: string | undefined;
  details?: Readonly<Record<string, unknown>> | undefined;
  /** Seconds after which the caller may try again; whole and at least 1. */
  retryAfterSec?: number | undefined;
  cause?: unknown;
};

/** An error meant for a caller. Throw it where the fault is known; everything else rises and becomes `internal`. */
export class Problem extends Error {
  override name = 'Problem';
  readonly code: string;
  readonly status: number;
  readonly param: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSec: number | undefined;

  constructor(parts: ProblemParts) {
    super(parts.message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.code = parts.code;
    this.status = parts.status;
    this.param = parts.param;
    this.details = parts.details;
    this.retryAfterSec = parts.retryAfterSec;
  }
}

/**
 * Turns anything thrown into a Problem. What is not one already becomes `internal` (500) with the original as cause,
 * so that no inner text reaches a caller.
 */
export const asProblem = (thrown: unknown): Problem =>
  thrown instanceof Problem
    ? thrown
    : new Problem({ code: 'internal', status: 500, message: 'Internal error.', cause: thrown });
