/**
 * The spool as a folder: of this machine alone, or one that several machines see. A file says which it is, since the
 * same folder may be mounted under another path elsewhere.
 */
import { randomUUID } from 'node:crypto';
import { chmod, copyFile, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeNamedFolder } from '@parley/kit/folder.ts';
import { atPlace, type Spool } from './spool.ts';

const FOLDER_MODE = 0o700;
/** Of a shared folder, in it. */
const PLACE_FILE = '.place';
/** How long another process may take between making the file and writing it. */
const PLACE_ATTEMPTS = 50;
const PLACE_PAUSE_MS = 20;

/**
 * Opens the folder, making it where it is missing; `placeFile` names it for a folder that is not shared. Rejects when it
 * cannot be used.
 */
export const openFolderSpool = async (dir: string, placeFile?: string): Promise<Spool> => {
  const isShared = placeFile === undefined;
  await makeNamedFolder('spool.url', dir);
  if (!isShared) await chmod(dir, FOLDER_MODE);
  const pathOf = (jobId: string): string => join(dir, jobId);
  return {
    place: await readPlace(placeFile ?? join(dir, PLACE_FILE)),
    isShared,
    adopt: (upload, jobId) => atPlace(() => move(upload.path, pathOf(jobId))),
    open: (jobId) =>
      atPlace(async () => {
        const path = pathOf(jobId);
        const found = await stat(path).catch(ignoreMissing);
        return found && { path, [Symbol.asyncDispose]: async () => undefined };
      }),
    remove: (jobId) => atPlace(() => rm(pathOf(jobId), { force: true, recursive: true })),
    list: () =>
      atPlace(async () => {
        const names = (await readdir(dir)).filter((name) => name !== PLACE_FILE);
        const files = await Promise.all(
          names.map(async (jobId) => {
            const found = await stat(pathOf(jobId)).catch(ignoreMissing);
            return found ? [{ jobId, modifiedMs: found.mtimeMs }] : [];
          }),
        );
        return files.flat();
      }),
  };
};

const ignoreMissing = (thrown: unknown): undefined => {
  if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
};

/** Under its name only when it is whole: a folder of several machines is seldom on the disk uploads arrive on. */
const move = async (from: string, to: string): Promise<void> => {
  try {
    await rename(from, to);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EXDEV') throw thrown;
    const draft = `${to}.part`;
    try {
      await copyFile(from, draft);
      const file = await open(draft, 'r+');
      await file.sync().finally(() => file.close());
      await rename(draft, to);
    } catch (fault) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw fault;
    }
  }
};

/** The folder's own name; several processes may open it for the first time at once. */
const readPlace = async (path: string): Promise<string> => {
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  try {
    const file = await open(path, 'wx', 0o600);
    const place = `folder ${randomUUID()}`;
    await file.writeFile(place).finally(() => file.close());
    return place;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
  for (let attempt = 0; attempt < PLACE_ATTEMPTS; attempt += 1) {
    const place = await readFile(path, 'utf8');
    if (place !== '') return place;
    await sleep(PLACE_PAUSE_MS);
  }
  throw new Error(`${path} is empty; remove it when no other process uses this folder.`);
};
