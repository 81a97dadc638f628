/**
 * `npm test`: first the tests that stand beside their subject, all in one process; then those that start services or
 * children, one process a file. Words after `--` narrow the files by part of their path.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

/** Files that start real services at once: more would measure the machine instead of the product. */
const FILES_AT_ONCE = 2;
const TEST_TIMEOUT_MS = 300_000;

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const select = (...patterns: string[]): string[] =>
  globSync(patterns)
    .filter(
      (file) => !file.includes('node_modules') && (wanted.length === 0 || wanted.some((word) => file.includes(word))),
    )
    .sort();

const run = (files: readonly string[], options: readonly string[]): number => {
  if (files.length === 0) return 0;
  const args = ['--test', `--test-timeout=${TEST_TIMEOUT_MS}`, ...options, ...files];
  return spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
};

const beside = run(select('packages/*/src/**/*.test.ts', 'test/layers.test.ts'), ['--test-isolation=none']);
const apart = run(
  select('packages/*/test/**/*.test.ts', 'test/**/*.test.ts').filter((file) => file !== 'test/layers.test.ts'),
  [`--test-concurrency=${FILES_AT_ONCE}`],
);
process.exitCode = beside || apart;
