/**
 * `npm run fuzz -- [--inputs N] [--seed S] [--only NAME,…] [--no N] [--write]`: random inputs for every parser that meets
 * strangers, each parser in a process of its own. A finding is whatever a parser throws that is no refusal of its own, an input
 * that hangs or takes seconds of a processor, and an end of the process. Seed and number give the same input again (`--no`).
 * `--write` puts the table into docs/fuzz.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { placeRecord, type Ran, renderRan, renderRuns } from './fuzz/report.ts';
import { runInChildren } from './fuzz/run-child.ts';
import type { Finding, Target } from './fuzz/target.ts';
import { TARGETS } from './fuzz/targets.ts';

const DEFAULT_INPUTS = 1_000_000;
const MAX_FINDINGS_SHOWN = 5;
const DOCUMENT = new URL('../docs/fuzz.md', import.meta.url);
const MANIFEST = new URL('../package.json', import.meta.url);

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const describe = ({ no, what }: Finding, name: string, seed: number): string =>
  `  --only ${name} --seed ${seed} --no ${no}\n    ${what.slice(0, 1500).replaceAll('\n', '\n    ')}`;

const { values } = parseArgs({
  options: {
    inputs: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    no: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const inputs = Number(values.inputs ?? DEFAULT_INPUTS);
const only = values.only?.split(',');
const chosen = TARGETS.filter(({ name }) => only?.includes(name) ?? true);
if (chosen.length === 0 || only?.some((name) => !chosen.some((target) => target.name === name))) {
  throw new Error(`--only takes ${TARGETS.map(({ name }) => name).join(', ')}`);
}
const weights = chosen.reduce((sum, { weight }) => sum + weight, 0);

/** The inputs of a target: its share, or the one that is named. */
const spanOf = ({ weight }: Target): { from: number; to: number } => {
  if (values.no !== undefined) return { from: Number(values.no), to: Number(values.no) + 1 };
  return { from: 0, to: Math.max(1, Math.ceil((inputs * weight) / weights)) };
};

const record = (runs: readonly Ran[]): string => {
  const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };
  const day = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const made = `Parley ${version}, seed ${seed}, ended ${day} UTC, Node ${process.versions.node}, ${cpus().length} cores.`;
  const again = `\`npm run fuzz -- --inputs ${inputs} --seed ${seed}${values.only ? ` --only ${values.only}` : ''}\``;
  return `${made} The same again: ${again}.\n\n${renderRuns(runs)}`;
};

const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
print(`seed ${seed}`);
const runs: Ran[] = [];
for (const target of chosen) {
  const span = { ...spanOf(target), seed };
  const began = performance.now();
  const outcome = await runInChildren(target, span, { folder, maxFindings: MAX_FINDINGS_SHOWN });
  const ran = { name: target.name, inputs: span.to - span.from, outcome, tookSec: (performance.now() - began) / 1000 };
  runs.push(ran);
  print(renderRan(ran));
  for (const finding of outcome.findings.slice(0, MAX_FINDINGS_SHOWN)) print(describe(finding, target.name, seed));
}
rmSync(folder, { recursive: true });
const text = record(runs);
print(`\n${text}`);
if (values.write) writeFileSync(DOCUMENT, placeRecord(readFileSync(DOCUMENT, 'utf8'), text));
process.exitCode = runs.every(({ outcome }) => outcome.findings.length === 0) ? 0 : 1;
