/** How one utterance gets its text, whatever the model: streamed (hear-stream.ts), whole (hear-whole.ts), or both. */
import type { Word } from '../core/types.ts';

/** What was understood. Times of words are seconds from the utterance's first sample. */
export type Heard = {
  readonly text: string;
  readonly words: readonly Word[] | undefined;
  /** `id@revision` of the model that gave it. */
  readonly model: string;
};

/** Told in order; after `onHeard` or `onFailed` nothing more. */
export type HearingListener = {
  /** The whole text so far. */
  onText(text: string): void;
  /** More of what was pushed is done. */
  onProgress(): void;
  /** The decoder thinks the utterance is over. */
  onEndpoint(): void;
  /** The engine died; the utterance is being said to a new one. */
  onRestart(reason: Error): void;
  /** The final text could not be had from the model meant for it; another's stands in. */
  onDegraded(reason: Error): void;
  onHeard(heard: Heard): void;
  onFailed(reason: Error): void;
};

export type Hearing = {
  /** 16-bit mono at SESSION_RATE; the array must not change afterwards. */
  push(samples: Int16Array): void;
  finish(): void;
  /** Forgets the utterance. Idempotent. */
  close(): void;
  /** Samples that wait for the engine. */
  pendingSamples(): number;
  /** Those of them whose live text is still to come. */
  behindSamples(): number;
};

/** What begins a hearing. */
export type HearingOptions = {
  readonly bandHz: number;
  readonly language: string | undefined;
  readonly hotwords: readonly { readonly phrase: string; readonly score?: number }[];
};

export type Ear = {
  readonly retracts: boolean;
  /** Longest utterance, s. */
  readonly maxSec: number;
  begin(options: HearingOptions, listener: HearingListener): Hearing;
};
