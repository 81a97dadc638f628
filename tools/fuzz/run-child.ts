/** Runs a target in processes of their own, one after the other: each that ends or hangs is a finding, and the next goes on. */
import { fork } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { FromChild } from './child.ts';
import { emptyOutcome, joinOutcomes, type Outcome, type Target } from './target.ts';

/**
 * Without a new input for so long the child hangs; the first one waits for its modules, the end for what was started. Long
 * enough for a machine that others keep busy: an input that computes for ever is found, only later.
 */
const HANG_MS = 60_000;
const START_MS = 180_000;
const END_MS = 120_000;
const MAX_COMPLAINT_CHARS = 1200;
const LOOK_MS = 1000;

/** -1 before the first input. */
const currentIn = (path: string): number => {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  return bytes.length < 8 ? -1 : bytes.readDoubleLE();
};

type Ran = { readonly outcome: Outcome; readonly next: number };
type Span = { readonly seed: number; readonly from: number; readonly to: number };

/** Runs inputs in one child; `next` is the input after the last that was tried. */
const runChild = async (target: Target, { seed, from, to }: Span, folder: string): Promise<Ran> => {
  const progress = join(folder, target.name);
  rmSync(progress, { force: true });
  let outcome = emptyOutcome();
  let isDone = false;
  let isHung = false;
  const args = [target.name, String(seed), String(from), String(to), progress];
  const child = fork(new URL('./child.ts', import.meta.url), args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  // Decoders complain of what they are given; only what comes before an end of the process tells something.
  let complaint = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-MAX_COMPLAINT_CHARS);
  });
  child.on('message', (message: FromChild) => {
    outcome = joinOutcomes(outcome, message.outcome);
    isDone ||= message.done;
  });
  let seen = -1;
  let seenMs = performance.now();
  const longestMs = (current: number): number => (current < from ? START_MS : current >= to - 1 ? END_MS : HANG_MS);
  const watch = setInterval(() => {
    const current = currentIn(progress);
    if (current !== seen) [seen, seenMs] = [current, performance.now()];
    else if (performance.now() - seenMs > longestMs(current)) {
      isHung = true;
      child.kill('SIGKILL');
    }
  }, LOOK_MS);
  const ended = await new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
  });
  clearInterval(watch);
  if (isDone) return { outcome, next: to };
  const at = Math.max(from, currentIn(progress));
  const finding = { no: at, what: isHung ? 'hangs' : `the process ended: ${ended}\n${complaint}` };
  return { outcome: joinOutcomes(outcome, { ...emptyOutcome(), findings: [finding] }), next: at + 1 };
};

/** Runs the inputs of a span in as many children as it takes, until there are `maxFindings`. */
export const runInChildren = async (
  target: Target,
  span: Span,
  { folder, maxFindings }: { readonly folder: string; readonly maxFindings: number },
): Promise<Outcome> => {
  let outcome = emptyOutcome();
  for (let from = span.from; from < span.to && outcome.findings.length < maxFindings; ) {
    const ran = await runChild(target, { ...span, from }, folder);
    outcome = joinOutcomes(outcome, ran.outcome);
    from = ran.next;
  }
  return outcome;
};
