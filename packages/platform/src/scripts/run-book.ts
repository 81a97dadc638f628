/** The newest runs of every script on this node, so that its author can read what happened. Gone with the process. */
import type { Entry } from './element.ts';
import type { RunOutcome } from './outcome.ts';

/** What is remembered of a run: how it went, never what it was about. */
export type KeptRun = Pick<RunOutcome, 'runId' | 'kind' | 'steps' | 'tookMs' | 'log'> & {
  readonly entry: Entry;
  /** When it ended, in Unix milliseconds. */
  readonly atMs: number;
  readonly error?: Extract<RunOutcome, { kind: 'error' }>['error'];
};

export const toKept = (outcome: RunOutcome, entry: Entry, atMs: number): KeptRun => {
  const { runId, kind, steps, tookMs, log } = outcome;
  return { runId, kind, steps, tookMs, log, entry, atMs, ...(kind === 'error' ? { error: outcome.error } : {}) };
};

export type RunBook = {
  keep(domain: string, scriptId: string, run: KeptRun): void;
  /** Newest first. */
  of(domain: string, scriptId: string): readonly KeptRun[];
};

const MAX_RUNS_OF_SCRIPT = 20;
/** Scripts whose runs are kept; the one that ran longest ago is forgotten first. */
const MAX_SCRIPTS = 200;

export const createRunBook = (): RunBook => {
  const kept = new Map<string, KeptRun[]>();
  const nameOf = (domain: string, scriptId: string): string => `${domain}/${scriptId}`;
  return {
    keep: (domain, scriptId, run) => {
      const name = nameOf(domain, scriptId);
      const runs = kept.get(name) ?? [];
      kept.delete(name);
      if (kept.size >= MAX_SCRIPTS) kept.delete(kept.keys().next().value!);
      kept.set(name, [run, ...runs].slice(0, MAX_RUNS_OF_SCRIPT));
    },
    of: (domain, scriptId) => kept.get(nameOf(domain, scriptId)) ?? [],
  };
};
