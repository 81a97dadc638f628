/** What a run of a script answers (`POST service/svcscripts/<id>/run`), and how its trace is read. Pure. */
import type { Json } from '../data/schema.ts';
import type { Visits } from './canvas.tsx';
import { LOCATION, type ScriptObject, START_TYPE, type Variable } from './declared.ts';

export type TraceStep = {
  readonly step: number;
  readonly script: string;
  readonly oId: number;
  readonly element: string;
  readonly name: string;
  readonly took_ms: number;
  /** Variables this step wrote. */
  readonly changed: Json;
  /** An oId, or how the run ended. */
  readonly went: string | number;
};

export type LogLine = {
  readonly level: string;
  readonly at_ms: number;
  readonly step: number;
  readonly oId?: number;
  readonly text: string;
};

export type FormField = {
  readonly name: string;
  readonly title?: string;
  readonly type: string;
  readonly value?: unknown;
  readonly options?: readonly unknown[];
};

export type RunAnswer = {
  readonly run: string;
  readonly ended: 'return' | 'form' | 'refuse' | 'error';
  readonly steps: number;
  readonly took_ms: number;
  readonly values?: Json;
  readonly form?: { readonly step: string | number; readonly fields: readonly FormField[] };
  readonly ctx?: string;
  readonly message?: string;
  readonly error?: { readonly oId?: number; readonly reason: string; readonly message: string };
  readonly log: readonly LogLine[];
  readonly trace?: readonly TraceStep[];
};

/** Several answers of one run: each form ends an answer. */
export const joinTraces = (answers: readonly RunAnswer[]): TraceStep[] => answers.flatMap(({ trace }) => trace ?? []);

/** All variables as they are after the step at `at`, and the names this step wrote. */
export const variablesAt = (
  steps: readonly TraceStep[],
  at: number,
): { values: Json; changed: ReadonlySet<string> } => {
  const current = steps[at];
  // A script that was called has variables of its own.
  const own = steps.slice(0, at + 1).filter(({ script }) => script === current?.script);
  return {
    values: Object.assign({}, ...own.map(({ changed }) => changed)),
    changed: new Set(Object.keys(current?.changed ?? {})),
  };
};

/** Where a trace has been up to the step at `at`, within the script of this code. */
export const visitsOf = (steps: readonly TraceStep[], at: number, code: string): Visits => {
  const own = steps.slice(0, at + 1).filter(({ script }) => script === code);
  const current = steps[at];
  return {
    objects: new Set(own.map(({ oId }) => oId)),
    ways: new Set(own.filter(({ went }) => typeof went === 'number').map(({ oId, went }) => `${oId}>${went}`)),
    here: current?.script === code ? current.oId : undefined,
  };
};

export type Input = { readonly name: string; readonly required: boolean; readonly type: number };

/** What a run takes from outside: variables of that place, and what the start names. */
export const inputsOf = (objects: readonly ScriptObject[], variables: readonly Variable[]): Input[] => {
  const types = new Map(variables.map(({ name, type }) => [name, type]));
  const found = new Map<string, boolean>();
  for (const { name, location } of variables) if (location === LOCATION.input && name !== '') found.set(name, false);
  const start = objects.find(({ oType }) => oType === START_TYPE);
  for (const one of Array.isArray(start?.inputs) ? (start.inputs as unknown[]) : []) {
    if (typeof one === 'string') found.set(one, false);
    else if (typeof one === 'object' && one !== null && 'name' in one) {
      found.set(String(one.name), 'required' in one && one.required === true);
    }
  }
  return [...found].map(([name, required]) => ({ name, required, type: types.get(name) ?? 0 }));
};

const TEXT = 1;

/** What was entered as the value of an input: text for texts; else JSON where it is some. */
export const inputValue = (text: string, type: number): unknown => {
  if (type === TEXT) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
