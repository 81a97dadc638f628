/** What processes spend and hold, as Linux tells of them under /proc. */
import { readFileSync } from 'node:fs';
import { treeOf } from '../../soak/process-tree.ts';

/** Linux counts processor time in these (sysconf(_SC_CLK_TCK), 100 on every system Node runs on). */
const TICK_MS = 10;

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Gone meanwhile.
    return '';
  }
};

const cpuMsOf = (pid: number): number => {
  const stat = read(`/proc/${pid}/stat`);
  // Counted behind the name, which may hold anything: user and system time are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' ? 0 : (Number(fields[11]) + Number(fields[12])) * TICK_MS;
};

/** Processor time that the process and those it started have spent, ms. Those that have ended do not count. */
export const treeCpuMs = (root: number): number => treeOf(root).reduce((sum, pid) => sum + cpuMsOf(pid), 0);

const commandOf = (pid: number): string[] => read(`/proc/${pid}/cmdline`).split('\0');

export type Spent = { readonly engine: number; readonly media: number; readonly rest: number };

const roleOf = (pid: number): keyof Spent => {
  const words = commandOf(pid);
  return words.includes('engine') ? 'engine' : words.includes('media') ? 'media' : 'rest';
};

/** The same by what a process of the service is for. */
export const cpuByRole = (root: number): Spent => {
  const spent = { engine: 0, media: 0, rest: 0 };
  for (const pid of treeOf(root)) spent[roleOf(pid)] += cpuMsOf(pid);
  return spent;
};

const MIB = 2 ** 20;

const statusMib = (pid: number, name: string): number =>
  (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024) / MIB;

/** Most memory the process ever held at once, MiB. */
export const peakMib = (pid: number): number => statusMib(pid, 'VmHWM');

/** Processes of the tree with this word on their command line. */
export const pidsOf = (root: number, role: string): number[] =>
  treeOf(root).filter((pid) => commandOf(pid).includes(role));
