/** What a run of fuzzing found, as a table in Markdown. */
import type { Outcome } from './target.ts';

export type Ran = {
  readonly name: string;
  readonly inputs: number;
  readonly outcome: Outcome;
  readonly tookSec: number;
};

const HEAD = [
  '| parser | inputs | taken | refused | slowest, CPU ms (its number) | s | findings |',
  '|---|---|---|---|---|---|---|',
];
const PLACE = /<!-- recorded: begin -->[\s\S]*<!-- recorded: end -->/;

const count = (value: number): string => value.toLocaleString('en');

const renderLine = ({ name, inputs, outcome, tookSec }: Ran): string => {
  const { taken, refused, slowest, findings } = outcome;
  const slow = `${count(Math.round(slowest.cpuMs))} (${slowest.no})`;
  return `| ${[name, count(inputs), count(taken), count(refused), slow, Math.round(tookSec), findings.length].join(' | ')} |`;
};

/** One line for each parser, and their sum. */
export const renderRuns = (runs: readonly Ran[]): string => {
  const sum = (pick: (ran: Ran) => number): number => runs.reduce((total, ran) => total + pick(ran), 0);
  const total = [
    '**all**',
    count(sum(({ inputs }) => inputs)),
    count(sum(({ outcome }) => outcome.taken)),
    count(sum(({ outcome }) => outcome.refused)),
    '',
    Math.round(sum(({ tookSec }) => tookSec)),
    sum(({ outcome }) => outcome.findings.length),
  ];
  return [...HEAD, ...runs.map(renderLine), `| ${total.join(' | ')} |`].join('\n');
};

export const renderRan = (ran: Ran): string => renderLine(ran);

/** The document with this text in its place. Throws when the document has none. */
export const placeRecord = (document: string, text: string): string => {
  if (!PLACE.test(document)) throw new Error('the document has no place for the record');
  return document.replace(PLACE, () => `<!-- recorded: begin -->\n\n${text}\n\n<!-- recorded: end -->`);
};
