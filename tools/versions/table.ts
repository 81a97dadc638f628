/** The table of versions, as Markdown. */
import type { Outcome } from './outcome.ts';

export type Row = Outcome & {
  readonly node: string;
  readonly sqlite: string;
  readonly postgres: string;
  readonly what: string;
  readonly isGreen: boolean;
  readonly tookSec: number;
};

const HEAD = [
  '| Node | its SQLite | PostgreSQL | what ran | tests | passed | failed | skipped | s |',
  '|---|---|---|---|---|---|---|---|---|',
];
const PLACE = /<!-- recorded: begin -->[\s\S]*<!-- recorded: end -->/;

export const renderTable = (rows: readonly Row[]): string =>
  [
    ...HEAD,
    ...rows.map(
      ({ node, sqlite, postgres, what, tests, passed, failed, skipped, tookSec }) =>
        `| ${[node, sqlite, postgres, what, tests, passed, failed, skipped, Math.round(tookSec)].join(' | ')} |`,
    ),
  ].join('\n');

/** The document with this table in its place. Throws when the document has none. */
export const placeTable = (document: string, table: string): string => {
  if (!PLACE.test(document)) throw new Error('the document has no place for the table');
  return document.replace(PLACE, () => `<!-- recorded: begin -->\n\n${table}\n\n<!-- recorded: end -->`);
};
