/** What a run is made of while it goes, and what the interpreter needs from outside. */
import type { Log } from '@parley/kit/log.ts';
import type { Domains } from '../domains/types.ts';
import type { Json } from '../rest/json.ts';
import type { Element, Left, ScriptObject } from './element.ts';
import type { Frame } from './frame.ts';
import type { ResumeRequest, RunError, RunOutcome, RunRequest, RunState } from './outcome.ts';
import type { Pace, PaceOfRun } from './pace.ts';
import type { RunLog } from './run-log.ts';
import type { Sandbox, SandboxRun } from './sandbox.ts';
import type { Scripts } from './script.ts';
import type { ScriptServices } from './services.ts';

export type ScriptParts = {
  readonly domains: Pick<Domains, 'open'>;
  readonly scripts: Scripts;
  readonly elements: readonly Element[];
  readonly sandbox: Sandbox;
  readonly pace: Pace;
  readonly services: ScriptServices;
  readonly log: Log;
  /** Told of every run that ended; `scriptId`: the script it began with, if there is one. */
  onEnd?(outcome: RunOutcome, request: RunRequest | ResumeRequest, scriptId: string | undefined): void;
};

/** What a run knows while it goes. */
export type Run = {
  readonly id: string;
  readonly parts: ScriptParts;
  readonly request: RunRequest | ResumeRequest;
  readonly frames: Frame[];
  readonly budget: { used: number };
  readonly log: RunLog;
  readonly pace: PaceOfRun;
  readonly signal: AbortSignal;
  readonly left: Left;
  readonly elements: ReadonlyMap<number, Element>;
  elapsedMs(): number;
  /** Undefined only where a run could not begin. */
  sandbox: SandboxRun | undefined;
  steps: number;
  /** The object that is being run. */
  at: ScriptObject | undefined;
};

/** How a run ends, before what is told of every run is added. */
export type Ending =
  | { readonly kind: 'return'; readonly values: Json; readonly status?: unknown; readonly left: Left }
  | { readonly kind: 'form'; readonly form: RunState['form']; readonly state: RunState }
  | { readonly kind: 'refuse'; readonly message: string; readonly retry: boolean }
  | { readonly kind: 'error'; readonly error: RunError };

/** Where the run is, for its log. */
export const whereOf = (run: Run): { step: number; oId?: number; logLevel: number } => ({
  step: run.steps,
  ...(run.at ? { oId: run.at.oId } : {}),
  logLevel: run.frames.at(-1)?.script.logLevel ?? run.frames[0]?.script.logLevel ?? 0,
});
