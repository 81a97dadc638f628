/** What the spec reporter of node:test says in the end; several runs in one output are added up. */

export type Outcome = {
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Names of what failed, the innermost only. */
  readonly failures: readonly string[];
};

/** `output`: of one or more runs, without colours. */
export const readOutcome = (output: string): Outcome => {
  const sum = (name: string): number =>
    [...output.matchAll(new RegExp(`^ℹ ${name} (\\d+)$`, 'gm'))].reduce((total, [, count]) => total + Number(count), 0);
  const lists = output.split(/^✖ failing tests:$/m).slice(1);
  const failures = lists.flatMap((list) =>
    [...list.matchAll(/^test at (\S+)\n✖ (.*?) \([\d.]+ms\)$/gm)].map(([, place, name]) => `${place} ${name}`),
  );
  return { tests: sum('tests'), passed: sum('pass'), failed: sum('fail'), skipped: sum('skipped'), failures };
};
