/**
 * What the main side (child.ts) and an engine process (engine-process.ts) say to each other. Streaming models have
 * further kinds (streaming-messages.ts).
 */
import type { EngineFacts, EngineModel, LaidUtterance, Recognition, RecognizeOptions } from './recognizer.ts';
import type { FromStreaming, ToStreaming } from './streaming-messages.ts';

/** Versions of the native libraries, as `/healthz` shows them. */
export type EngineVersions = {
  readonly sherpa_onnx: string;
  readonly onnxruntime: string;
  readonly pocketsphinx?: string;
};

/** Why an engine declines something before native code sees it; the codes are the service's. */
export type RefusalCode = 'inference_failed' | 'capability_unavailable' | 'invalid_audio';

/** When the engine worked on something that is traced, unix ms. */
export type EngineWork = { readonly traceparent: string; readonly startMs: number; readonly endMs: number };

export type ToEngine =
  | { readonly kind: 'load'; readonly model: EngineModel; readonly slots: number }
  | {
      readonly kind: 'recognize';
      readonly id: number;
      readonly utterance: LaidUtterance;
      readonly options: RecognizeOptions;
      /** Trace context of this utterance; the answer then tells when the engine worked on it. */
      readonly traceparent?: string;
    }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'versions'; readonly libraryPaths: readonly string[] }
  | ToStreaming;

export type FromEngine =
  /** Sent before native code runs, because a process that aborts cannot say what it was doing. */
  | { readonly kind: 'announce'; readonly doing: string }
  | { readonly kind: 'loaded'; readonly facts: EngineFacts }
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'recognized';
      readonly id: number;
      readonly recognition: Recognition;
      readonly worked?: EngineWork;
    }
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly code: RefusalCode;
      readonly message: string;
      readonly param?: string;
    }
  | { readonly kind: 'pong'; readonly id: number; readonly rssBytes: number }
  | { readonly kind: 'versions'; readonly versions: EngineVersions }
  | FromStreaming;
