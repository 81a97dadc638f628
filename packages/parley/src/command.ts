/** What a command of the command line gets and gives. */
import type { CommandLine } from '@parley/kit/command-line.ts';

export type Output = { write(text: string): unknown; readonly isTTY?: boolean };

export type CommandContext = {
  readonly line: CommandLine;
  /** Answers go here; diagnosis goes to the log on standard error. */
  readonly out: Output;
  readonly signal: AbortSignal;
};

export type Command = {
  readonly name: string;
  /** Arguments as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  /** Resolves with the exit code. Throw an Error with one sentence for what the user can mend. */
  run(args: readonly string[], context: CommandContext): Promise<number>;
};
