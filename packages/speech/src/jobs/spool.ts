/** Uploads of jobs: adopted from the request that brought them, removed when their job is terminal. */
import type { Problem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import type { Upload } from '../core/types.ts';

/** A job's upload as a file of this machine; disposing removes what was made only for reading. */
export type SpooledFile = AsyncDisposable & { readonly path: string };

/** What lies in the spool: its job's id, and when it came. */
type Spooled = { readonly jobId: string; readonly modifiedMs: number };

/** Members reject with Problem storage_unavailable when the place cannot be reached. */
export type Spool = {
  /** The same for all processes that see the same uploads, and for no others. */
  readonly place: string;
  /** Whether other processes may use it too. */
  readonly isShared: boolean;
  /** Takes an upload over under the job's id; from then on the job owns it. Nothing is left of it on a fault. */
  adopt(upload: Upload, jobId: string): Promise<void>;
  /** Undefined when it is not there. */
  open(jobId: string, signal: AbortSignal): Promise<SpooledFile | undefined>;
  /** Idempotent. */
  remove(jobId: string): Promise<void>;
  list(): Promise<Spooled[]>;
};

const RETRY_AFTER_SEC = 10;

/** The place of uploads does not answer; trying again later makes sense. */
const spoolUnavailable = (cause: unknown): Problem =>
  problem('storage_unavailable', 'Uploads cannot be stored now.', { retryAfterSec: RETRY_AFTER_SEC, cause });

/** Runs what the place may refuse. */
export const atPlace = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (thrown) {
    throw spoolUnavailable(thrown);
  }
};
