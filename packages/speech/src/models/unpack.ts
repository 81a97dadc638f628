/**
 * Unpacks a fetched archive into an empty folder. Main side: the work is done in a worker thread (unpack-worker.ts),
 * because bzip2 in JavaScript takes seconds of processor time and a crafted archive must not eat this process.
 */
import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { DownloadFault } from './fault.ts';

export const ARCHIVE_KINDS = ['tar.bz2', 'tar.gz', 'tar', 'zip', 'none'] as const;
export type ArchiveKind = (typeof ARCHIVE_KINDS)[number];

export type UnpackJob = {
  readonly archive: string;
  readonly into: string;
  readonly kind: Exclude<ArchiveKind, 'none'>;
  readonly maxBytes: number;
  readonly maxEntries: number;
};
export type UnpackReport =
  | { readonly type: 'progress'; readonly bytes: number }
  | { readonly type: 'done'; readonly bytes: number }
  | { readonly type: 'fault'; readonly code: 'hostile_archive' | 'bad_archive'; readonly message: string }
  | { readonly type: 'failed'; readonly code: string | undefined; readonly message: string };

/** Model weights hardly compress (2:1 at most), so this much is never a model. */
const MAX_RATIO = 20;
const SMALL_ARCHIVE_SLACK_BYTES = 64 * 2 ** 20;
const MAX_UNPACKED_BYTES = 16 * 2 ** 30;
const MAX_ENTRIES = 10_000;
/** One bzip2 block of a bomb can swell to tens of megabytes inside the decoder. */
const MAX_WORKER_HEAP_MIB = 768;

const faultOf = (report: Extract<UnpackReport, { type: 'fault' | 'failed' }>): DownloadFault => {
  if (report.type === 'fault') return new DownloadFault(report.code, report.message);
  return new DownloadFault(
    report.code === undefined ? 'bad_archive' : 'storage_unavailable',
    report.code === undefined ? `The archive is damaged: ${report.message}` : `Unpacking failed (${report.code}).`,
  );
};

/**
 * Unpacks `archive` into the existing empty folder `into`. Refuses members that are no plain files or folders or would
 * lie outside, too many members, and too many bytes. What was written so far stays: the caller removes the folder.
 * Throws DownloadFault (hostile_archive, bad_archive, storage_unavailable) or the signal's reason.
 */
export const unpackArchive = async (
  archive: string,
  into: string,
  kind: Exclude<ArchiveKind, 'none'>,
  options: { readonly signal: AbortSignal; readonly onProgress?: (bytes: number) => void },
): Promise<void> => {
  const { signal } = options;
  signal.throwIfAborted();
  const { size } = await stat(archive);
  const maxBytes = Math.min(MAX_UNPACKED_BYTES, SMALL_ARCHIVE_SLACK_BYTES + size * MAX_RATIO);
  const workerData: UnpackJob = { archive, into, kind, maxBytes, maxEntries: MAX_ENTRIES };
  const worker = new Worker(new URL('./unpack-worker.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: MAX_WORKER_HEAP_MIB },
  });
  const stop = (): void => void worker.terminate();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (report: UnpackReport) => {
        if (report.type === 'progress') options.onProgress?.(report.bytes);
        else if (report.type === 'done') resolve();
        else reject(faultOf(report));
      });
      worker.once('error', (cause) => {
        reject(new DownloadFault('hostile_archive', 'The archive is too large for the decoder.', { cause }));
      });
      worker.once('exit', () =>
        reject(signal.aborted ? signal.reason : new Error('The unpacking thread ended early.')),
      );
    });
  } finally {
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
};
