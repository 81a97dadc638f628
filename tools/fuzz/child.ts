/**
 * One target in a process of its own. Before each input its number goes to a file, so that the parent knows what ended
 * the process or never came to an end; what is found goes to the parent.
 */
import { openSync, writeSync } from 'node:fs';
import { createRandom } from './random.ts';
import { emptyOutcome, type Outcome, runTarget } from './target.ts';
import { TARGETS } from './targets.ts';

export type FromChild = { readonly outcome: Outcome; readonly done: boolean };

/** A second for the input, and one for what is made when it is first needed: threads, decoders. */
const MAX_CPU_MS = 2000;

const [name = '', seed = '0', from = '0', to = '0', progress = ''] = process.argv.slice(2);
const target = TARGETS.find((each) => each.name === name)!;
const file = openSync(progress, 'w');
const bytes = Buffer.alloc(8);
let current = 0;

const onInput = (no: number): void => {
  current = no;
  bytes.writeDoubleLE(no);
  writeSync(file, bytes, 0, 8, 0);
};

/** What nobody waited for: a service would have ended with it. */
const onEscaped = (thrown: unknown): void => {
  const what = `escaped: ${thrown instanceof Error ? thrown.stack : String(thrown)}`;
  process.send!({ outcome: { ...emptyOutcome(), findings: [{ no: current, what }] }, done: false } satisfies FromChild);
};
process.on('disconnect', () => process.exit(1));
process.on('uncaughtException', onEscaped);
process.on('unhandledRejection', onEscaped);

const outcome = await runTarget(
  target,
  { seed: Number(seed), from: Number(from), to: Number(to), onInput, maxCpuMs: MAX_CPU_MS },
  createRandom,
);
process.send!({ outcome, done: true } satisfies FromChild, undefined, undefined, () => process.exit(0));
