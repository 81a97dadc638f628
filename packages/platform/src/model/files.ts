/**
 * Attached files on disk. A file is written beside its place and moved there when it is whole and synced; the item's
 * row is changed after that, so that no row ever names a file that is not there.
 */
import { createHash } from 'node:crypto';
import { lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { makeFolders } from '@parley/kit/folder.ts';
import { createToken } from '@parley/kit/ids.ts';
import { problem } from '../codes.ts';

export type FileInfo = { readonly name: string; readonly size: number; readonly md5: string; readonly type: string };

/** Where the file of a property of an item lies; every part is made of safe characters. */
export type FilePlace = {
  readonly domain: string;
  readonly classId: string;
  readonly id: string;
  readonly property: string;
};

/** A file that came whole and is not in its place yet; to dispose of it removes what was not placed. */
export type StagedFile = AsyncDisposable & {
  readonly size: number;
  readonly md5: string;
  place(): Promise<void>;
};

export type Files = {
  /** Takes all of the stream, to be placed later; a stream that fails leaves nothing. */
  stage(place: FilePlace, stream: Readable, type: string): Promise<StagedFile>;
  /** Undefined when the file is not there. */
  get(place: FilePlace, md5: string): Promise<Readable | undefined>;
  /** Removes one version of a file, or all of a property, an item or a class. */
  remove(place: Pick<FilePlace, 'domain' | 'classId'> & Partial<FilePlace>, md5?: string): Promise<void>;
  /** Removes the files of a class that were written before (unix milliseconds) and are orphans; answers how many. */
  sweep(
    scope: Pick<FilePlace, 'domain' | 'classId'>,
    before: number,
    isOrphan: (place: FilePlace, md5: string) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<number>;
};

/**
 * A file is stored and then named by a row. This is far longer than any request takes from the one to the other, and
 * than clocks of servers that share a folder or a bucket may differ.
 */
export const MIN_ORPHAN_AGE_MS = 24 * 3_600_000;

export const openFiles = (folder: string): Files => {
  const pathOf = ({ domain, classId, id, property }: Parameters<Files['remove']>[0], md5?: string): string =>
    join(folder, ...[domain, classId, id, property, md5].filter((part): part is string => part !== undefined));
  return {
    stage: async (place, stream) => {
      const home = pathOf(place);
      await onDisk(makeFolders(home));
      const temporary = join(home, `.${createToken(9)}`);
      const facts = await writeStaged(temporary, stream);
      return { ...facts, place: () => onDisk(rename(temporary, join(home, facts.md5))) };
    },
    get: async (place, md5) => {
      // Open from here on, so that one that is replaced meanwhile is still read to its end.
      const file = await unlessGone(open(pathOf(place, md5)));
      return file?.createReadStream();
    },
    remove: (place, md5) => rm(pathOf(place, md5), { recursive: true, force: true }),
    sweep: async (scope, before, isOrphan, signal) => {
      let count = 0;
      for await (const place of placesIn(pathOf(scope), scope)) {
        for (const name of await namesIn(pathOf(place))) {
          if (signal.aborted) return count;
          if (await sweepFile(pathOf(place), name, before, () => isOrphan(place, name))) count += 1;
        }
      }
      return count;
    },
  };
};

const placesIn = async function* (root: string, scope: Pick<FilePlace, 'domain' | 'classId'>) {
  for (const id of await namesIn(root)) {
    for (const property of await namesIn(join(root, id))) yield { ...scope, id, property };
  }
};

/** What lies in a folder; nothing where there is none. */
export const namesIn = async (folder: string): Promise<string[]> => (await unlessGone(readdir(folder))) ?? [];

const unlessGone = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR'].includes(String((thrown as NodeJS.ErrnoException).code))) return undefined;
    throw thrown;
  }
};

/** True when it is a file that was written before (unix milliseconds). */
export const isOld = async (path: string, before: number): Promise<boolean> => {
  const facts = await lstat(path).catch(() => undefined);
  return facts?.isFile() === true && facts.mtimeMs < before;
};

/** What is not whole yet is hidden, and no row names it. */
const sweepFile = async (
  home: string,
  name: string,
  before: number,
  isOrphan: () => Promise<boolean>,
): Promise<boolean> => {
  const path = join(home, name);
  if (!(await isOld(path, before))) return false;
  if (!name.startsWith('.') && !(await isOrphan())) return false;
  // Taken aside first: another request, here or on another server, may put a new file with the same content in its place.
  const aside = join(home, `.${createToken(9)}`);
  await rename(path, aside);
  if (await isOld(aside, before)) {
    await rm(aside, { force: true });
    return true;
  }
  await rename(aside, path);
  return false;
};

/** Seconds after which a full disk may have room again. */
const RETRY_SEC = 30;

/** What the disk refuses is no fault of the caller: 503. */
const onDisk = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (cause) {
    throw problem('unavailable', { message: 'The file cannot be stored now', retryAfterSec: RETRY_SEC, cause });
  }
};

/** What the stream held, in a new file, which goes when it is disposed of. Throws `unavailable` when the disk refuses. */
export const writeStaged = async (path: string, stream: Readable): Promise<Omit<StagedFile, 'place'>> => {
  const remove = (): Promise<void> => rm(path, { force: true });
  try {
    return { ...(await writeSynced(path, stream)), [Symbol.asyncDispose]: remove };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
};

/** Writes a new file and waits for the disk. */
const writeSynced = async (path: string, stream: Readable): Promise<{ size: number; md5: string }> => {
  const hash = createHash('md5');
  let size = 0;
  await using file = await onDisk(open(path, 'wx', 0o600));
  for await (const piece of stream as AsyncIterable<Buffer>) {
    hash.update(piece);
    size += piece.length;
    // Until all of it is written: a disk with little room takes a part, and says so only at the next write.
    await onDisk(file.writeFile(piece));
  }
  await onDisk(file.sync());
  return { size, md5: hash.digest('hex') };
};
