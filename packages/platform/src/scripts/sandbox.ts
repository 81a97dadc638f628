/** Where expressions and code run, as the interpreter sees it; sandbox-pool.ts is the real one. */

export type Evaluation = {
  readonly source: string;
  /** Makes the value visible under this name to the evaluations after it. */
  readonly as?: string;
};

export type EvaluateOptions = {
  /** JSON text of an object: the names that are visible. */
  readonly scope: string;
  /** Statements with `return` instead of expressions. */
  readonly isCode?: boolean;
  /** Ends with the first value that is true. */
  readonly untilTrue?: boolean;
  readonly signal: AbortSignal;
};

/** What one run may use of the sandbox: its processor time is counted, and runs that used little come first. */
export type SandboxRun = {
  /**
   * JSON text of each value, in order: parsing a large one takes time of the thread that answers requests, so it is left
   * to who needs the value. Throws a ScriptFault: expression, cpu, memory, size, busy.
   */
  evaluate(each: readonly Evaluation[], options: EvaluateOptions): Promise<readonly string[]>;
  /** Milliseconds of a processor used so far. */
  cpuMs(): number;
  close(): void;
};

export type Sandbox = AsyncDisposable & {
  /** Throws a ScriptFault `busy` when too many runs are open. */
  openRun(): SandboxRun;
  /** What is wrong with each, undefined where nothing is. Compiles only; nothing runs. */
  compile(
    sources: readonly { readonly source: string; readonly isCode: boolean }[],
  ): Promise<readonly (string | undefined)[]>;
};
