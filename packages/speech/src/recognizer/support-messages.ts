/**
 * What the main side (punctuation-host.ts, speakers-host.ts) and a process for supporting models (support-process.ts) say
 * to each other. One process holds one model: a punctuation model, or the two that tell speakers apart.
 */

/** Files of a punctuation model; the family says which of sherpa-onnx's two kinds it is. */
export type PunctuationModel = {
  readonly id: string;
  readonly family: string;
  /** Absolute paths by role: model, bpe_vocab. */
  readonly files: Readonly<Record<string, string>>;
  readonly numThreads: number;
};

/** How speakers are told apart. Durations are seconds. */
export type SpeakersOptions = {
  /** Absolute paths. */
  readonly segmentation: string;
  readonly embedding: string;
  /** 0 is unknown: then `threshold` decides. */
  readonly numSpeakers: number;
  /** Distance from which two voices count as two; 0 to 2. */
  readonly threshold: number;
  readonly minDurationOn: number;
  readonly minDurationOff: number;
  readonly numThreads: number;
};

/** Seconds of the recording in which one voice speaks; speakers count from 0. */
export type Turn = { readonly start: number; readonly end: number; readonly speaker: number };

export type ToSupport =
  | { readonly kind: 'load-punctuation'; readonly model: PunctuationModel }
  | { readonly kind: 'punctuate'; readonly id: number; readonly text: string }
  | { readonly kind: 'load-speakers'; readonly options: SpeakersOptions }
  /** Samples of the recording from sample `at` on, 16 kHz mono. */
  | { readonly kind: 'audio'; readonly at: number; readonly samples: Int16Array }
  /** All audio is there. */
  | { readonly kind: 'tell-apart' };

export type FromSupport =
  | { readonly kind: 'announce'; readonly doing: string }
  | { readonly kind: 'loaded' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'punctuated'; readonly id: number; readonly text: string }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  /** The samples are kept; the next may come. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'turns'; readonly turns: readonly Turn[] };
