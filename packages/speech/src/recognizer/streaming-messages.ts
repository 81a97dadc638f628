/**
 * What the main side (streaming-host.ts) and an engine process with a streaming model say to each other, beside the
 * messages every engine knows (messages.ts). A stream is one utterance: opened, fed, finished or closed.
 */
import type { Recognition } from './recognizer.ts';

export type ToStreaming =
  | { readonly kind: 'stream-open'; readonly stream: number; readonly language?: string }
  | {
      readonly kind: 'stream-audio';
      readonly stream: number;
      readonly samples: Int16Array;
      readonly sampleRate: number;
    }
  /** No more audio: decode what is left and answer with `final`. */
  | { readonly kind: 'stream-finish'; readonly stream: number }
  /** Forget it. */
  | { readonly kind: 'stream-close'; readonly stream: number };

/** How far one stream is. */
export type HeardStream = {
  readonly stream: number;
  /** Samples that came for it and are decoded; it stands still while a backlog is worked off. */
  readonly doneSamples: number;
  /** The whole text so far, when it changed. */
  readonly text?: string;
  /** True once the decoder heard a long enough pause after words. */
  readonly endpoint?: true;
  /** The last word about this stream. */
  readonly final?: Recognition;
};

/** One decoding step, all streams that moved in it. */
export type FromStreaming = { readonly kind: 'heard'; readonly streams: readonly HeardStream[] };
