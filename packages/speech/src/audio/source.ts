/** The bytes of a recording on disk, read where asked; nothing keeps more than a block of them. */
import { type FileHandle, open } from 'node:fs/promises';

/** Anything that can be read from a place: a file, or a view that shows a file's parts in another order. */
export type ByteSource = {
  readonly sizeBytes: number;
  /** Up to `length` bytes from `at`; fewer only at the end. The array's buffer starts with them. */
  read(at: number, length: number): Promise<Uint8Array>;
};

export type OpenSource = ByteSource &
  AsyncDisposable & {
    /** Share of the file that was read so far, 0 to 1. */
    readShare(): number;
  };

const readFully = async (file: FileHandle, at: number, length: number): Promise<Uint8Array> => {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled === length ? bytes : bytes.slice(0, filled);
};

/** Opens a file for reading. */
export const openSource = async (path: string): Promise<OpenSource> => {
  const file = await open(path, 'r');
  const { size } = await file.stat();
  let readBytes = 0;
  return {
    sizeBytes: size,
    async read(at, length) {
      const bytes = await readFully(file, at, Math.max(0, Math.min(length, size - at)));
      readBytes += bytes.length;
      return bytes;
    },
    readShare: () => (size === 0 ? 1 : Math.min(1, readBytes / size)),
    [Symbol.asyncDispose]: () => file.close(),
  };
};
