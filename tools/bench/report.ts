/** Writes what was measured: a table to read at once, and the part's own section of docs/benchmarks.md. */
import type { BenchRow } from './part.ts';

export type Measured = {
  readonly name: string;
  readonly title: string;
  readonly rows: readonly BenchRow[];
  readonly notes: readonly string[];
  /** When, how busy, how long. */
  readonly moment: string;
  readonly machine: string;
};

const HEAD = ['Figure', 'Measured', 'To reach', 'Held'];
const BEGIN = '<!-- measured: begin -->';
const END = '<!-- measured: end -->';

const openOf = (name: string): string => `<!-- part ${name} -->`;
const closeOf = (name: string): string => `<!-- /part ${name} -->`;

const verdictOf = ({ met }: BenchRow): string => (met === null ? '' : met ? 'yes' : 'no');

const cellsOf = (row: BenchRow): string[] => [row.figure, row.value, row.target, verdictOf(row)];

/** For a terminal: columns as wide as they need to be, notes of a row below it. */
export const renderTable = (rows: readonly BenchRow[]): string => {
  const table = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...table.map((cells) => cells[column]!.length)));
  return table
    .flatMap((cells, index) => {
      const line = cells
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd();
      const note = rows[index - 1]?.note;
      return note === undefined ? [line] : [line, `    ${note}`];
    })
    .join('\n');
};

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** The part's section; what another run measured of it goes. */
export const renderSection = ({ name, title, rows, notes, moment, machine }: Measured): string => {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`;
  const table = rows.map((row) =>
    line(cellsOf(row.note === undefined ? row : { ...row, value: `${row.value} (${row.note})` })),
  );
  return [
    openOf(name),
    `### ${title}`,
    '',
    `\`npm run bench -- ${name}\`, ${moment}. ${machine}`,
    '',
    ...(table.length === 0 ? [] : [line(HEAD), '|---|---|---|---|', ...table, '']),
    ...notes.flatMap((note) => [note, '']),
    closeOf(name),
  ].join('\n');
};

/**
 * The document with the section in place of an older one of the same part, else before that of the next part that has
 * one. `order`: the names of all parts. Throws when the document has no place for measured sections.
 */
export const placeSection = (document: string, name: string, section: string, order: readonly string[]): string => {
  const [from, closing] = [document.indexOf(openOf(name)), document.indexOf(closeOf(name))];
  if (from >= 0 && closing > from) {
    return document.slice(0, from) + section + document.slice(closing + closeOf(name).length);
  }
  const end = document.indexOf(END);
  if (document.indexOf(BEGIN) < 0 || end < 0)
    throw new Error(`docs/benchmarks.md needs the lines ${BEGIN} and ${END}.`);
  const later = order.slice(order.indexOf(name) + 1).map((next) => document.indexOf(openOf(next)));
  const at = later.find((found) => found >= 0) ?? end;
  return `${document.slice(0, at)}${section}\n\n${document.slice(at)}`;
};
