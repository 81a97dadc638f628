/** Files that hold uploads on their way: made 0600 in a folder of mode 0700, counted against a budget, removed once. */
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createPrefixedId } from '../ids.ts';
import { Problem } from '../problem.ts';

/** A file in the spool. `remove` is idempotent and gives its bytes back to the budget. */
export type SpoolFile = {
  readonly path: string;
  readonly sizeBytes: number;
  remove(): Promise<void>;
};

/** Counts bytes that are in the spool or on their way there. `take` throws the refusal when there is no room. */
export type SpoolBudget = {
  take(sizeBytes: number): void;
  give(sizeBytes: number): void;
  readonly usedBytes: number;
};

/** A budget shared by all uploads of a service. */
export const createSpoolBudget = (maxBytes: number, refusal: () => Problem): SpoolBudget => {
  let usedBytes = 0;
  return {
    take: (sizeBytes) => {
      if (usedBytes + sizeBytes > maxBytes) throw refusal();
      usedBytes += sizeBytes;
    },
    give: (sizeBytes) => {
      usedBytes -= sizeBytes;
    },
    get usedBytes() {
      return usedBytes;
    },
  };
};

export type SpoolOptions = {
  readonly spoolDir: string;
  readonly maxBytes: number;
  readonly budget?: SpoolBudget | undefined;
  /** The field at fault when the file is too large. */
  readonly param?: string | undefined;
};

/** Seconds after which a full disk may have room again. */
const STORAGE_RETRY_SEC = 30;

/**
 * Writes a stream to a new file. Throws `file_too_large`, the budget's refusal, `storage_unavailable`, or what the
 * stream was destroyed with; then nothing is left of the file.
 */
export const spoolStream = async (source: Readable, options: SpoolOptions): Promise<SpoolFile> => {
  const { budget, maxBytes } = options;
  const path = join(options.spoolDir, createPrefixedId('up'));
  let sizeBytes = 0;
  // It may be destroyed before it is read; what happened is thrown where it is read.
  source.on('error', () => undefined);
  const handle = await inStorage(open(path, 'wx', 0o600));
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (sizeBytes + chunk.length > maxBytes) throw tooLarge(maxBytes, options.param);
      budget?.take(chunk.length);
      sizeBytes += chunk.length;
      await inStorage(handle.writeFile(chunk));
    }
    await inStorage(handle.close());
  } catch (thrown) {
    budget?.give(sizeBytes);
    await handle.close().catch(() => undefined);
    await rm(path, { force: true });
    throw thrown;
  }
  return toSpoolFile(path, sizeBytes, budget);
};

const toSpoolFile = (path: string, sizeBytes: number, budget: SpoolBudget | undefined): SpoolFile => {
  let removed: Promise<void> | undefined;
  return {
    path,
    sizeBytes,
    remove: () => {
      removed ??= rm(path, { force: true }).finally(() => budget?.give(sizeBytes));
      return removed;
    },
  };
};

/** What the file system refuses is no fault of the caller. */
const inStorage = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (cause) {
    throw new Problem({
      code: 'storage_unavailable',
      status: 503,
      message: 'The upload cannot be stored now.',
      retryAfterSec: STORAGE_RETRY_SEC,
      cause,
    });
  }
};

/** The file is above the limit. */
export const tooLarge = (maxBytes: number, param?: string): Problem =>
  new Problem({ code: 'file_too_large', status: 413, message: `The file is larger than ${maxBytes} bytes.`, param });
