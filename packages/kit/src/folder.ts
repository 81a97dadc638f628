/**
 * Folders that an operator names. They are made level by level: Node's own way to make a whole path never ends where a
 * folder is there and refuses new ones with "no such file" (everything below /proc).
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ServiceFault } from './service-fault.ts';

/** For the owner alone. */
const PRIVATE = 0o700;

const codeOf = (thrown: unknown): string | undefined => (thrown as NodeJS.ErrnoException).code;

const isFolder = async (path: string): Promise<boolean> => {
  const facts = await stat(path).catch(() => undefined);
  return facts?.isDirectory() ?? false;
};

/** Makes a folder and those above it; one that is there is left as it is. Rejects with the system's error. */
export const makeFolders = async (path: string, mode = PRIVATE): Promise<void> => {
  try {
    await mkdir(path, { mode });
  } catch (thrown) {
    if (await isFolder(path)) return;
    const above = dirname(path);
    if (codeOf(thrown) !== 'ENOENT' || above === path) throw thrown;
    if (!(await isFolder(above))) await makeFolders(above, mode);
    // Another may have been quicker, with this folder or with the one above, which was missing a moment ago.
    await mkdir(path, { mode }).catch(async (fault: unknown) => {
      if (!(await isFolder(path))) throw fault;
    });
  }
};

/** Makes the folder that a setting names. A ServiceFault names the setting where that cannot be done. */
export const makeNamedFolder = async (setting: string, folder: string, mode?: number): Promise<void> => {
  const path = resolve(folder);
  try {
    await makeFolders(path, mode);
  } catch (cause) {
    throw faultOf(setting, path, 'cannot be made', cause);
  }
};

/** A full disk has room again some day, and what is kept can be read until then. */
const NO_ROOM: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

/** The same for a folder that is written to: that it can be is tried. */
export const makeWritableFolder = async (setting: string, folder: string): Promise<void> => {
  await makeNamedFolder(setting, folder);
  const path = resolve(folder);
  const trial = join(path, `.trial-${randomUUID()}`);
  try {
    await writeFile(trial, '', { flag: 'wx', mode: 0o600 });
    await rm(trial);
  } catch (cause) {
    if (!NO_ROOM.has(codeOf(cause))) throw faultOf(setting, path, 'cannot be written to', cause);
  }
};

const faultOf = (setting: string, path: string, what: string, cause: unknown): ServiceFault =>
  new ServiceFault(
    `The folder ${path} ${what}: ${codeOf(cause) ?? 'failed'}. The setting ${setting} chooses another.`,
    {
      cause,
    },
  );
