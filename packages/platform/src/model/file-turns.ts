/**
 * Requests that change files of one item take turns: a new file goes to its place, the row names it, the old file goes.
 * A file's name is the checksum of its content, so that the old file of one request may be the new one of the next.
 */
import type { Readable } from 'node:stream';
import { createTurns } from '../domains/turns.ts';
import type { FilePlace, Files } from './files.ts';

export type FileTurns = {
  /** Runs the task when no other one changes files of this item. */
  take<T>(item: Pick<FilePlace, 'domain' | 'classId' | 'id'>, task: () => Promise<T>): Promise<T>;
  /** Removes a file that the row has ceased to name, within a turn. */
  removeOld(files: Files, place: FilePlace, md5: string): Promise<void>;
};

/** `isShared`: other servers work on the same files. They take no turns with us, so that old files wait for the sweep. */
export const createFileTurns = (isShared: boolean): FileTurns => {
  const turns = createTurns();
  return {
    take: ({ domain, classId, id }, task) => turns.take(`${domain}/${classId}/${id}`, task),
    removeOld: async (files, place, md5) => {
      if (!isShared) await files.remove(place, md5);
    },
  };
};

/** How often a reader finds that the file was replaced before it could be opened. */
const MAX_LOOKS = 10;

/** Opens the file that the row names. Reading takes no turn: a file that is gone was replaced, and the row tells by what. */
export const openNamed = async <T extends { readonly md5: string }>(
  files: Pick<Files, 'get'>,
  place: FilePlace,
  readRow: () => Promise<T | undefined>,
): Promise<{ readonly info: T; readonly stream: Readable } | undefined> => {
  let missing: string | undefined;
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const info = await readRow();
    if (!info || info.md5 === missing) return undefined;
    const stream = await files.get(place, info.md5);
    if (stream) return { info, stream };
    missing = info.md5;
  }
  return undefined;
};
