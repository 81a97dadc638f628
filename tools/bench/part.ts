/** What a part of `npm run bench` is given and what it gives back. */

/** A figure against what it has to reach; `met` is null where nothing was promised. */
export interface BenchRow {
  readonly figure: string;
  readonly value: string;
  readonly target: string;
  readonly met: boolean | null;
  readonly note?: string;
}

export interface BenchContext {
  /** A folder of this part alone, deleted after it. */
  readonly folder: string;
  /** Short, to see that it runs: the figures are not to be believed. */
  readonly quick: boolean;
  /** How often alternating measures are repeated; medians are told. */
  readonly rounds: number;
  /** Tells how far it is. */
  readonly log: (line: string) => void;
  /** Ends the part early; it then cleans up and throws. */
  readonly signal: AbortSignal;
}

export interface BenchPart {
  readonly name: string;
  readonly title: string;
  /** Measures. Throws when it cannot; a figure that is missed is no fault. Notes are paragraphs below the table. */
  readonly run: (context: BenchContext) => Promise<{ rows: BenchRow[]; notes: string[] }>;
}
