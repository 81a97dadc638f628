/**
 * Runs service scripts: opens a run with its limits, lets walk.ts go through the graph, and says how it ended: by a return,
 * a form that waits for its step, a refusal, or an error that names script, object and element.
 */
import { createUuid } from '@parley/kit/ids.ts';
import { Problem } from '@parley/kit/problem.ts';
import { ScriptFault } from './fault.ts';
import { createFrame, enter } from './frame.ts';
import { MAX_WALL_MS } from './limits.ts';
import type { ResumeRequest, RunError, RunOutcome, RunRequest } from './outcome.ts';
import { type Ending, type Run, type ScriptParts, whereOf } from './parts.ts';
import { createRunLog } from './run-log.ts';
import { beginFrame, setFacts, walk } from './walk.ts';

/** Runs a script of a domain from its start. Never throws for what a script does: that is an outcome of kind `error`. */
export const runScript = (parts: ScriptParts, request: RunRequest): Promise<RunOutcome> =>
  conduct(parts, request, createUuid(), async (run) => {
    const script = parts.scripts.byCode(request.domain, request.code);
    if (!script) throw new ScriptFault('unknown_script', `there is no script ${request.code}`);
    run.frames.push(beginFrame(run, script, request.input));
    return walk(run, {});
  });

/** Goes on with a run that waited for a form. Values are taken for the form's fields only. */
export const resumeScript = (parts: ScriptParts, request: ResumeRequest): Promise<RunOutcome> =>
  conduct(parts, request, request.state.runId, async (run) => {
    const { entered, frames } = enter(request);
    for (const { state, values } of frames) {
      const script = parts.scripts.byId(request.domain, state.scriptId);
      if (!script) throw new ScriptFault('unknown_script', `the script ${state.code} is no more`);
      const frame = createFrame(script, run.budget, state);
      run.frames.push(frame);
      for (const [name, value] of Object.entries(values)) frame.variables.offer(name, value);
      setFacts(run, frame);
    }
    for (const { name, type } of request.state.form.fields) {
      if (type === 'password' || type === 'code') run.log.hide(run.frames.at(-1)?.variables.get(name));
    }
    return walk(run, entered);
  });

const conduct = async (
  parts: ScriptParts,
  request: RunRequest | ResumeRequest,
  id: string,
  body: (run: Run) => Promise<Ending>,
): Promise<RunOutcome> => {
  const over = new AbortController();
  const timer = setTimeout(
    () => over.abort(new ScriptFault('time', `took longer than ${MAX_WALL_MS} ms`)),
    MAX_WALL_MS,
  );
  const run = createRun(parts, request, id, AbortSignal.any([request.signal, over.signal]));
  try {
    run.sandbox = parts.sandbox.openRun();
    return close(run, await body(run));
  } catch (thrown) {
    return close(run, { kind: 'error', error: errorOf(run, thrown) });
  } finally {
    clearTimeout(timer);
    run.sandbox?.close();
    run.pace.close();
  }
};

const createRun = (parts: ScriptParts, request: RunRequest | ResumeRequest, id: string, signal: AbortSignal): Run => {
  const began = performance.now();
  const elapsedMs = (): number => performance.now() - began;
  return {
    id,
    parts,
    request,
    signal,
    elapsedMs,
    frames: [],
    budget: { used: 0 },
    sandbox: undefined,
    log: createRunLog(elapsedMs, request.trace === true),
    left: {},
    pace: parts.pace.open(),
    elements: new Map(parts.elements.map((element) => [element.oType, element])),
    steps: 0,
    at: undefined,
  };
};

const close = (run: Run, ending: Ending): RunOutcome => {
  const { parts, request, log, steps } = run;
  const trace = log.trace();
  const outcome: RunOutcome = {
    ...ending,
    runId: run.id,
    steps,
    tookMs: Math.round(run.elapsedMs()),
    log: log.lines(),
    ...(trace === undefined ? {} : { trace }),
  };
  const script = run.frames[0]?.script.code ?? ('code' in request ? request.code : undefined);
  const how = outcome.kind === 'error' ? { reason: outcome.error.reason, oId: outcome.error.oId } : {};
  parts.log.info(
    {
      run: run.id,
      domain: request.domain.name,
      script,
      entry: request.entry,
      ended: outcome.kind,
      ...how,
      steps,
      ms: outcome.tookMs,
      cpuMs: Math.round(run.sandbox?.cpuMs() ?? 0),
    },
    'script run',
  );
  parts.onEnd?.(outcome, request, run.frames[0]?.script.id);
  return outcome;
};

const errorOf = (run: Run, thrown: unknown): RunError => {
  const fault = toFault(run, thrown);
  const frame = run.frames.at(-1);
  const element = run.at && run.elements.get(run.at.oType);
  const cause = fault.cause;
  const error: RunError = {
    script: frame?.script.code ?? ('code' in run.request ? run.request.code : ''),
    ...(run.at ? { oId: run.at.oId } : {}),
    ...(element ? { element: element.name } : {}),
    step: run.steps,
    reason: fault.reason,
    message: String(run.log.mask(fault.message)),
    ...(cause instanceof Problem ? { problem: cause } : {}),
  };
  run.log.write('error', `${error.reason}: ${error.message}`, whereOf(run));
  return error;
};

const toFault = (run: Run, thrown: unknown): ScriptFault => {
  if (thrown instanceof ScriptFault) return thrown;
  if (thrown instanceof Problem) return new ScriptFault('problem', thrown.message, thrown);
  if (run.signal.aborted) {
    const { reason } = run.signal;
    return reason instanceof ScriptFault ? reason : new ScriptFault('aborted', 'nobody waits for it any more');
  }
  run.parts.log.error({ err: thrown, run: run.id }, 'an element of a script failed');
  return new ScriptFault('internal', 'the element failed');
};
