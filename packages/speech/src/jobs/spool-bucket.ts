/**
 * The spool as a bucket of an S3 service: objects under a prefix, named for their jobs. A job is read from a local copy,
 * because decoders go back and forth in a file.
 */
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { S3Bucket } from '@parley/kit/s3.ts';
import { atPlace, type Spool } from './spool.ts';

export type BucketSpoolParts = {
  readonly bucket: S3Bucket;
  /** Ends with a slash, or is empty. */
  readonly prefix: string;
  readonly place: string;
  /** Folder of local copies; what is in it at a start was left by a process that died. */
  readonly copiesDir: string;
};

const FOLDER_MODE = 0o700;

/** Opens the spool; whether the service answers is found out by use. */
export const openBucketSpool = async ({ bucket, prefix, place, copiesDir }: BucketSpoolParts): Promise<Spool> => {
  await rm(copiesDir, { recursive: true, force: true });
  await mkdir(copiesDir, { recursive: true, mode: FOLDER_MODE });
  const keyOf = (jobId: string): string => `${prefix}${jobId}`;
  return {
    place,
    isShared: true,
    adopt: (upload, jobId) => atPlace(() => bucket.putFile(keyOf(jobId), upload.path)),
    open: async (jobId, signal) => {
      const source = await atPlace(() => bucket.get(keyOf(jobId)));
      return source && copyTo(join(copiesDir, `${jobId}.${randomUUID()}`), source, signal);
    },
    remove: (jobId) => atPlace(() => bucket.remove([keyOf(jobId)])),
    list: () =>
      atPlace(async () =>
        (await bucket.list(prefix)).map(({ key, modifiedMs }) => ({ jobId: key.slice(prefix.length), modifiedMs })),
      ),
  };
};

const copyTo = async (path: string, source: Readable, signal: AbortSignal) => {
  const remove = (): Promise<void> => rm(path, { force: true });
  try {
    await atPlace(() => pipeline(source, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal }));
  } catch (thrown) {
    await remove();
    signal.throwIfAborted();
    throw thrown;
  }
  return { path, [Symbol.asyncDispose]: remove };
};
