/** The interpreter: walks the graph of a script's objects, one element a step, with loops and calls of other scripts. */
import { until } from '@parley/kit/abort.ts';
import type { Json } from '../rest/json.ts';
import { createElementContext } from './context.ts';
import type { Element, ScriptObject, Step } from './element.ts';
import { ScriptFault } from './fault.ts';
import { createFrame, type Frame, stateOf } from './frame.ts';
import { MAX_CALL_DEPTH, MAX_LOOP_DEPTH, MAX_STEPS } from './limits.ts';
import type { RunState } from './outcome.ts';
import { type Ending, type Run, whereOf } from './parts.ts';
import type { Script } from './script.ts';
import { LOCATIONS } from './variables.ts';

/** A script at its start, with its inputs. */
export const beginFrame = (run: Run, script: Script, input: Json, out?: Frame['out']): Frame => {
  if (!script.start) throw new ScriptFault('invalid_script', `${script.code} has no start`);
  const frame = createFrame(script, run.budget);
  if (out) frame.out = out;
  for (const [name, required] of script.inputs) {
    if (Object.hasOwn(input, name)) frame.variables.set(name, input[name]);
    else if (required && (frame.variables.get(name) ?? null) === null) {
      throw new ScriptFault('input', `${script.code} needs ${name}`);
    }
  }
  setFacts(run, frame);
  frame.at = script.start.oId;
  return frame;
};

/** What the server resolved is there for every script of the run. */
export const setFacts = ({ request }: Run, frame: Frame): void => {
  for (const [name, value] of Object.entries(request.facts ?? {})) frame.variables.set(name, value);
};

/** Goes from object to object until the run ends. `entered`: what earlier forms took. */
export const walk = async (run: Run, entered: RunState['entered']): Promise<Ending> => {
  while (true) {
    const frame = run.frames.at(-1)!;
    const ending = frame.at === 0 ? await endPass(run, frame) : await take(run, frame, entered);
    if (ending) return ending;
  }
};

/** One step: runs the object the frame is at, and goes where it says. */
const take = async (run: Run, frame: Frame, entered: RunState['entered']): Promise<Ending | undefined> => {
  run.signal.throwIfAborted();
  await run.pace.step(run.signal);
  if (run.steps >= MAX_STEPS) throw new ScriptFault('steps', `took more than ${MAX_STEPS} steps`);
  const object = frame.script.objects.get(frame.at);
  if (!object) throw new ScriptFault('invalid_script', `there is no object ${frame.at}`);
  run.at = object;
  run.steps += 1;
  const element = run.elements.get(object.oType);
  if (!element) throw new ScriptFault('invalid_script', `there is no element of type ${object.oType}`);
  const began = performance.now();
  const note = (went: string | number): void => noteStep(run, frame, object, element, began, went);
  try {
    const step = leaveLoop(frame, object) ?? (await until(runElement(run, frame, element, object), run.signal));
    note(step.kind === 'go' ? step.to : step.kind);
    return await follow(run, frame, step, entered);
  } catch (thrown) {
    note('error');
    throw thrown;
  }
};

const runElement = async (run: Run, frame: Frame, element: Element, object: ScriptObject): Promise<Step> =>
  element.run(createElementContext(run, frame), object);

const noteStep = (
  run: Run,
  frame: Frame,
  object: ScriptObject,
  element: Element,
  began: number,
  went: string | number,
) => {
  const { variables, script } = frame;
  const tookMs = Math.round(performance.now() - began);
  run.log.write('debug', `${element.name} → ${went} (${tookMs} ms)`, whereOf(run));
  const { steps: step } = run;
  const name = String(object.name ?? '');
  run.log.traced({ step, script: script.code, oId: object.oId, element: element.name, name, tookMs, went }, () =>
    Object.fromEntries(variables.takeChanged().map((changed) => [changed, variables.get(changed)])),
  );
};

const follow = async (
  run: Run,
  frame: Frame,
  step: Step,
  entered: RunState['entered'],
): Promise<Ending | undefined> => {
  switch (step.kind) {
    case 'go':
      frame.at = step.to;
      return undefined;
    case 'return':
      return endFrame(run, { ...frame.variables.at(LOCATIONS.output), ...step.values }, step.status);
    case 'refuse':
      return { kind: 'refuse', message: step.message, retry: step.retry };
    case 'form':
      frame.at = step.transfer;
      return { kind: 'form', form: step.form, state: stateOf(run, step.form, entered) };
    case 'call':
      return call(run, frame, step);
    default:
      return beginLoop(frame, step);
  }
};

const call = (run: Run, frame: Frame, step: Extract<Step, { kind: 'call' }>): undefined => {
  if (run.frames.length >= MAX_CALL_DEPTH) {
    throw new ScriptFault('depth', `more than ${MAX_CALL_DEPTH} scripts call each other`);
  }
  const script = run.parts.scripts.byCode(run.request.domain, step.code);
  if (!script) throw new ScriptFault('unknown_script', `there is no script ${step.code}`);
  frame.at = step.transfer;
  run.frames.push(beginFrame(run, script, step.input, step.out));
};

const beginLoop = (frame: Frame, step: Extract<Step, { kind: 'loop' }>): undefined => {
  if (frame.loops.length >= MAX_LOOP_DEPTH)
    throw new ScriptFault('depth', `more than ${MAX_LOOP_DEPTH} loops in each other`);
  frame.loops.push({
    at: frame.at,
    list: step.list,
    index: 0,
    item: step.item,
    body: step.body,
    transfer: step.transfer,
  });
  nextPass(frame);
  return undefined;
};

/** Takes the next item of the innermost loop, or goes on behind the loop. */
const nextPass = (frame: Frame): void => {
  const loop = frame.loops.at(-1)!;
  if (loop.index >= loop.list.length) {
    frame.loops.pop();
    frame.at = loop.transfer;
    return;
  }
  frame.variables.set(loop.item, loop.list[loop.index]);
  frame.loops[frame.loops.length - 1] = { ...loop, index: loop.index + 1 };
  frame.at = loop.body;
};

/** A loop's own object, reached again, is its next pass; the object behind a loop, reached from within, leaves it. */
const leaveLoop = (frame: Frame, object: ScriptObject): Step | undefined => {
  const behind = frame.loops.findIndex(({ transfer }) => transfer === object.oId);
  if (behind >= 0) frame.loops.length = behind;
  const again = frame.loops.findIndex(({ at }) => at === object.oId);
  if (again < 0) return undefined;
  frame.loops.length = again + 1;
  nextPass(frame);
  return { kind: 'go', to: frame.at };
};

/** The end of a chain: the next pass of a loop, or the end of the script. */
const endPass = (run: Run, frame: Frame): Promise<Ending | undefined> | undefined => {
  if (frame.loops.length === 0) return endFrame(run, frame.variables.at(LOCATIONS.output));
  run.signal.throwIfAborted();
  nextPass(frame);
  return undefined;
};

const endFrame = async (run: Run, values: Json, status?: unknown): Promise<Ending | undefined> => {
  const ended = run.frames.pop()!;
  ended.variables.release();
  const caller = run.frames.at(-1);
  if (!caller) {
    run.frames.push(ended);
    return { kind: 'return', values, left: run.left, ...(status === undefined ? {} : { status }) };
  }
  const wanted = Object.entries(ended.out ?? {});
  const found = await run.sandbox!.evaluate(
    wanted.map(([, source]) => ({ source })),
    { scope: JSON.stringify(values), signal: run.signal },
  );
  for (const [at, [name]] of wanted.entries()) caller.variables.setText(name, found[at] ?? 'null');
  return undefined;
};
