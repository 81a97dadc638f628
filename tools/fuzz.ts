/**
 * `npm run fuzz -- [--inputs N] [--seed S] [--only NAME] [--no N]`: random inputs for every parser that meets strangers,
 * each parser in a process of its own. A finding is whatever a parser throws that is no refusal of its own, an input that hangs
 * or takes seconds of a processor, and an end of the process. Seed and number give the same input again (`--no`).
 */
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { FromChild } from './fuzz/child.ts';
import type { Finding, Target } from './fuzz/target.ts';
import { TARGETS } from './fuzz/targets.ts';

const DEFAULT_INPUTS = 1_000_000;
/** Without a new input for so long the child hangs; the first one waits for its modules. */
const HANG_MS = 15_000;
const START_MS = 180_000;
const LOOK_MS = 1000;
const MAX_FINDINGS_SHOWN = 5;

const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));

/** -1 before the first input. */
const currentIn = (path: string): number => {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  return bytes.length < 8 ? -1 : bytes.readDoubleLE();
};

type Ran = { readonly findings: Finding[]; readonly next: number };

/** Runs inputs in one child; `next` is the input after the last that was tried. */
const runChild = async (target: Target, seed: number, from: number, to: number): Promise<Ran> => {
  const progress = join(folder, target.name);
  rmSync(progress, { force: true });
  const findings: Finding[] = [];
  let isDone = false;
  let isHung = false;
  const args = [target.name, String(seed), String(from), String(to), progress];
  const child = fork(new URL('./fuzz/child.ts', import.meta.url), args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.on('message', (message: FromChild) => {
    findings.push(...message.findings);
    isDone ||= message.done;
  });
  let seen = -1;
  let seenMs = performance.now();
  const watch = setInterval(() => {
    const current = currentIn(progress);
    if (current !== seen) [seen, seenMs] = [current, performance.now()];
    else if (performance.now() - seenMs > (current < from ? START_MS : HANG_MS)) {
      isHung = true;
      child.kill('SIGKILL');
    }
  }, LOOK_MS);
  const ended = await new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
  });
  clearInterval(watch);
  if (isDone) return { findings, next: to };
  const at = Math.max(from, currentIn(progress));
  return { findings: [...findings, { no: at, what: isHung ? 'hangs' : `the process ended: ${ended}` }], next: at + 1 };
};

const runAll = async (target: Target, seed: number, inputs: number): Promise<Finding[]> => {
  const findings: Finding[] = [];
  for (let next = 0; next < inputs && findings.length < MAX_FINDINGS_SHOWN; ) {
    const ran = await runChild(target, seed, next, inputs);
    findings.push(...ran.findings);
    next = ran.next;
  }
  return findings;
};

const { values } = parseArgs({
  options: { inputs: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' }, no: { type: 'string' } },
});
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const inputs = Number(values.inputs ?? DEFAULT_INPUTS);
const chosen = TARGETS.filter(({ name }) => values.only === undefined || values.only.split(',').includes(name));
if (chosen.length === 0) throw new Error(`--only takes ${TARGETS.map(({ name }) => name).join(', ')}`);
const weights = chosen.reduce((sum, { weight }) => sum + weight, 0);
process.stdout.write(`seed ${seed}\n`);
let total = 0;
for (const target of chosen) {
  const count = Math.max(1, Math.round((inputs * target.weight) / weights));
  const began = performance.now();
  const no = values.no === undefined ? undefined : Number(values.no);
  const findings =
    no === undefined ? await runAll(target, seed, count) : (await runChild(target, seed, no, no + 1)).findings;
  total += findings.length;
  const tookSec = ((performance.now() - began) / 1000).toFixed(1);
  process.stdout.write(
    `${target.name.padEnd(10)} ${String(no === undefined ? count : 1).padStart(8)} inputs ${tookSec.padStart(7)} s  ${findings.length} findings\n`,
  );
  for (const { no: at, what } of findings.slice(0, MAX_FINDINGS_SHOWN)) {
    process.stdout.write(
      `  --only ${target.name} --seed ${seed} --no ${at}\n    ${what.slice(0, 1500).replaceAll('\n', '\n    ')}\n`,
    );
  }
}
rmSync(folder, { recursive: true });
process.exitCode = total === 0 ? 0 : 1;
