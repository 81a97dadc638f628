/**
 * What the log says of answers that are problems. A 500 is a fault of ours: each is an error with its stack. A 503 is
 * expected (a database away, a queue full, the end near) and its caller was told when to come again: one warning for
 * each cause and interval, without a stack, so that a service under load with its database away does not write its disk
 * full of the same sentence.
 */
import type { Log } from '../log.ts';
import type { Problem } from '../problem.ts';

export type ProblemLog = (problem: Problem, requestId: string) => void;

/** How often the same cause of 503 is told of. */
const TELL_AGAIN_MS = 10_000;
/** Causes that are remembered; with more of them all are forgotten, and told of anew. */
const MAX_CAUSES = 100;
const MAX_DEPTH = 4;
const UNAVAILABLE = 503;
const NOT_IMPLEMENTED = 501;

/** A log of its own for each server. `nowMs`: monotonic. */
export const createProblemLog = (log: Log, nowMs: () => number = () => performance.now()): ProblemLog => {
  const told = new Map<string, { atMs: number; held: number }>();
  const warn = (problem: Problem, facts: object): void => {
    const reasons = reasonsOf(problem);
    const cause = [problem.code, ...reasons.map(({ code }) => code)].join(' ');
    const last = told.get(cause);
    if (last && nowMs() - last.atMs < TELL_AGAIN_MS) {
      last.held += 1;
      return;
    }
    if (told.size >= MAX_CAUSES) told.clear();
    told.set(cause, { atMs: nowMs(), held: 0 });
    const reason = reasons.map(({ message }) => message).join(': ');
    const held = last?.held ?? 0;
    log.warn({ ...facts, reason, ...(held === 0 ? {} : { untold: held }) }, 'refused for now');
  };
  return (problem, requestId) => {
    const facts = { requestId, code: problem.code, status: problem.status };
    if (problem.status < 500 || problem.status === NOT_IMPLEMENTED) log.debug(facts, 'problem');
    else if (problem.status === UNAVAILABLE) warn(problem, facts);
    else log.error({ ...facts, err: problem.cause ?? problem }, 'problem');
  };
};

/** The problem and what lies below it; `code` is the system's word for it, or the kind of error. */
const reasonsOf = (problem: Problem): { message: string; code: string }[] => {
  const reasons: { message: string; code: string }[] = [];
  for (let each: unknown = problem; each instanceof Error && reasons.length < MAX_DEPTH; each = each.cause) {
    const { code } = each as { code?: unknown };
    reasons.push({ message: each.message, code: typeof code === 'string' ? code : each.name });
  }
  return reasons;
};
