/** A process and everything it started, as Linux tells of them under /proc. */
import { readdirSync, readFileSync } from 'node:fs';

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Gone meanwhile.
    return '';
  }
};

const parentOf = (pid: number): number => Number(/\) \S (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1] ?? 0);

const everybody = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Ids of all processes, whoever's child, whose command line holds these texts. */
export const processesWith = (...texts: readonly string[]): number[] =>
  everybody().filter((pid) => {
    const line = read(`/proc/${pid}/cmdline`);
    return texts.every((text) => line.includes(text));
  });

/** Ids of the process and of all its descendants. */
export const treeOf = (root: number): number[] => {
  const parents = everybody().map((pid): [number, number] => [pid, parentOf(pid)]);
  const found = [root];
  for (const pid of found) found.push(...parents.filter(([, parent]) => parent === pid).map(([child]) => child));
  return found;
};

/** Proportional set size, bytes: shared pages are counted once over all processes that share them. */
export const pssOf = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;

export const treePss = (root: number): number => treeOf(root).reduce((sum, pid) => sum + pssOf(pid), 0);

/** The word of its role that every child shows on its command line. */
export const rolesOf = (root: number): { pid: number; role: string }[] =>
  treeOf(root).map((pid) => {
    const words = read(`/proc/${pid}/cmdline`).split('\0');
    return { pid, role: words.find((word) => ['engine', 'media', 'speech', 'platform'].includes(word)) ?? '' };
  });

/** Looks every so often until stopped; the greatest PSS seen, bytes. */
export const watchPeak = (root: number, everyMs = 200): { stop(): number } => {
  let peak = 0;
  const look = (): void => {
    peak = Math.max(peak, treePss(root));
  };
  look();
  const timer = setInterval(look, everyMs);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return peak;
    },
  };
};
