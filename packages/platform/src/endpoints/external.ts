/**
 * `iam/external`: sign-in by a scenario, a service script that asks its questions as forms. Between two answers the run
 * waits on the server; the client only brings back `step`, `ctx` and what was entered.
 */
import { createTokenBucket, type TokenBucket } from '@parley/kit/limit.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../auth/address.ts';
import { badRequest, notFound, problem } from '../codes.ts';
import type { Domain } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import type { JsonSchema, RestCall, RestEndpoint } from '../rest/endpoint.ts';
import { isObject, type Json } from '../rest/json.ts';
import type { FormField } from '../scripts/element.ts';
import type { RunOutcome, RunState } from '../scripts/outcome.ts';
import { ask, type Call, type ExternalParts, fieldsOf, finish, EXTERNAL_PATH as PATH } from './external-answers.ts';
import { readCtx } from './external-cookie.ts';

const TAG = 'iam/external';
const SETTING = 'iam_external_svcscript_code';
const MAX_DOMAIN = 253;
/** Scenarios that one network may begin: each runs a script and is a row. */
const BEGIN_BURST = 120;
const BEGIN_PER_SEC = 1;

/** `domain`: whose script it is; `asked`: the domain that people mean who name none. */
type Scenario = { readonly domain: Domain; readonly code: string; readonly asked: string };

/** Ends when the client goes before it has its answer. */
const signalOf = (reply: FastifyReply): AbortSignal => {
  const leaving = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) leaving.abort();
  });
  return leaving.signal;
};

/** The domain's own scenario, else the master's; undefined when there is none. */
export const findScenario = async (
  { auth, domains }: Pick<ExternalParts, 'auth' | 'domains'>,
  named: unknown,
  host: string,
): Promise<Scenario | undefined> => {
  const isNamed = typeof named === 'string' && named !== '' && named.length <= MAX_DOMAIN;
  const asked = (await auth.domainFor(isNamed ? named : undefined, host)) ?? domains.master;
  for (const domain of [asked, domains.master]) {
    const code = domain.setting(SETTING)?.value;
    if (typeof code === 'string' && code !== '' && domain.find('svcscript', 'code', code).length > 0) {
      return { domain, code, asked: asked.name };
    }
  }
  return undefined;
};

const requireScenario = async (parts: ExternalParts, named: unknown, host: string): Promise<Scenario> => {
  const scenario = await findScenario(parts, named, host);
  if (!scenario) throw notFound();
  return scenario;
};

const hostOf = (request: FastifyRequest): string => request.hostname ?? '';

/** A scenario from its beginning. */
const begin = (
  { run }: ExternalParts,
  begins: TokenBucket,
  { domain, code, asked }: Scenario,
  { request, signal }: Call,
  input: Json,
): Promise<RunOutcome> => {
  const waitMs = begins.take(networkOf(request.ip));
  if (waitMs > 0) throw problem('too_many', { retryAfterSec: Math.ceil(waitMs / 1000) });
  const values = { ...input, domain: asked };
  return run({ domain, code, entry: 'external', input: values, address: request.ip, signal });
};

/** Nobody who is banned takes a step, whichever it is. */
const refuseBanned = async ({ auth }: ExternalParts, request: FastifyRequest): Promise<void> => {
  await auth.ban.anonymous(request.ip, async () => ({ ok: true }));
};

const get =
  (parts: ExternalParts, begins: TokenBucket) =>
  async ({ request, reply }: RestCall): Promise<unknown> => {
    const call = { request, reply, signal: signalOf(reply) };
    const query = request.query as Json;
    const scenario = await requireScenario(parts, query.domain, hostOf(request));
    await refuseBanned(parts, request);
    const shown = await showAgain(parts, request, query);
    if (shown) return { fields: shown };
    const { ctx: _ctx, ...input } = query;
    const outcome = await begin(parts, begins, scenario, call, input);
    if (outcome.kind !== 'form') return finish(parts, call, scenario.domain, outcome);
    return { fields: await ask(parts, call, scenario.domain, outcome) };
  };

/** The form a run waits with, for who comes back to its step: a page that was loaded anew, say. */
const showAgain = async (
  { waiting }: ExternalParts,
  request: FastifyRequest,
  query: Json,
): Promise<FormField[] | undefined> => {
  const ctx = readCtx(request, query);
  if (query.step === undefined || ctx === undefined) return undefined;
  const run = await waiting.peek(ctx);
  return run && String(run.state.form.step) === query.step ? fieldsOf(run.state.form, ctx) : undefined;
};

type Waiting = { readonly domain: Domain; readonly state: RunState };

/** The run that waits for this step, for the first who brings it; undefined when none does. */
const takeWaiting = async (parts: ExternalParts, request: FastifyRequest, body: Json): Promise<Waiting | undefined> => {
  const { auth, domains, waiting } = parts;
  const ctx = readCtx(request, body);
  const waits = ctx === undefined ? undefined : await waiting.peek(ctx);
  const domain = waits && (await domains.open(waits.domain));
  if (ctx === undefined || !domain) return undefined;
  auth.gate.checkOrigin(request, domain);
  await refuseBanned(parts, request);
  checkStep(waits.state.form.step, body.step);
  const taken = await waiting.take(ctx);
  return taken && { domain, state: taken.state };
};

const post =
  (parts: ExternalParts, begins: TokenBucket) =>
  async ({ request, reply }: RestCall): Promise<unknown> => {
    const call = { request, reply, signal: signalOf(reply) };
    const body = await readDocument(request, 'create');
    if (!isObject(body)) throw badRequest('body', 'must be an object');
    const waiting = await takeWaiting(parts, request, body);
    if (!waiting) return beginAgain(parts, begins, call, body);
    const { domain, state } = waiting;
    const { step: _step, ctx: _ctx, ...values } = body;
    const facts = { entry: 'external', address: request.ip, signal: call.signal } as const;
    const outcome = await parts.resume({ ...facts, domain, state, values });
    // The same question once more: what was entered did not do.
    const isOnward = outcome.kind !== 'form' || String(outcome.form.step) !== String(state.form.step);
    return answer(parts, call, domain, outcome, isOnward);
  };

/** Whoever comes with nothing that waits, or too late, gets the first form. */
const beginAgain = async (parts: ExternalParts, begins: TokenBucket, call: Call, body: Json): Promise<unknown> => {
  const { request } = call;
  const scenario = await requireScenario(parts, body.domain, hostOf(request));
  parts.auth.gate.checkOrigin(request, scenario.domain);
  await refuseBanned(parts, request);
  const outcome = await begin(parts, begins, scenario, call, {});
  return answer(parts, call, scenario.domain, outcome, false);
};

const answer = async (
  parts: ExternalParts,
  call: Call,
  domain: Domain,
  outcome: RunOutcome,
  success: boolean,
): Promise<unknown> => {
  if (outcome.kind !== 'form') return finish(parts, call, domain, outcome);
  const { step, next_step = step } = outcome.form;
  return { success, complete: false, next_step, fields: await ask(parts, call, domain, outcome) };
};

/** Steps come in their order: only the one that waits can be posted. */
const checkStep = (waits: string | number, posted: unknown): void => {
  if (posted === undefined || posted === null) throw badRequest('step', 'is missing');
  const isWord = typeof posted === 'string' || typeof posted === 'number';
  if (!isWord || String(waits) !== String(posted)) throw badRequest('step', 'is not the step that waits');
};

const FIELDS: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      type: { enum: ['hidden', 'line', 'password', 'code', 'select', 'text'] },
      title: { type: 'string' },
      value: {},
      from: { type: 'object', properties: { step: {} } },
    },
  },
};

export const createExternalEndpoints = (parts: ExternalParts): RestEndpoint[] => {
  const begins = createTokenBucket({ ratePerSec: BEGIN_PER_SEC, burst: BEGIN_BURST });
  const queries = { step: 'Shows the form of this step again while it waits.', domain: 'Whose scenario.' };
  return [
    {
      method: 'GET',
      path: PATH,
      access: 'open',
      tag: TAG,
      summary: 'Begin the sign-in scenario of a domain: its first form',
      description: 'Further parameters are the scenario’s own.',
      parameters: Object.entries(queries).map(([name, description]) => ({
        name,
        in: 'query',
        description,
        schema: { type: 'string' },
      })),
      answer: { type: 'object', properties: { fields: FIELDS } },
      handle: get(parts, begins),
    },
    {
      method: 'POST',
      path: PATH,
      access: 'open',
      tag: TAG,
      summary: 'A step of the sign-in scenario: the next form, a refusal, or the session',
      description:
        'The fields of the last form come back with `step` and `ctx`. At the end RSession is set, with 302 where a page is preferred.',
      body: { type: 'object', properties: { step: {}, ctx: { type: 'string' } }, additionalProperties: true },
      answer: {
        type: 'object',
        properties: {
          success: { type: 'boolean' },
          complete: { type: 'boolean' },
          next_step: {},
          fields: FIELDS,
          location: { type: 'string' },
          session_token: { type: 'string' },
          error_code: { type: 'integer' },
          error_message: { type: 'string' },
        },
      },
      handle: post(parts, begins),
    },
  ];
};
