/** How a run is asked for and how it ends. */

import type { Problem } from '@parley/kit/problem.ts';
import type { Domain } from '../domains/types.ts';
import type { Json } from '../rest/json.ts';
import type { Entry, Left, ScriptForm } from './element.ts';
import type { FaultReason } from './fault.ts';

type Asked = {
  /** Domain whose script it is. */
  readonly domain: Domain;
  readonly entry: Entry;
  /** Address of the client, for bans and the journal. */
  readonly address?: string;
  /**
   * What the server itself resolved (`token` and `request` of OAuth): variables whether or not the script declares them.
   * What a client sent belongs into `input` or `values`, of which only declared inputs and asked fields are taken.
   */
  readonly facts?: Json;
  readonly signal: AbortSignal;
  /** Keeps every step with its variables in the outcome. */
  readonly trace?: boolean;
};

export type RunRequest = Asked & {
  readonly code: string;
  /** Values of variables that the script declares as inputs (location 2, or named by its start); others are dropped. */
  readonly input: Json;
};

export type ResumeRequest = Asked & {
  /** As the outcome `form` gave it. */
  readonly state: RunState;
  /** What was entered: only names of the form's fields are taken. */
  readonly values: Json;
};

/**
 * A run that waits for a form: plain JSON. It holds what people entered, passwords too: seal it at rest, never log it,
 * and never take it from a client.
 */
export type RunState = {
  readonly version: 1;
  readonly runId: string;
  /** The innermost script last. */
  readonly frames: readonly FrameState[];
  readonly form: ScriptForm;
  /** What was entered at each step so far. */
  readonly entered: Readonly<Record<string, Json>>;
};

export type FrameState = {
  readonly scriptId: string;
  readonly code: string;
  /** The oId at which it goes on. */
  readonly at: number;
  /** Values of session variables. */
  readonly session: Json;
  /** What was entered in its forms, by field. */
  readonly entered: Json;
  readonly loops: readonly LoopState[];
  /** Of the script that called this one: what becomes of its values. */
  readonly out?: Readonly<Record<string, string>>;
};

export type LoopState = {
  readonly at: number;
  readonly list: readonly unknown[];
  readonly index: number;
  readonly item: string;
  readonly body: number;
  readonly transfer: number;
};

/** Why and where a run failed. `message` is for the script's author, never for who uses the script. */
export type RunError = {
  readonly script: string;
  /** The object's number, type and element; absent when no object was at fault. */
  readonly oId?: number;
  readonly element?: string;
  readonly step: number;
  readonly reason: FaultReason;
  readonly message: string;
  /** The platform's own answer, when that is what ended the run (429 of a ban, 409, 422 …). */
  readonly problem?: Problem;
};

export type LogLine = {
  readonly level: string;
  /** Milliseconds since the run began. */
  readonly atMs: number;
  readonly step: number;
  readonly oId?: number;
  readonly text: string;
};

export type TraceStep = {
  readonly step: number;
  readonly script: string;
  readonly oId: number;
  readonly element: string;
  readonly name: string;
  readonly tookMs: number;
  /** Variables that this step changed. What was entered as a password or a code is masked. */
  readonly changed: Json;
  /** Where it went: an oId, or how the run ended. */
  readonly went: string | number;
};

type Ended = {
  readonly runId: string;
  readonly steps: number;
  readonly tookMs: number;
  readonly log: readonly LogLine[];
  readonly trace?: readonly TraceStep[];
};

export type RunOutcome = Ended &
  (
    | { readonly kind: 'return'; readonly values: Json; readonly status?: unknown; readonly left: Left }
    | { readonly kind: 'form'; readonly form: ScriptForm; readonly state: RunState }
    | { readonly kind: 'refuse'; readonly message: string; readonly retry: boolean }
    | { readonly kind: 'error'; readonly error: RunError }
  );
