/**
 * The interface of a recogniser with a streaming model: what a realtime session sees. Native code runs in a child
 * process behind it (streaming-host.ts).
 */
import type { Recognition, Recognizer } from './recognizer.ts';

/** What happens on one stream. All calls come in order; after `onFinal` or `onLost` there are none. */
export type StreamListener = {
  /** The whole text so far. A greedy decoder only ever appends to it. */
  onText(text: string): void;
  /** So many of the samples that were pushed are decoded. */
  onProgress(doneSamples: number): void;
  /** The decoder heard a long pause after words. */
  onEndpoint(): void;
  onFinal(recognition: Recognition): void;
  /** The engine died, or could not be brought back: whoever wants to go on opens another stream and starts anew. */
  onLost(reason: Error): void;
};

/** One utterance on its way into the recogniser. */
export type RecognitionStream = {
  /** 16-bit mono samples; the rate (Hz) must be the same in every call. The array must not change afterwards. */
  push(samples: Int16Array, sampleRate: number): void;
  /** No more audio; `onFinal` follows. */
  finish(): void;
  /** Forgets the stream; nothing more is told. Idempotent. */
  close(): void;
};

/** A loaded streaming model. `recognize` is refused: Problem capability_unavailable. */
export type StreamingRecognizer = Recognizer & {
  /** Opens a stream at once; while the engine is being brought back, what is pushed waits. Problem model_unavailable. */
  openStream(listener: StreamListener, options: { readonly language?: string }): RecognitionStream;
};

export const isStreaming = (recognizer: Recognizer): recognizer is StreamingRecognizer => 'openStream' in recognizer;
