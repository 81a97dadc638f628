/**
 * `npm run bench [-- PART…] [--all] [--quick] [--rounds N] [--list] [--dry]`: measures, prints a table for each part and
 * writes it to docs/benchmarks.md (not with `--quick` or `--dry`). A part that cannot run leaves the others alone and makes the
 * command fail; a figure that is missed does not: the table tells of it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine, describeMoment } from './bench/machine.ts';
import { type ListedPart, PARTS } from './bench/parts.ts';
import { placeSection, renderSection, renderTable } from './bench/report.ts';

const DOCUMENT = new URL('../docs/benchmarks.md', import.meta.url);
const DEFAULT_ROUNDS = 3;
const INTERRUPTED = 130;

type Options = { readonly quick: boolean; readonly rounds: number; readonly isWritten: boolean };

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const choose = (names: readonly string[], isAll: boolean): readonly ListedPart[] => {
  const unknown = names.filter((name) => !PARTS.some((part) => part.name === name));
  if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}; see npm run bench -- --list`);
  return PARTS.filter(({ name, isExtra }) => (names.length === 0 ? isAll || !isExtra : names.includes(name)));
};

const list = async (): Promise<void> => {
  for (const { name, isExtra, load } of PARTS) {
    const { title } = await load();
    print(`${name.padEnd(20)} ${title}${isExtra ? ' (only when it is named, or with --all)' : ''}`);
  }
};

const measure = async ({ name, load }: ListedPart, options: Options, signal: AbortSignal): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const moment = describeMoment();
  const startedMs = performance.now();
  try {
    const part = await load();
    print(`\n${part.title} (${name}), ${moment}`);
    const log = (line: string): void => print(`  ${line}`);
    const { rows, notes } = await part.run({ folder, ...options, log, signal });
    const tookSec = ((performance.now() - startedMs) / 1000).toFixed(0);
    print(`\n${renderTable(rows)}\n${notes.map((note) => `\n${note}\n`).join('')}\n${tookSec} s`);
    if (!options.isWritten) return;
    const measured = { ...part, rows, notes, moment: `${moment}, ${tookSec} s`, machine: describeMachine() };
    const document = readFileSync(DOCUMENT, 'utf8');
    const order = PARTS.map((each) => each.name);
    writeFileSync(DOCUMENT, placeSection(document, name, renderSection(measured), order));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string', default: String(DEFAULT_ROUNDS) },
    list: { type: 'boolean', default: false },
    dry: { type: 'boolean', default: false },
  },
});
const options = {
  quick: values.quick,
  rounds: values.quick ? 1 : Math.max(1, Number(values.rounds) || DEFAULT_ROUNDS),
  isWritten: !values.quick && !values.dry,
};
const interrupt = new AbortController();
// The first asks each part to end what it started; the second is the default again.
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => interrupt.abort(new Error(`ended by ${name}`)));
}
if (values.list) await list();
else {
  print(describeMachine());
  const failed: string[] = [];
  for (const part of choose(positionals, values.all)) {
    if (interrupt.signal.aborted) break;
    try {
      await measure(part, options, interrupt.signal);
    } catch (error) {
      failed.push(part.name);
      print(`${part.name} could not run: ${error instanceof Error ? error.stack : error}`);
    }
  }
  if (failed.length > 0) print(`\nnot measured: ${failed.join(', ')}`);
  process.exitCode = interrupt.signal.aborted ? INTERRUPTED : failed.length > 0 ? 1 : 0;
}
