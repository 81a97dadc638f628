/** The measures of the two pages, which are programs of their own: what they print becomes a table. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { BenchContext, BenchPart, BenchRow } from './part.ts';

const COLUMN = /^(.+?) {2,}(.+)$|^(.{38}) (.+)$/;

const runProgram = async (name: string, { log, signal }: BenchContext): Promise<BenchRow[]> => {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit'], signal, killSignal: 'SIGINT' });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, killed) =>
      code === 0 ? resolve() : reject(new Error(`${name} ended with ${killed ?? code}`)),
    );
  });
  const rows: BenchRow[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    log(line);
    const [, figure, value, long, rest] = COLUMN.exec(line) ?? [];
    if (figure ?? long) rows.push({ figure: (figure ?? long)!, value: (value ?? rest)!, target: '', met: null });
  });
  await ended;
  return rows;
};

const part = (name: string, title: string): BenchPart => ({
  name,
  title,
  run: async (context) => ({ rows: await runProgram(`bench-${name}.ts`, context), notes: [] }),
});

export const STUDIO_BENCH = part('studio', 'Studio: a transcript of 10,000 words');
export const CONSOLE_BENCH = part('console', 'Console: a table of 10,000 users');
