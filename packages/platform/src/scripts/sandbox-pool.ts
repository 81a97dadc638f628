/**
 * The sandbox: a quick lane that gives every evaluation a few milliseconds, and a slow lane for what needs more. A run
 * that overran once goes to the slow lane from then on. So a run that burns processors waits for its like, and the
 * others go on. Nothing is kept between evaluations, so one that was cut off is simply asked again.
 */
import { availableParallelism } from 'node:os';
import type { Log } from '@parley/kit/log.ts';
import { ScriptFault } from './fault.ts';
import { MAX_CODE_MS, MAX_CPU_MS, MAX_EXPRESSION_MS, MAX_MOVED_BYTES, MAX_RUNS, MAX_WALL_MS } from './limits.ts';
import type { EvaluateOptions, Evaluation, Sandbox, SandboxRun } from './sandbox.ts';
import { createLane, type Lane } from './sandbox-lane.ts';
import type { Answer, Question } from './sandbox-messages.ts';

const QUICK_MS = 20;
const QUICK_GRACE_MS = 80;
const SLOW_GRACE_MS = 1000;
/** Those that burn stand back a little behind those that answer; not so far that a busy machine forgets them. */
const SLOW_NICENESS = 5;
/** Compiling the expressions of a whole script. */
const COMPILE_MS = 5000;
const IDLE_MS = 60_000;
/** Questions that wait; one more is refused. */
const MAX_WAITING = 1000;

/** What a run used so far. */
type Usage = { cpuMs: number; moved: number; isSlow: boolean };

type Unlimited = Question extends infer Q ? (Q extends Question ? Omit<Q, 'no' | 'cpuMs' | 'wallMs'> : never) : never;

export type SandboxOptions = { readonly log: Log; readonly idleMs?: number };

/** Makes the sandbox; no thread starts before it is used. */
export const createSandbox = ({ log, idleMs = IDLE_MS }: SandboxOptions): Sandbox => {
  const quick = createLane({ threads: 1, graceMs: QUICK_GRACE_MS, niceness: 0, idleMs, log });
  // One processor stays for those who answer requests.
  const threads = Math.max(1, availableParallelism() - 1);
  const slow = createLane({ threads, graceMs: SLOW_GRACE_MS, niceness: SLOW_NICENESS, idleMs, log });
  let no = 0;
  let runs = 0;

  const ask = (lane: Lane, question: Unlimited, usage: Usage, limitMs: number, signal?: AbortSignal) =>
    new Promise<Answer | 'gone'>((resolve) => {
      if (lane.waiting() >= MAX_WAITING) throw new ScriptFault('busy', 'too many scripts wait');
      no += 1;
      lane.add({
        question: { ...question, no, cpuMs: limitMs, wallMs: MAX_WALL_MS } as Question,
        usedMs: () => usage.cpuMs,
        isGivenUp: () => signal?.aborted === true,
        done: (answer) => {
          usage.cpuMs += answer === 'gone' ? limitMs : answer.cpuMs;
          resolve(answer);
        },
      });
    });

  const isOverrun = (answer: Answer | 'gone'): boolean =>
    answer === 'gone' || ('reason' in answer && answer.reason === 'cpu');

  const evaluate = async (
    usage: Usage,
    sources: readonly Evaluation[],
    options: EvaluateOptions,
  ): Promise<readonly string[]> => {
    if (sources.length === 0) return [];
    const { scope, isCode = false, untilTrue = false, signal } = options;
    const question = { kind: 'evaluate', sources, scope, isCode, untilTrue } as const;
    const limitMs = Math.min(isCode ? MAX_CODE_MS : MAX_EXPRESSION_MS, Math.floor(MAX_CPU_MS - usage.cpuMs));
    if (limitMs <= 0) throw new ScriptFault('cpu', `used more than ${MAX_CPU_MS} ms of a processor`);
    move(usage, scope.length);
    let answer: Answer | 'gone' = 'gone';
    if (!usage.isSlow) {
      answer = await ask(quick, question, usage, Math.min(QUICK_MS, limitMs), signal);
      usage.isSlow = isOverrun(answer);
    }
    if (usage.isSlow) answer = await ask(slow, question, usage, limitMs, signal);
    return valuesOf(answer, usage, sources, limitMs);
  };

  return {
    openRun: (): SandboxRun => {
      if (runs >= MAX_RUNS) throw new ScriptFault('busy', `more than ${MAX_RUNS} scripts run`);
      runs += 1;
      const usage: Usage = { cpuMs: 0, moved: 0, isSlow: false };
      return {
        evaluate: (sources, options) => evaluate(usage, sources, options),
        cpuMs: () => usage.cpuMs,
        close: () => {
          runs -= 1;
        },
      };
    },
    compile: async (sources) => {
      if (sources.length === 0) return [];
      const usage: Usage = { cpuMs: 0, moved: 0, isSlow: true };
      const answer = await ask(slow, { kind: 'compile', sources }, usage, COMPILE_MS);
      if (answer === 'gone' || !('values' in answer)) throw new ScriptFault('memory', 'does not compile within limits');
      return answer.values.map((fault) => (fault === '' ? undefined : fault));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([quick.close(), slow.close()]);
    },
  };
};

const move = (usage: Usage, bytes: number): void => {
  usage.moved += bytes;
  if (usage.moved > MAX_MOVED_BYTES) {
    throw new ScriptFault('size', `its expressions read and made more than ${MAX_MOVED_BYTES} bytes`);
  }
};

const valuesOf = (
  answer: Answer | 'gone',
  usage: Usage,
  sources: readonly Evaluation[],
  limitMs: number,
): readonly string[] => {
  if (answer === 'gone') throw new ScriptFault('cpu', `took longer than ${limitMs} ms and was ended`);
  if ('values' in answer) {
    for (const value of answer.values) move(usage, value.length);
    return answer.values;
  }
  const { reason, message, at } = answer;
  const where = sources.length > 1 && at >= 0 ? ` (expression ${at + 1} of ${sources.length})` : '';
  const limit = reason === 'cpu' ? `took longer than ${limitMs} ms` : message;
  throw new ScriptFault(reason, limit + where);
};
