/** A lock file that says which process holds it, so that two processes do not write the same download. */
import { open, readFile, rm, stat } from 'node:fs/promises';
import { systemClock } from '@parley/kit/clock.ts';
import { DownloadFault } from './fault.ts';

/** Process ids come round again, after a restart of a container at once: an old lock is nobody's. */
const STALE_MS = 6 * 60 * 60_000;
const LOOK_AGAIN_MS = 200;

/** Whether a process of that id runs on this machine. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** This process and no later one with the same id. */
const own = (): string => `${process.pid} ${Math.round(performance.timeOrigin)}`;

const write = async (path: string): Promise<boolean> => {
  try {
    await using file = await open(path, 'wx');
    await file.write(own());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

const isStale = async (path: string): Promise<boolean> => {
  const text = await readFile(path, 'utf8').catch(() => '');
  const holder = Number(text.split(' ')[0]);
  const writtenMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
  // Between its creation and the first byte a lock is empty.
  if (text === '') return Date.now() - writtenMs > LOOK_AGAIN_MS * 10;
  if (holder === process.pid) return text !== own();
  return !isAlive(holder) || Date.now() - writtenMs > STALE_MS;
};

const tryLock = async (path: string): Promise<AsyncDisposable | undefined> => {
  if (!(await write(path))) {
    if (!(await isStale(path))) return undefined;
    await rm(path, { force: true });
    if (!(await write(path))) return undefined;
  }
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
};

/** Whether a living process holds the lock. */
export const isLocked = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined)) !== undefined && !(await isStale(path));

/** Takes the lock, also from a process that is gone. Throws DownloadFault `model_busy` when another holds it. */
export const takeLock = async (path: string): Promise<AsyncDisposable> => {
  const lock = await tryLock(path);
  if (!lock) throw new DownloadFault('model_busy', 'Another process is downloading this model.');
  return lock;
};

/** Waits until the lock is free and takes it. Rejects with the signal's reason. */
export const waitForLock = async (path: string, signal: AbortSignal): Promise<AsyncDisposable> => {
  for (;;) {
    signal.throwIfAborted();
    const lock = await tryLock(path);
    if (lock) return lock;
    await systemClock.delay(LOOK_AGAIN_MS, signal);
  }
};
