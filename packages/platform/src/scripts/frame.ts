/** One script within a run, and how it is kept while the run waits for a form. */
import { isObject, type Json } from '../rest/json.ts';
import type { FormField, ScriptForm } from './element.ts';
import type { FrameState, LoopState, ResumeRequest, RunState } from './outcome.ts';
import type { Script } from './script.ts';
import { type Budget, createVariables, LOCATIONS, type Variables } from './variables.ts';

export type Frame = {
  readonly script: Script;
  readonly variables: Variables;
  /** The oId that comes next; 0 at the end of a chain. */
  at: number;
  loops: LoopState[];
  /** What becomes of its values in the script that called it. */
  out?: Readonly<Record<string, string>>;
  /** What was entered in its forms. */
  entered: Json;
};

/** A script with its variables at their defaults, or as a form left it. */
export const createFrame = (script: Script, budget: Budget, state?: FrameState): Frame => {
  const variables = createVariables(script.variables, script.defaults, budget);
  for (const [name, value] of Object.entries(state?.session ?? {})) variables.offer(name, value);
  return {
    script,
    variables,
    at: state?.at ?? 0,
    loops: [...(state?.loops ?? [])],
    ...(state?.out ? { out: state.out } : {}),
    entered: state?.entered ?? {},
  };
};

/** Everything that outlives the answer: session variables, what was entered, where it goes on. */
export const stateOf = (
  run: { readonly id: string; readonly frames: readonly Frame[] },
  form: ScriptForm,
  entered: RunState['entered'],
): RunState => ({
  version: 1,
  runId: run.id,
  form,
  entered,
  frames: run.frames.map(({ script, variables, at, loops, out, entered: own }) => ({
    scriptId: script.id,
    code: script.code,
    at,
    session: variables.at(LOCATIONS.session),
    entered: own,
    loops,
    ...(out ? { out } : {}),
  })),
});

/**
 * What was entered becomes part of the state: the form's fields out of the values that came, fields that refer to an
 * earlier step out of what was entered there, never out of what came.
 */
export const enter = ({ state, values }: ResumeRequest) => {
  const taken: Json = {};
  for (const field of state.form.fields) {
    const value = takenOf(field, state, values);
    if (value !== undefined) taken[field.name] = value;
  }
  const entered: RunState['entered'] = { ...state.entered, [String(state.form.step)]: taken };
  const innermost = state.frames.length - 1;
  const frames = state.frames.map((frame, at) => {
    const own: Json = at === innermost ? { ...frame.entered, ...taken } : frame.entered;
    return { state: { ...frame, entered: own }, values: own };
  });
  return { entered, frames };
};

const takenOf = (field: FormField, { entered, form }: RunState, values: Json): unknown => {
  if (field.from) return entered[String(field.from.step)]?.[field.name];
  // A hidden field goes out and comes back: what it says is the server's word, not the client's.
  if (field.type === 'hidden') return isReserved(field.name) ? undefined : field.value;
  const value = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
  return isPlain(value) || form.fields.length === 0 ? value : undefined;
};

/** Fields of the form itself. */
const isReserved = (name: string): boolean => name === 'step' || name === 'ctx';

const isPlain = (value: unknown): boolean => value !== null && !isObject(value) && !Array.isArray(value);
