/** Why a sign-in through a provider came to nothing: what the person is told, and the reason the request row keeps. */
import { OutboundError } from '@parley/kit/outbound.ts';
import { Problem } from '@parley/kit/problem.ts';
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { type PlatformCode, problem } from '../codes.ts';

/** `reason` is for administrators; it never holds a secret or an answer's body. */
export class OAuthFault extends Error {
  override name = 'OAuthFault';
  readonly problem: Problem;
  readonly reason: string;

  constructor(code: PlatformCode, message: string, reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.problem = problem(code, { message, ...(cause === undefined ? {} : { cause }) });
    this.reason = reason;
  }
}

const REFUSED = 'The provider did not vouch for you';
const UNPROVEN = 'The answer of the provider does not hold';
const FAILED = 'The provider cannot be used now';

/** Codes of openid-client that say the other side did not answer as it should at all. */
const BROKEN_ANSWERS = new Set(['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_PARSE_ERROR']);
const MAX_CAUSES = 5;

/** A word of the other side's, short and of plain characters only. */
const plainWord = (text: string): string => text.replaceAll(/[^A-Za-z0-9_.-]/g, '').slice(0, 64) || 'unnamed';

const outboundCauseOf = (thrown: unknown): OutboundError | undefined => {
  let current = thrown;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    if (current instanceof OutboundError) return current;
    current = current.cause;
  }
  return undefined;
};

/** What openid-client, jose or the network threw, as ours. */
export const toOAuthFault = (thrown: unknown): OAuthFault => {
  if (thrown instanceof OAuthFault) return thrown;
  if (thrown instanceof Problem)
    return new OAuthFault(thrown.code as PlatformCode, thrown.message, thrown.message, thrown);
  const outbound = outboundCauseOf(thrown);
  if (outbound)
    return new OAuthFault('upstream_failed', FAILED, `provider ${outbound.failure}: ${outbound.message}`, thrown);
  if (thrown instanceof AuthorizationResponseError) {
    return new OAuthFault('forbidden', REFUSED, `provider answered ${plainWord(thrown.error)}`, thrown);
  }
  if (thrown instanceof ResponseBodyError) {
    const reason = `provider answered ${plainWord(thrown.error)}`;
    // A code that is used, too old or of somebody else; everything else is between the provider and our settings.
    return thrown.error === 'invalid_grant'
      ? new OAuthFault('forbidden', REFUSED, reason, thrown)
      : new OAuthFault('upstream_failed', FAILED, reason, thrown);
  }
  if (thrown instanceof WWWAuthenticateChallengeError) {
    return new OAuthFault('upstream_failed', FAILED, `provider answered ${thrown.status} to our token`, thrown);
  }
  if (thrown instanceof ClientError) {
    const isBroken = BROKEN_ANSWERS.has(thrown.code ?? '');
    const reason = `${thrown.code ?? 'refused'}: ${messageOf(thrown)}`;
    return new OAuthFault(isBroken ? 'upstream_failed' : 'forbidden', isBroken ? FAILED : UNPROVEN, reason, thrown);
  }
  return new OAuthFault('internal', 'Server error', 'internal', thrown);
};

/** The inner message says which claim; both are the library's own words. */
const messageOf = (error: ClientError): string =>
  error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
