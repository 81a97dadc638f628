/** Why an invitation fails: the codes of the contract (§9), with the field and the message code of their family. */
import type { Problem } from '@parley/kit/problem.ts';
import { problem } from '../codes.ts';

/** Families of `msg_code`: 100xx the invitation, 101xx the login, 102xx the name, 151xx the password. */
const FAULTS = {
  user_missing: [1413, 10013, 'userid', 'There is no such user'],
  email_missing: [1414, 10014, 'userid', 'The user has no e-mail address'],
  too_soon: [1416, 10016, 'userid', 'An invitation was sent a moment ago'],
  mail_unset: [1417, 10017, 'userid', 'No mail server and system mail account are set up'],
  mail_failed: [1418, 10018, 'userid', 'The mail could not be sent; the invitation was removed'],
  gone: [1451, 10001, 'id', 'There is no such invitation, or it was used'],
  expired: [1452, 10002, 'id', 'The invitation has expired'],
  login_invalid: [1511, 10101, 'login', 'The login cannot be used'],
  login_taken: [1511, 10102, 'login', 'The login is taken'],
  name_invalid: [1521, 10201, 'name', 'The name cannot be used'],
} as const satisfies Readonly<Record<string, readonly [number, number, string, string]>>;

type InviteFault = keyof typeof FAULTS;

const SECOND_MS = 1000;

type More = { readonly retryAfterMs?: number; readonly reason?: string; readonly cause?: unknown };

/** 412 with the code of this fault. */
export const inviteProblem = (fault: InviteFault, { retryAfterMs, reason, cause }: More = {}): Problem => {
  const [errorCode, msgCode, field, message] = FAULTS[fault];
  const retryAfterSec = retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(retryAfterMs / SECOND_MS));
  return failed(errorCode, msgCode, field, message, {
    ...(retryAfterSec === undefined ? {} : { retryAfterSec }),
    ...(reason === undefined ? {} : { reason }),
    ...(cause === undefined ? {} : { cause }),
  });
};

/** 412 for a password that the policy refuses. */
export const passwordProblem = (refusal: { errorCode: number; msgCode: number; message: string }): Problem =>
  failed(refusal.errorCode, refusal.msgCode, 'pwd', refusal.message, {});

const failed = (
  errorCode: number,
  msgCode: number,
  field: string,
  msg: string,
  { retryAfterSec, reason, cause }: { retryAfterSec?: number; reason?: string; cause?: unknown },
): Problem =>
  problem('invitation_failed', {
    message: msg,
    ...(retryAfterSec === undefined ? {} : { retryAfterSec }),
    ...(cause === undefined ? {} : { cause }),
    details: {
      error_code: errorCode,
      field,
      msg_code: msgCode,
      msg,
      ...(retryAfterSec === undefined ? {} : { retry_after: retryAfterSec }),
      ...(reason === undefined ? {} : { reason }),
    },
  });
