/** A lock file that says which process holds it, so that two processes do not write the same download. */
import { open, readFile, rm } from 'node:fs/promises';
import { DownloadFault } from './fault.ts';

/** Whether a process of that id runs on this machine. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

const write = async (path: string): Promise<boolean> => {
  try {
    await using file = await open(path, 'wx');
    await file.write(String(process.pid));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

/** Takes the lock, also from a process that is gone. Throws DownloadFault `model_busy` when another process holds it. */
export const takeLock = async (path: string): Promise<AsyncDisposable> => {
  if (!(await write(path))) {
    const holder = Number(await readFile(path, 'utf8').catch(() => ''));
    if (holder !== process.pid && isAlive(holder)) {
      throw new DownloadFault('model_busy', 'Another process is downloading this model.');
    }
    await rm(path, { force: true });
    if (!(await write(path))) throw new DownloadFault('model_busy', 'Another process is downloading this model.');
  }
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
};
