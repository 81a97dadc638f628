/** All a dialect may see of the service behind it. */

import type { JobMessage, JobRecord, JobStatus } from './job-record.ts';
import type { Realtime } from './realtime.ts';
import type {
  Caller,
  CatalogEntry,
  DownloadEnd,
  DownloadProgress,
  ModelInfo,
  Segment,
  Transcript,
  TranscriptionRequest,
  Upload,
  Warning,
} from './types.ts';

export type TranscribeOptions = {
  /** Aborting stops decoding between two segments and rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Told of each segment as soon as all earlier ones are finished too, in order of time. */
  readonly onSegment?: (segment: Segment, index: number) => void;
};

export type Speech = {
  /**
   * Transcribes one upload and waits for the result. The upload stays the caller's to remove.
   * Problems: model_not_found, capability_unavailable (strict), invalid_audio, unsupported_media_type,
   * duration_exceeded, inference_failed, model_unavailable, queue_full, processing_timeout.
   */
  transcribe(
    caller: Caller,
    request: TranscriptionRequest,
    upload: Upload,
    options: TranscribeOptions,
  ): Promise<Transcript>;
  /**
   * The model a request means, once the beginning of the upload could be decoded; nothing is recognised. The upload stays
   * the caller's to remove. Problems: model_not_found, invalid_audio, unsupported_media_type, model_unavailable,
   * queue_full.
   */
  inspect(caller: Caller, request: InspectionRequest, upload: Upload, signal: AbortSignal): Promise<Inspection>;
  readonly models: Models;
  readonly jobs: Jobs;
  readonly realtime: Realtime;
};

export type InspectionRequest = Pick<TranscriptionRequest, 'model' | 'rawPcmRate'>;
export type Inspection = { readonly model: ModelInfo; readonly warnings: readonly Warning[] };

/** A model as a caller names it; without a revision the operation chooses one. */
export type ModelName = { readonly id: string; readonly revision: string | undefined };

/** An installation under way, or one that was there before it was asked for. It goes on when nobody listens. */
export type ModelDownload = {
  /** True when the model was there already: then there is no progress to tell. */
  readonly wasInstalled: boolean;
  readonly latest: () => DownloadProgress;
  /** Calls back with each new state of things until the returned function is called. */
  subscribe(listener: (progress: DownloadProgress) => void): () => void;
  /** Resolves once, at the end; never rejects. */
  readonly ended: Promise<DownloadEnd>;
};

/**
 * What administrators may do with models. What was begun goes on when the caller leaves. Each refuses an unknown model
 * or revision with model_not_found, and what cannot be loaded with model_unavailable or capability_unavailable (a
 * supporting model, which is not loaded by itself).
 */
export type ModelManagement = {
  /**
   * Installs a model of the catalog, its newest revision when none is named, or joins the installation under way.
   * `force` fetches an installed one again; `load` brings it into memory afterwards. Problems: download_refused,
   * model_busy (being loaded, or fetched by another process), storage_unavailable.
   */
  download(name: ModelName, options: { readonly force: boolean; readonly load: boolean }): Promise<ModelDownload>;
  /** Resolves when it is loaded and warm. Problem model_busy while it is being reloaded. */
  load(name: ModelName): Promise<ModelInfo>;
  /** Without a revision every one in memory. `drained` is false when somebody still uses it after the waiting time. */
  unload(
    name: ModelName,
    options: { readonly force: boolean },
  ): Promise<{ readonly model: ModelInfo; readonly drained: boolean }>;
  /** Sets the pin, or turns it over when `pinned` is not said; pinning loads first. */
  pin(name: ModelName, pinned: boolean | undefined): Promise<ModelInfo>;
  /**
   * Puts a revision (the newest installed when none is named) in service without dropping a request, and remembers it.
   * A failure leaves the old one serving. Problem model_busy while it is being reloaded.
   */
  reload(name: ModelName): Promise<ModelInfo>;
};

export type Models = ModelManagement & {
  /** Every installed model, supporting and streaming ones included. */
  list(): Promise<readonly ModelInfo[]>;
  catalog(): Promise<readonly CatalogEntry[]>;
  /**
   * The installed offline transcription model a request means: `model` (with optional `@revision`), else by
   * `language`, else the default. Problems: model_not_found, capability_unavailable (a streaming or supporting model).
   */
  resolve(model: string | undefined, language: string | undefined): Promise<ModelInfo>;
};

export type JobOptions = {
  /** Where the signed delivery goes; already checked for its form. */
  readonly webhookUrl: string | undefined;
  /** The caller's own name for this request: a repetition within 24 h gets the first answer. */
  readonly idempotencyKey: string | undefined;
  /** Everything else in the request as text; another one under the same idempotency key is a conflict. */
  readonly fingerprint: string;
  readonly source: 'api' | 'ui';
};

export type JobFilter = {
  readonly limit: number;
  /** As a former page gave it. */
  readonly cursor: string | undefined;
  readonly statuses: readonly JobStatus[];
  readonly model: string | undefined;
  readonly source: 'api' | 'ui' | undefined;
  /** RFC 3339. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  /** Only administrators may ask for another key's jobs. */
  readonly keyId: string | undefined;
  readonly includeResult: boolean;
};

export type JobPage = {
  readonly data: readonly JobRecord[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;
};

/** A place in the queue, taken before the upload is read. */
export type Reservation = {
  /** Corrects the bytes once they are known. Problem queue_full when they are too many now. */
  setBytes(bytes: number): void;
  /** Gives the place back: the job now counts itself, or there is none. Idempotent. */
  release(): void;
};

/** Jobs of the caller; an administrator's are everybody's. Another key's job is job_not_found. */
export type Jobs = {
  /** Takes a place for an upload of so many bytes (0: not said). Problem queue_full with Retry-After. */
  reserve(expectedBytes: number): Reservation;
  /**
   * Accepts an upload: when this resolves the job outlives a crash and owns the file. Problems: queue_full,
   * idempotency_conflict, model_not_found, capability_unavailable, storage_unavailable.
   */
  submit(caller: Caller, request: TranscriptionRequest, upload: Upload, options: JobOptions): Promise<JobRecord>;
  list(caller: Caller, filter: JobFilter): Promise<JobPage>;
  /** The job, with its result once it succeeded. */
  get(caller: Caller, id: string): Promise<JobRecord>;
  /** Ends a job that is not over; resolves with the job as it really is. */
  cancel(caller: Caller, id: string): Promise<JobRecord>;
  /**
   * While the job lives every message after `afterId`, none twice; once it is over exactly one, the last. `segments`
   * adds finished segments. Ends by itself after the last message.
   */
  watch(caller: Caller, id: string, options: WatchOptions): Promise<AsyncIterable<JobMessage>>;
};

export type WatchOptions = {
  /** Id of the last message seen; empty for none. */
  readonly afterId: string;
  readonly segments: boolean;
  readonly signal: AbortSignal;
};
