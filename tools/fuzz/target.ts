/** What is fuzzed: a parser that meets strangers, with inputs made for it. */
import { Problem } from '@parley/kit/problem.ts';
import type { Random } from './random.ts';

export type Target = {
  readonly name: string;
  /** Share of the inputs of a run: what is slow gets fewer. */
  readonly weight: number;
  open(): Promise<OpenTarget> | OpenTarget;
};

export type OpenTarget = Partial<AsyncDisposable> & {
  /** One input. Whatever it throws that is no refusal is a finding; false is a refusal too. */
  run(random: Random): unknown;
  /** Refusals of this parser's own, besides Problems below 500. */
  isRefusal?(thrown: unknown): boolean;
};

export type Finding = { readonly no: number; readonly what: string };

export type Outcome = {
  readonly findings: Finding[];
  readonly taken: number;
  readonly refused: number;
  /** The input that took most of a processor. */
  readonly slowest: { readonly no: number; readonly cpuMs: number };
};

export type TargetRun = {
  readonly seed: number;
  readonly from: number;
  readonly to: number;
  /** Told before each input. */
  onInput?(no: number): void;
  /** Longest time of a processor that one input may take; absent is no limit. */
  readonly maxCpuMs?: number;
};

/** Findings after which a target is given up: they are likely one. */
const MAX_FINDINGS = 20;

const isKnown = ({ isRefusal }: OpenTarget, thrown: unknown): boolean =>
  (thrown instanceof Problem && thrown.status < 500) || isRefusal?.(thrown) === true;

const tell = (thrown: unknown): string => (thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));

/** Nothing yet. */
export const emptyOutcome = (): Outcome => ({ findings: [], taken: 0, refused: 0, slowest: { no: -1, cpuMs: 0 } });

/** Of two runs of one target. */
export const joinOutcomes = (a: Outcome, b: Outcome): Outcome => ({
  findings: [...a.findings, ...b.findings],
  taken: a.taken + b.taken,
  refused: a.refused + b.refused,
  slowest: a.slowest.cpuMs >= b.slowest.cpuMs ? a.slowest : b.slowest,
});

type Tried = { readonly is: 'taken' | 'refused' } | { readonly is: 'finding'; readonly what: string };

const tryInput = async (opened: OpenTarget, random: Random): Promise<Tried> => {
  try {
    const running = opened.run(random);
    const result: unknown = running instanceof Promise ? await running : running;
    return { is: result === false ? 'refused' : 'taken' };
  } catch (thrown) {
    return isKnown(opened, thrown) ? { is: 'refused' } : { is: 'finding', what: tell(thrown) };
  }
};

/** Runs inputs one after the other; answers what should not have happened, and how the others fared. */
export const runTarget = async (
  target: Target,
  { seed, from, to, onInput, maxCpuMs = Number.POSITIVE_INFINITY }: TargetRun,
  createRandom: (seed: number, no: number) => Random,
): Promise<Outcome> => {
  const findings: Finding[] = [];
  const counts = { taken: 0, refused: 0, finding: 0 };
  let slowest = { no: -1, cpuMs: 0 };
  const opened = await target.open();
  try {
    for (let no = from; no < to && findings.length < MAX_FINDINGS; no++) {
      onInput?.(no);
      const began = process.cpuUsage();
      const tried = await tryInput(opened, createRandom(seed, no));
      counts[tried.is] += 1;
      if (tried.is === 'finding') findings.push({ no, what: tried.what });
      const { user, system } = process.cpuUsage(began);
      const cpuMs = (user + system) / 1000;
      // The first input pays for what is made once.
      if (no > from && cpuMs > slowest.cpuMs) slowest = { no, cpuMs };
      if (cpuMs > maxCpuMs) findings.push({ no, what: `took ${Math.round(cpuMs)} ms of a processor` });
    }
  } finally {
    await opened[Symbol.asyncDispose]?.();
  }
  return { findings, taken: counts.taken, refused: counts.refused, slowest };
};
