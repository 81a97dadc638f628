/** What ends a run with an error: a reason from a closed list, and words for the script's author. */

/** Why a run ended; `problem` is an answer of the platform itself (not found, taken, not allowed, banned …). */
export const FAULT_REASONS = [
  'unknown_script',
  'invalid_script',
  'input',
  'expression',
  'variable',
  'steps',
  'time',
  'cpu',
  'memory',
  'size',
  'depth',
  'rights',
  'element',
  'outbound',
  'problem',
  'aborted',
  'busy',
  'internal',
] as const;

export type FaultReason = (typeof FAULT_REASONS)[number];

/** Thrown by elements and by the sandbox; never leaves scripts/. */
export class ScriptFault extends Error {
  override name = 'ScriptFault';
  readonly reason: FaultReason;

  constructor(reason: FaultReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}
