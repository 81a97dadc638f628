/** What the pool and the threads of the sandbox say to each other. */
import type { Evaluation } from './sandbox.ts';

/** What a thread is started with: how far it stands back behind others (nice levels). */
export type ThreadOptions = { readonly niceness: number };

/** A thread is ready; `ready` is the system's number of it, 0 where it is not known. */
export type Ready = { readonly ready: number };

type Limited = { readonly no: number; readonly cpuMs: number; readonly wallMs: number };

export type Evaluate = Limited & {
  readonly kind: 'evaluate';
  readonly sources: readonly Evaluation[];
  /** JSON text of what is visible. */
  readonly scope: string;
  readonly isCode: boolean;
  readonly untilTrue: boolean;
};

export type Compile = Limited & {
  readonly kind: 'compile';
  readonly sources: readonly { readonly source: string; readonly isCode: boolean }[];
};

export type Question = Evaluate | Compile;

export type Answer = {
  readonly no: number;
  /** Of a processor. */
  readonly cpuMs: number;
  /** The thread ends after this answer. */
  readonly isLast?: boolean;
} & (
  | {
      /** JSON text of each value; of a compilation what is wrong, empty where nothing is. */ readonly values: readonly string[];
    }
  | {
      readonly reason: 'cpu' | 'memory' | 'expression' | 'size';
      readonly message: string;
      /** Which of the sources it was. */
      readonly at: number;
    }
);
