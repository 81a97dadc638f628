/** All a dialect may see of the service behind it. */
import type { Caller, CatalogEntry, ModelInfo, Segment, Transcript, TranscriptionRequest, Upload } from './types.ts';

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
  readonly models: Models;
};

export type Models = {
  /** Every installed model, supporting and streaming ones included. */
  list(): Promise<readonly ModelInfo[]>;
  catalog(): Promise<readonly CatalogEntry[]>;
  /**
   * The installed offline transcription model a request means: `model` (with optional `@revision`), else by
   * `language`, else the default. Problems: model_not_found, capability_unavailable (a streaming or supporting model).
   */
  resolve(model: string | undefined, language: string | undefined): Promise<ModelInfo>;
};
