/**
 * The interface every engine meets, as the main process sees it. Native code runs in a child process behind it
 * (host.ts, engine-process.ts); nothing here loads any.
 */
import type { PieceFile } from '../core/piece.ts';
import type { Capabilities, DecodingMethod } from '../core/types.ts';

/** How an engine wants its audio cut: never longer than `maxSec`, at the longest pause, best one of `pauseSec`. */
export type CutRule = { readonly maxSec: number; readonly pauseSec: number; readonly padSec: number };

/** Segments a recogniser takes beyond `EngineFacts.slots`: the scheduler keeps them for short requests. */
export const EXPRESS_SLOTS = 1;

/** What an engine says of itself once it has loaded a model. */
export type EngineFacts = {
  readonly engine: 'sherpa' | 'pocketsphinx';
  readonly family: string;
  readonly sampleRate: number;
  readonly cut: CutRule;
  /** Segments that may be in flight at once (cores + 1 for sherpa; see docs/decisions.md). */
  readonly slots: number;
  readonly capabilities: Capabilities;
  readonly decodingMethods: readonly DecodingMethod[];
  /** True when token times are measured by the model rather than spread over the segment. */
  readonly timestamps: boolean;
};

/** One stretch of speech: 16-bit mono samples at `sampleRate` Hz. */
export type Utterance = {
  readonly samples: Int16Array;
  readonly sampleRate: number;
  /** Where the source's band ends, Hz; telephone audio resampled to 16 kHz says 4000 here. */
  readonly bandHz: number;
};

/** The same with its samples in a file, which must be there until the answer is: a second try reads it again. */
export type LaidUtterance = Omit<Utterance, 'samples'> & { readonly samples: Int16Array | PieceFile };

export type RecognizeOptions = {
  readonly decodingMethod?: DecodingMethod;
  readonly maxActivePaths?: number;
  readonly hotwords?: readonly { readonly phrase: string; readonly score?: number }[];
  readonly hotwordsScore?: number;
  readonly language?: string;
};

/** A piece of the text with its place, seconds from the utterance's first sample. */
export type RecognizedToken = {
  /** As the model spells it; a leading space opens a word. */
  readonly text: string;
  readonly start: number;
  readonly duration?: number;
  /** Natural logarithm of its probability. */
  readonly logProb?: number;
  readonly id?: number;
};

export type Recognition = {
  readonly text: string;
  readonly tokens: readonly RecognizedToken[];
  /** Set by engines that find whole words themselves (pocketsphinx); `end` is exclusive. */
  readonly words?: readonly {
    readonly word: string;
    readonly start: number;
    readonly end: number;
    readonly confidence?: number;
  }[];
  /** Language the model heard, where it says so. */
  readonly language?: string;
};

/**
 * One loaded model in one supervised child process. `recognize` retries an utterance once in a fresh process when the
 * child dies under it. Problems: inference_failed (two deaths by this utterance), model_unavailable (cannot load).
 */
export type Recognizer = AsyncDisposable & {
  readonly facts: EngineFacts;
  recognize(utterance: LaidUtterance, options: RecognizeOptions, signal: AbortSignal): Promise<Recognition>;
  /** Resident memory of the child in bytes, measured now; 0 when it is not running. */
  rssBytes(): Promise<number>;
  readonly pid: number | undefined;
};

/** What a model directory says an engine needs; made from a checked manifest (models/manifest.ts). */
export type EngineModel = {
  readonly id: string;
  readonly revision: string;
  readonly engine: 'sherpa' | 'pocketsphinx';
  readonly family: string;
  readonly streaming: boolean;
  readonly sampleRate: number;
  readonly featureDim: number | undefined;
  readonly modelingUnit: string | undefined;
  readonly modelType: string | undefined;
  /** Absolute paths by role: encoder, decoder, joiner, model, tokens, bpe_vocab, hmm, dict, lm, … */
  readonly files: Readonly<Record<string, string>>;
  /** Folders for LD_LIBRARY_PATH of the child (pocketsphinx out of Debian packages). */
  readonly libraryPaths: readonly string[];
  readonly languages: readonly string[];
  readonly capabilities: Capabilities;
  readonly numThreads: number;
};
