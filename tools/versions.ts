/**
 * `npm run versions -- [--node 24,26] [--postgres 15,16,17,18] [--every] [--whole] [--write] [WORD…]`: runs the tests on other
 * versions of Node and PostgreSQL, which npm fetches into a folder that is removed in the end. Each Node runs the suite
 * on the last PostgreSQL; each other PostgreSQL runs, on the first Node, the files that start a PostgreSQL (`--whole`: all
 * files; `--every`: on each Node). Words narrow the files as those of `npm test` do. SQLite is in every run, as Node brings it.
 * `--write` puts the table into docs/versions.md.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Fetched, fetchNode, fetchPostgres } from './versions/fetch.ts';
import { readOutcome } from './versions/outcome.ts';
import { placeTable, type Row, renderTable } from './versions/table.ts';

const DOCUMENT = new URL('../docs/versions.md', import.meta.url);
const TEST_FILES = ['packages/*/test/**/*.test.ts', 'packages/*/src/**/*.test.ts', 'test/**/*.test.ts'];
/** Files that start a PostgreSQL of their own say so by what they import, or by what that imports. */
const USES_POSTGRES = /testing\/(?:each-store|postgres-server)\.ts/;
const INTERRUPTED = 130;

type Pair = {
  readonly node: Fetched;
  readonly postgres: Fetched;
  readonly words: readonly string[];
  readonly what: string;
};

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const filesOnPostgres = (words: readonly string[]): string[] =>
  globSync(TEST_FILES)
    .filter((file) => !file.includes('node_modules') && USES_POSTGRES.test(readFileSync(file, 'utf8')))
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .sort();

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    node: { type: 'string', default: '24,26' },
    postgres: { type: 'string', default: '15,16,17,18' },
    every: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

const pairsOf = (nodes: readonly Fetched[], servers: readonly Fetched[]): Pair[] => {
  const last = servers.at(-1)!;
  const named = words.length === 0 ? 'the whole suite' : `files of \`${words.join(' ')}\``;
  const whole = nodes.map((node): Pair => ({ node, postgres: last, words, what: named }));
  const onPostgres = filesOnPostgres(words);
  const others = servers
    .slice(0, -1)
    .flatMap((postgres) =>
      (values.every ? nodes : nodes.slice(0, 1)).map(
        (node): Pair =>
          values.whole
            ? { node, postgres, words, what: named }
            : { node, postgres, words: onPostgres, what: `the ${onPostgres.length} files on PostgreSQL, ${named}` },
      ),
    );
  return [...whole, ...others];
};

const runPair = async (
  { node, postgres, words: chosen, what }: Pair,
  log: string,
  signal: AbortSignal,
): Promise<Row> => {
  const began = performance.now();
  const program = join(node.folder, 'bin', 'node');
  const child = spawn(program, ['tools/run-tests.ts', ...chosen], {
    env: {
      ...process.env,
      PATH: `${dirname(program)}${delimiter}${process.env.PATH}`,
      PARLEY_TEST_POSTGRES: join(postgres.folder, 'native'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  writeFileSync(log, said);
  const outcome = readOutcome(said);
  return {
    node: node.version,
    sqlite: node.about,
    postgres: postgres.version,
    what,
    ...outcome,
    isGreen: code === 0 && outcome.failed === 0,
    tookSec: (performance.now() - began) / 1000,
  };
};

const aborter = new AbortController();
process.once('SIGINT', () => aborter.abort());
process.once('SIGTERM', () => aborter.abort());
const folder = mkdtempSync(join(tmpdir(), 'parley-versions-'));
try {
  const nodes: Fetched[] = [];
  const servers: Fetched[] = [];
  for (const wanted of values.node.split(',')) nodes.push(await fetchNode(wanted, folder));
  for (const wanted of values.postgres.split(',')) servers.push(await fetchPostgres(wanted, folder));
  const rows: Row[] = [];
  for (const pair of pairsOf(nodes, servers)) {
    const log = join(tmpdir(), `parley-versions-node-${pair.node.version}-postgres-${pair.postgres.version}.log`);
    const row = await runPair(pair, log, aborter.signal);
    rows.push(row);
    print(`${renderTable([row]).split('\n').at(-1)}${row.isGreen ? '' : `  ${log}`}`);
    for (const name of row.failures) print(`    failed: ${name}`);
  }
  const day = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const table = `${day} UTC, ${cpus().length} cores.\n\n${renderTable(rows)}`;
  print(`\n${table}`);
  if (values.write) writeFileSync(DOCUMENT, placeTable(readFileSync(DOCUMENT, 'utf8'), table));
  process.exitCode = rows.every(({ isGreen }) => isGreen) ? 0 : 1;
} catch (error) {
  if (!aborter.signal.aborted) throw error;
  process.exitCode = INTERRUPTED;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
