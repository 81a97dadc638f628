/** A measured service as a process: started, told apart from the load, ended. */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { INSTALLED_CACHE, placeOfCache } from '@parley/kit/compile-cache.ts';
import { processEnvironment } from '@parley/kit/settings.ts';
import { treeOf, treePss } from '../../soak/process-tree.ts';

/** Linux counts a process's time in hundredths of a second (USER_HZ). */
const TICK_MS = 10;
const START_MS = 120_000;

export type Child = AsyncDisposable & {
  readonly url: string;
  readonly pid: number;
  /** From the fork to the first message that says it serves. */
  readonly readyMs: number;
  /** CPU of the process and all it started, since its start. */
  cpuMs(): number;
  /** Proportional memory of the same, MiB. */
  pssMib(): number;
};

const ticksOf = (pid: number): number => {
  try {
    const [, after = ''] = /\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const fields = after.split(' ');
    // utime, stime (proc(5), fields 14 and 15).
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    // Gone meanwhile.
    return 0;
  }
};

/** CPU of a process and all it started that still runs, ms. */
export const cpuOf = (pid: number): number => treeOf(pid).reduce((sum, each) => sum + ticksOf(each), 0) * TICK_MS;

type Start = {
  readonly module: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A program and its options that runs Node in our stead. */
  readonly under?: readonly string[];
  readonly signal: AbortSignal;
};

const readyUrl = (child: ChildProcess, module: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${module} did not serve in time`)), START_MS);
    child.once('error', reject);
    child.once('exit', (code, killed) => reject(new Error(`${module} ended with ${killed ?? code}`)));
    child.on('message', (message: { type?: string; url?: string }) => {
      if (message.type !== 'ready') return;
      clearTimeout(timer);
      resolve(message.url!);
    });
  });

/** Starts a program that says `{ type: 'ready', url }` when it serves and ends when it is told `{ type: 'stop' }`. */
export const startChild = async ({ module, args = [], env = {}, under = [], signal }: Start): Promise<Child> => {
  const [program = process.execPath, ...words] = [...under, process.execPath];
  const startedMs = performance.now();
  const child = fork(module, [...args], {
    execPath: program,
    execArgv: words,
    env: { ...processEnvironment(), NODE_ENV: 'production', ...env },
    serialization: 'advanced',
    // Log lines are made and thrown away: a busy disk would hold up whoever writes them.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const pid = child.pid!;
  try {
    const url = await readyUrl(child, module);
    return {
      url,
      pid,
      readyMs: performance.now() - startedMs,
      cpuMs: () => cpuOf(pid),
      pssMib: () => treePss(pid) / 2 ** 20,
      [Symbol.asyncDispose]: async () => {
        signal.removeEventListener('abort', kill);
        if (child.connected) child.send({ type: 'stop' }, () => undefined);
        else kill();
        await gone;
      },
    };
  } catch (error) {
    kill();
    await gone;
    throw error;
  }
};

/** The variable by which the command hands the compile cache of the installation to what it starts. */
export const cacheEnv = (dataDir: string): Record<string, string> =>
  placeOfCache(dataDir) === INSTALLED_CACHE ? { NODE_COMPILE_CACHE: INSTALLED_CACHE } : {};
