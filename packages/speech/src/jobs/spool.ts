/** Uploads of jobs on disk: adopted from the request that brought them, removed when their job is terminal. */
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Upload } from '../core/types.ts';

export type Spool = {
  /** Moves an upload under the job's own name; from then on the job owns it. */
  adopt(upload: Upload, jobId: string): Promise<string>;
  pathOf(name: string): string;
  has(name: string): Promise<boolean>;
  /** Idempotent. */
  remove(name: string): Promise<void>;
  /** Removes every file that `keep` does not name; resolves with how many. */
  sweep(keep: ReadonlySet<string>): Promise<number>;
};

const FOLDER_MODE = 0o700;

/** Opens the folder that holds jobs' uploads; it must lie on the file system of the folder that uploads arrive in. */
export const openSpool = async (dir: string): Promise<Spool> => {
  await mkdir(dir, { recursive: true, mode: FOLDER_MODE });
  await chmod(dir, FOLDER_MODE);
  const pathOf = (name: string): string => join(dir, name);
  return {
    adopt: async (upload, jobId) => {
      await rename(upload.path, pathOf(jobId));
      return jobId;
    },
    pathOf,
    has: (name) =>
      stat(pathOf(name)).then(
        () => true,
        () => false,
      ),
    remove: (name) => rm(pathOf(name), { force: true }),
    sweep: async (keep) => {
      const orphans = (await readdir(dir)).filter((name) => !keep.has(name));
      await Promise.all(orphans.map((name) => rm(pathOf(name), { force: true, recursive: true })));
      return orphans.length;
    },
  };
};
