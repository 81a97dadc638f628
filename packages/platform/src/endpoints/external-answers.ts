/** What `iam/external` answers: the fields of a form, a refusal, or the session. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Auth } from '../auth/auth.ts';
import { setCookie } from '../auth/cookie.ts';
import type { Grant } from '../auth/grant.ts';
import { CODES, notFound, problem } from '../codes.ts';
import type { Domain, Domains } from '../domains/types.ts';
import { prefersHtml } from '../oauth/page.ts';
import type { FormField, ScriptForm } from '../scripts/element.ts';
import type { ResumeRequest, RunOutcome, RunRequest } from '../scripts/outcome.ts';
import type { WaitingRuns } from '../scripts/waiting-runs.ts';
import { clearCtx, setCtx } from './external-cookie.ts';

export type ExternalParts = {
  readonly auth: Pick<Auth, 'gate' | 'ban' | 'cookieSecure' | 'domainFor'>;
  readonly domains: Domains;
  readonly grant: Grant;
  readonly waiting: WaitingRuns;
  run(request: RunRequest): Promise<RunOutcome>;
  resume(request: ResumeRequest): Promise<RunOutcome>;
};

export type Call = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly signal: AbortSignal };

export const EXTERNAL_PATH = '/rest/v1/iam/external';
const HOME = '/app-root';

const hidden = (name: string, value: unknown): FormField => ({ name, type: 'hidden', value });

/** The fields of a form with those that every form has. */
export const fieldsOf = ({ step, fields }: ScriptForm, ctx: string): FormField[] => [
  hidden('step', step),
  hidden('ctx', ctx),
  ...fields,
];

/** Keeps the run that asks; the client gets its new ctx both ways. */
export const ask = async (
  { waiting, auth }: ExternalParts,
  { request, reply }: Call,
  domain: Domain,
  { form, state }: Extract<RunOutcome, { kind: 'form' }>,
): Promise<FormField[]> => {
  const ctx = await waiting.keep({ domain: domain.name, state });
  setCtx(request, reply, ctx, auth.cookieSecure);
  return fieldsOf(form, ctx);
};

/** What an answer is when the scenario does not ask any more. */
export const finish = async (
  parts: ExternalParts,
  call: Call,
  domain: Domain,
  outcome: Exclude<RunOutcome, { kind: 'form' }>,
): Promise<unknown> => {
  if (outcome.kind === 'error') throw problemOf(outcome);
  const { request, reply } = call;
  const session = outcome.kind === 'return' ? outcome.left.session : undefined;
  if (outcome.kind === 'return' && session) {
    const client = { kind: session.kind, address: request.ip, agent: request.headers['user-agent'] ?? '' };
    const issued = await parts.grant(session, client);
    const location = locationOf(outcome.values.location);
    clearCtx(request, reply, parts.auth.cookieSecure);
    if (session.kind === 'token') return { success: true, complete: true, location, session_token: issued.token };
    setCookie(request, reply, issued.token, issued.session, parts.auth.cookieSecure);
    return prefersHtml(request) ? reply.redirect(location, 302) : { success: true, complete: true, location };
  }
  clearCtx(request, reply, parts.auth.cookieSecure);
  const { message, retry } = outcome.kind === 'refuse' ? outcome : { message: CODES.forbidden.message, retry: false };
  return {
    success: false,
    complete: true,
    error_code: CODES.forbidden.errorCode,
    error_message: message,
    ...(retry ? { location: `${EXTERNAL_PATH}?domain=${encodeURIComponent(domain.name)}` } : {}),
  };
};

/** A path of this site. */
const locationOf = (wanted: unknown): string =>
  typeof wanted === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(wanted) ? wanted : HOME;

/** A platform's own answer (a ban, too busy) as it is; what is wrong with the scenario is told to its author, in the log. */
const problemOf = ({ error, runId }: Extract<RunOutcome, { kind: 'error' }>) => {
  const own = error.problem;
  if (own && (own.status === 429 || own.status === 503)) return own;
  if (error.reason === 'unknown_script') return notFound();
  const isElsewhere = error.reason === 'outbound' || own?.status === 502;
  return problem(isElsewhere ? 'upstream_failed' : 'unavailable', {
    message: 'The sign-in scenario failed',
    details: { run: runId },
  });
};
