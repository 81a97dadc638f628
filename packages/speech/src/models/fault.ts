/** Why a model could not be fetched or installed. The code is the wire's (`event: failed`, docs/speech-api.md). */

export type DownloadCode =
  | 'download_refused'
  | 'model_busy'
  | 'unreachable'
  | 'not_found'
  | 'size_mismatch'
  | 'digest_mismatch'
  | 'hostile_archive'
  | 'bad_archive'
  | 'model_unusable'
  | 'unsupported_system'
  | 'storage_unavailable'
  | 'canceled';

/** The message is meant for an operator and names no inner path. */
export class DownloadFault extends Error {
  override name = 'DownloadFault';
  readonly code: DownloadCode;
  /** Whether the same request may go well a moment later. */
  readonly transient: boolean;

  constructor(code: DownloadCode, message: string, more: { cause?: unknown; transient?: boolean } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.transient = more.transient ?? false;
  }
}

const STORAGE_CODES = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'EIO']);

/** A failed write as a fault about the disk, anything else as it is. */
export const asStorageFault = (error: unknown): unknown => {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return code !== undefined && STORAGE_CODES.has(code)
    ? new DownloadFault('storage_unavailable', `The model folder cannot be written (${code}).`, { cause: error })
    : error;
};
