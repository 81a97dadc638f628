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
  /** One input. Whatever it throws that is no refusal is a finding. */
  run(random: Random): unknown;
  /** Refusals of this parser's own, besides Problems below 500. */
  isRefusal?(thrown: unknown): boolean;
};

export type Finding = { readonly no: number; readonly what: string };

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

/** Runs inputs one after the other; answers what should not have happened. */
export const runTarget = async (
  target: Target,
  { seed, from, to, onInput, maxCpuMs = Number.POSITIVE_INFINITY }: TargetRun,
  createRandom: (seed: number, no: number) => Random,
): Promise<Finding[]> => {
  const findings: Finding[] = [];
  const opened = await target.open();
  try {
    for (let no = from; no < to && findings.length < MAX_FINDINGS; no++) {
      onInput?.(no);
      const began = process.cpuUsage();
      try {
        const running = opened.run(createRandom(seed, no));
        if (running instanceof Promise) await running;
      } catch (thrown) {
        if (!isKnown(opened, thrown)) findings.push({ no, what: tell(thrown) });
      }
      const { user, system } = process.cpuUsage(began);
      const tookMs = (user + system) / 1000;
      if (tookMs > maxCpuMs) findings.push({ no, what: `took ${Math.round(tookMs)} ms of a processor` });
    }
  } finally {
    await opened[Symbol.asyncDispose]?.();
  }
  return findings;
};
