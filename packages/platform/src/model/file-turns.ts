/**
 * Requests that change files of one item take turns: a new file goes to its place, the row names it, the old file goes.
 * A file's name is the checksum of its content, so that the old file of one request may be the new one of the next.
 */
import type { FilePlace, Files } from './files.ts';

export type FileTurns = {
  /** Runs the task when no other one changes files of this item. */
  take<T>(item: Pick<FilePlace, 'domain' | 'classId' | 'id'>, task: () => Promise<T>): Promise<T>;
  /** Removes a file that the row has ceased to name, within a turn. */
  removeOld(files: Files, place: FilePlace, md5: string): Promise<void>;
};

/** `isShared`: other servers work on the same files. They take no turns with us, so that old files wait for the sweep. */
export const createFileTurns = (isShared: boolean): FileTurns => {
  const tails = new Map<string, Promise<void>>();
  return {
    take: async ({ domain, classId, id }, task) => {
      const key = `${domain}/${classId}/${id}`;
      const before = tails.get(key);
      const { promise: tail, resolve: end } = Promise.withResolvers<void>();
      tails.set(key, tail);
      try {
        await before;
        return await task();
      } finally {
        end();
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
    removeOld: async (files, place, md5) => {
      if (!isShared) await files.remove(place, md5);
    },
  };
};
