/**
 * Running a service script by hand, an extension for who writes scripts: each step with the variables it changed, the
 * run's log, and what the last runs of the script said. Whoever runs a script must cover what it may do.
 */
import type { Clock } from '@parley/kit/clock.ts';
import { createToken } from '@parley/kit/ids.ts';
import { badRequest, notFound } from '../codes.ts';
import type { Caller, Entity } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { requireScriptCoverage } from '../resources/script-guard.ts';
import { callerOf, type JsonSchema, type RestCall, type RestEndpoint } from '../rest/endpoint.ts';
import type { Engine } from '../rest/engine.ts';
import { isObject, type Json } from '../rest/json.ts';
import type { ResumeRequest, RunError, RunOutcome, RunRequest, RunState } from '../scripts/outcome.ts';
import type { KeptRun, RunBook } from '../scripts/run-book.ts';

export type ScriptRunParts = {
  readonly engine: Engine;
  readonly book: RunBook;
  readonly clock: Clock;
  run(request: RunRequest): Promise<RunOutcome>;
  resume(request: ResumeRequest): Promise<RunOutcome>;
};

const PATH = '/rest/v1/service/svcscripts/:id';
const TAG = 'service/svcscripts';
/** Runs that wait for their form, on this node. */
const MAX_WAITING = 100;
const WAIT_MS = 600_000;

type Waiting = {
  readonly scriptId: string;
  readonly userId: string;
  readonly untilMs: number;
  readonly state: RunState;
};

export const createScriptRunEndpoints = (parts: ScriptRunParts): RestEndpoint[] => {
  const waiting = createWaiting(parts.clock);
  return [
    {
      method: 'POST',
      path: `${PATH}/run`,
      access: 'route',
      tag: TAG,
      summary: 'Run a script, step by step if wanted',
      description: 'Extension. A run that asks for a form is answered with `ctx`; post `ctx` and `values` to go on.',
      body: RUN_BODY,
      answer: RUN_ANSWER,
      handle: (call) => runOne(parts, waiting, call),
    },
    {
      method: 'GET',
      path: `${PATH}/runs`,
      access: 'route',
      tag: TAG,
      summary: 'The newest runs of a script on this node, with their logs',
      description: 'Extension. Kept in memory only.',
      answer: { type: 'array', items: RUN_ANSWER },
      handle: (call) => {
        const { caller, script } = scriptOf(call);
        return parts.book.of(caller.domain.name, String(script.id)).map(renderKept);
      },
    },
  ];
};

/** The script of the path, for who covers what it may do. */
const scriptOf = (call: RestCall): { readonly caller: Caller; readonly script: Entity } => {
  const caller = callerOf(call);
  const { id = '' } = call.request.params as { id?: string };
  const script = caller.domain.get('svcscript', id.toLowerCase());
  if (!script) throw notFound();
  requireScriptCoverage(caller, caller.domain, script);
  return { caller, script };
};

const runOne = async (parts: ScriptRunParts, waiting: WaitingForms, call: RestCall): Promise<Json> => {
  const { caller, script } = scriptOf(call);
  const body = (await readDocument(call.request, 'custom')) ?? {};
  if (!isObject(body)) throw badRequest('body', 'must be an object');
  const { ctx, trace = false } = body;
  if (typeof trace !== 'boolean') throw badRequest('trace', 'must be true or false');
  const asked = {
    domain: caller.domain,
    entry: 'admin',
    address: caller.address,
    trace,
    signal: signalOf(call),
  } as const;
  const owner = { scriptId: String(script.id), userId: caller.userId };
  const state = ctx === undefined ? undefined : waiting.take(ctx, owner);
  const outcome = state
    ? await parts.resume({ ...asked, state, values: objectIn(body, 'values') })
    : await parts.run({ ...asked, code: String(script.code), input: objectIn(body, 'input') });
  const next = outcome.kind === 'form' ? { ctx: waiting.keep(owner, outcome.state) } : {};
  return { ...render(outcome), ...next };
};

const objectIn = (body: Json, name: string): Json => {
  const value = body[name] ?? {};
  if (!isObject(value)) throw badRequest(name, 'must be an object');
  return value;
};

const signalOf = ({ reply }: RestCall): AbortSignal => {
  const leaving = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) leaving.abort();
  });
  return leaving.signal;
};

type WaitingForms = {
  keep(owner: Pick<Waiting, 'scriptId' | 'userId'>, state: RunState): string;
  /** Once, and only for who ran it. */
  take(ctx: unknown, owner: Pick<Waiting, 'scriptId' | 'userId'>): RunState;
};

/** Apart from those of `iam/external`: what was begun by hand must not end in a session. */
const createWaiting = (clock: Clock): WaitingForms => {
  const waiting = new Map<string, Waiting>();
  return {
    keep: (owner, state) => {
      for (const [ctx, { untilMs }] of waiting) if (untilMs <= clock.now()) waiting.delete(ctx);
      if (waiting.size >= MAX_WAITING) waiting.delete(waiting.keys().next().value!);
      const ctx = createToken(16);
      waiting.set(ctx, { ...owner, state, untilMs: clock.now() + WAIT_MS });
      return ctx;
    },
    take: (ctx, { scriptId, userId }) => {
      const found = typeof ctx === 'string' ? waiting.get(ctx) : undefined;
      if (!found || found.scriptId !== scriptId || found.userId !== userId || found.untilMs <= clock.now()) {
        throw badRequest('ctx', 'no run waits under it');
      }
      waiting.delete(ctx as string);
      return found.state;
    },
  };
};

const renderKept = ({ entry, atMs, error, ...run }: KeptRun): Json => ({
  ...renderFacts(run),
  ...(error ? { error: renderError(error) } : {}),
  entry,
  dt: new Date(atMs).toISOString().replace('Z', '000Z'),
});

const renderFacts = ({ runId, kind, steps, tookMs, log }: Omit<KeptRun, 'entry' | 'atMs'>): Json => ({
  run: runId,
  ended: kind,
  steps,
  took_ms: tookMs,
  log: log.map(({ atMs, ...line }) => ({ ...line, at_ms: atMs })),
});

const render = (outcome: RunOutcome): Json => ({
  ...renderFacts(outcome),
  ...renderEnding(outcome),
  ...(outcome.trace === undefined
    ? {}
    : { trace: outcome.trace.map(({ tookMs, ...step }) => ({ ...step, took_ms: tookMs })) }),
});

const renderEnding = (outcome: RunOutcome): Json => {
  switch (outcome.kind) {
    case 'return':
      return { values: outcome.values, status: outcome.status };
    case 'form':
      return { form: outcome.form };
    case 'refuse':
      return { message: outcome.message, retry: outcome.retry };
    default:
      return { error: renderError(outcome.error) };
  }
};

const renderError = ({ problem, ...error }: RunError): Json => ({
  ...error,
  ...(problem ? { details: problem.details, status: problem.status } : {}),
});

const RUN_BODY: JsonSchema = {
  type: 'object',
  properties: {
    input: { type: 'object', description: 'Values of input variables.' },
    trace: { type: 'boolean', description: 'Answer every step.' },
    ctx: { type: 'string', description: 'Goes on with a run that asked for a form.' },
    values: { type: 'object', description: 'What is entered into the form.' },
  },
};

const RUN_ANSWER: JsonSchema = {
  type: 'object',
  properties: {
    run: { type: 'string', format: 'uuid' },
    ended: { enum: ['return', 'form', 'refuse', 'error'] },
    steps: { type: 'integer' },
    took_ms: { type: 'integer' },
    values: { type: 'object' },
    form: { type: 'object' },
    ctx: { type: 'string' },
    error: {
      type: 'object',
      properties: {
        script: { type: 'string' },
        oId: { type: 'integer' },
        element: { type: 'string' },
        step: { type: 'integer' },
        reason: { type: 'string' },
        message: { type: 'string' },
      },
    },
    log: { type: 'array', items: { type: 'object' } },
    trace: { type: 'array', items: { type: 'object' } },
  },
};
