/** What the processes of the command hold at a moment, so that what they keep can be seen. */
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pssOf, rolesOf } from '../process-tree.ts';
import type { Stage } from './stage.ts';

export type Footprint = {
  readonly pssMib: number;
  /** By role; `supervisor` is the root. */
  readonly pssMibByRole: Readonly<Record<string, number>>;
  readonly processes: number;
  readonly threads: number;
  readonly openFiles: number;
  readonly sockets: number;
  /** Uploads in the spool, and whatever lies in the temporary folder. */
  readonly spooled: number;
  readonly temporary: number;
};

const MIB = 2 ** 20;
/** A process that was just started grows until it has met everything once. */
const SETTLING_MS = 120_000;

const list = (path: string): string[] => {
  try {
    return readdirSync(path);
  } catch {
    // Gone meanwhile.
    return [];
  }
};

const linksOf = (pid: number): string[] =>
  list(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      return '';
    }
  });

/** npm keeps compiled code of its own there. */
const CACHE_OF_NPM = 'node-compile-cache';

/** Files below a folder, but for npm's own. */
export const countFiles = (path: string): number => {
  try {
    const entries = readdirSync(path, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile() && !entry.parentPath.includes(CACHE_OF_NPM)).length;
  } catch {
    return 0;
  }
};

const round = (bytes: number): number => Math.round((bytes / MIB) * 10) / 10;

export const measure = (stage: Stage): Footprint => {
  const processes = rolesOf(stage.pid());
  const byRole = Map.groupBy(processes, ({ pid, role }) => (pid === stage.pid() ? 'supervisor' : role || 'other'));
  const pss = [...byRole].map(([role, all]): [string, number] => [
    role,
    all.reduce((sum, { pid }) => sum + pssOf(pid), 0),
  ]);
  const links = processes.flatMap(({ pid }) => linksOf(pid));
  return {
    pssMib: round(pss.reduce((sum, [, bytes]) => sum + bytes, 0)),
    pssMibByRole: Object.fromEntries(pss.map(([role, bytes]) => [role, round(bytes)])),
    processes: processes.length,
    threads: processes.reduce((sum, { pid }) => sum + list(`/proc/${pid}/task`).length, 0),
    openFiles: links.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    spooled: countFiles(join(stage.dataDir, 'spool')),
    temporary: countFiles(stage.tempDir),
  };
};

/** Memory of the two services alone, looked at again and again: the engines come and go. */
export const watchServices = (stage: Stage, everyMs: number) => {
  const looks: { readonly ms: number; readonly pids: string; readonly mib: number }[] = [];
  const look = (): void => {
    const services = rolesOf(stage.pid()).filter(
      ({ pid, role }) => pid !== stage.pid() && ['speech', 'platform'].includes(role),
    );
    const mib = services.reduce((sum, { pid }) => sum + pssOf(pid), 0) / MIB;
    looks.push({ ms: performance.now(), pids: services.map(({ pid }) => pid).join(), mib });
  };
  const timer = setInterval(look, everyMs);
  return {
    /** Median of the first and of the last third, MiB, of the looks at the processes that are there now, once settled. */
    stop: (): { readonly firstMib: number; readonly lastMib: number; readonly minutes: number } | undefined => {
      clearInterval(timer);
      const pids = looks.at(-1)?.pids;
      const lived = looks.filter((each) => each.pids === pids);
      const settledMs =
        (lived[0]?.ms ?? 0) + Math.min(SETTLING_MS, ((lived.at(-1)?.ms ?? 0) - (lived[0]?.ms ?? 0)) / 3);
      const same = lived.filter(({ ms }) => ms >= settledMs);
      if (same.length < 6) return undefined;
      const third = Math.floor(same.length / 3);
      const median = (part: typeof same): number =>
        Math.round((part.map(({ mib }) => mib).sort((a, b) => a - b)[part.length >> 1] ?? 0) * 10) / 10;
      const minutes = Math.round((same.at(-1)!.ms - same[0]!.ms) / 6000) / 10;
      return { firstMib: median(same.slice(0, third)), lastMib: median(same.slice(-third)), minutes };
    },
  };
};
