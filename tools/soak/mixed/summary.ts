/** What a run came to, on one screen. */
import { cpus, totalmem } from 'node:os';
import type { Check } from './checks.ts';
import type { FaultCounts } from './faults.ts';
import type { Outcome } from './ledger.ts';

export type MixedReport = {
  readonly seed: number;
  readonly minutes: number;
  readonly driver: 'sqlite' | 'postgres';
  readonly operations: ReadonlyMap<string, Readonly<Record<Outcome, number>>>;
  readonly injected: FaultCounts;
  /** Faults that could not be injected here, with the reason. */
  readonly skipped: readonly string[];
  readonly checks: readonly Check[];
  /** What was not as it should be, and how often; empty when all is well. */
  readonly faults: ReadonlyMap<string, number>;
  /** Lines of level error in the logs, by message. */
  readonly errors: ReadonlyMap<string, number>;
};

const MAX_FAULTS = 12;
const MAX_ERRORS = 8;
/** Operations of clients that count; what the checks asked is in their figures. */
const NOT_SHOWN = /^check /;
const OPERATIONS_A_LINE = 2;
const WIDTH = 56;

const operationOf = ([name, { done, refused, cut, left }]: readonly [
  string,
  Readonly<Record<Outcome, number>>,
]): string => {
  const others = [
    refused > 0 ? `${refused} refused` : '',
    cut > 0 ? `${cut} cut` : '',
    left > 0 ? `${left} left` : '',
  ].filter((part) => part !== '');
  return `${name} ${done}${others.length > 0 ? ` (${others.join(', ')})` : ''}`;
};

const inColumns = (parts: readonly string[]): string[] => {
  const lines: string[] = [];
  for (let at = 0; at < parts.length; at += OPERATIONS_A_LINE) {
    lines.push(
      `  ${parts
        .slice(at, at + OPERATIONS_A_LINE)
        .map((part) => part.padEnd(WIDTH))
        .join('')
        .trimEnd()}`,
    );
  }
  return lines;
};

const newest = (all: ReadonlyMap<string, number>, most: number): string[] => {
  const sorted = [...all].sort((left, right) => right[1] - left[1]);
  const shown = sorted.slice(0, most).map(([text, times]) => `  ${times} × ${text}`);
  return sorted.length > most ? [...shown, `  … and ${sorted.length - most} others`] : shown;
};

/** Lines of text, at most sixty. */
export const renderSummary = (report: MixedReport): string => {
  const { operations, injected, skipped, checks, faults, errors } = report;
  const shown = [...operations].filter(([name]) => !NOT_SHOWN.test(name)).sort();
  const asked = shown.reduce((sum, [, { done, refused, cut, left }]) => sum + done + refused + cut + left, 0);
  const times = [...injected.values()].reduce((sum, each) => sum + each.times, 0);
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  return [
    `mixed soak: seed ${report.seed}, ${report.minutes} min, ${report.driver}; ${new Date().toISOString().slice(0, 16)}Z`,
    machine,
    `Operations: ${asked} (done; refused: 429 or 503 with Retry-After; cut: the connection broke; left: the client went)`,
    ...inColumns(shown.map(operationOf)),
    `Faults injected: ${times} (times; longest until both services were ready again)`,
    ...inColumns(
      [...injected].map(([name, each]) => `${name}: ${each.times}, ${(each.slowestMs / 1000).toFixed(1)} s`),
    ),
    ...skipped.map((reason) => `  skipped: ${reason}`),
    'Checks:',
    ...checks.map(({ name, isWell, figures }) => `  ${isWell ? 'well ' : 'NOT  '} ${name}: ${figures}`),
    ...(errors.size > 0 ? ['Lines of level error in the logs:', ...newest(errors, MAX_ERRORS)] : []),
    ...(faults.size > 0 ? ['NOT as it should be:', ...newest(faults, MAX_FAULTS)] : ['All is as it should be.']),
    '',
  ].join('\n');
};
