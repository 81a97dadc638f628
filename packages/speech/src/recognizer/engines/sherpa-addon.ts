/** The part of sherpa-onnx-node 1.13.8 that is used here, with our own types: the package's own are incomplete. */
import { createRequire } from 'node:module';

/** Options of one model family, under the family's key of `modelConfig`. */
export type FamilyConfig = Readonly<Record<string, string | number>> | string;

export type OfflineConfig = {
  readonly featConfig: { readonly sampleRate: number; readonly featureDim: number };
  readonly modelConfig: Readonly<Record<string, FamilyConfig | number>>;
  readonly decodingMethod: string;
  readonly maxActivePaths: number;
};

type OfflineStream = {
  acceptWaveform(wave: { readonly samples: Float32Array; readonly sampleRate: number }): void;
};

/** What decoding gives. Times are token starts in seconds; arrays a family has no answer for are empty or missing. */
export type OfflineResult = {
  readonly text: string;
  readonly lang?: string;
  readonly tokens?: readonly string[];
  readonly timestamps?: readonly number[];
  readonly durations?: readonly number[];
  readonly ys_log_probs?: readonly number[];
};

export type OfflineRecognizer = {
  /** `hotwords` only on a transducer loaded for beam search: anything else ends the process. */
  createStream(hotwords?: string): OfflineStream;
  decodeAsync(stream: OfflineStream): Promise<OfflineResult>;
};

export type OnlineConfig = OfflineConfig & {
  readonly enableEndpoint: boolean;
  readonly rule1MinTrailingSilence: number;
  readonly rule2MinTrailingSilence: number;
  readonly rule3MinUtteranceLength: number;
};

export type OnlineStream = {
  acceptWaveform(wave: { readonly samples: Float32Array; readonly sampleRate: number }): void;
  inputFinished(): void;
  setOption(name: string, value: string): void;
};

/** As `OfflineResult`; the probabilities have another name, and times count from the last reset. */
export type OnlineResult = Omit<OfflineResult, 'ys_log_probs'> & {
  readonly ys_probs?: readonly number[];
  readonly start_time?: number;
};

/** All calls are synchronous. */
export type OnlineRecognizer = {
  createStream(): OnlineStream;
  isReady(stream: OnlineStream): boolean;
  /** Every stream must be ready: one that is not ends the process. */
  decodeStreams(streams: readonly OnlineStream[]): void;
  isEndpoint(stream: OnlineStream): boolean;
  getResult(stream: OnlineStream): OnlineResult;
};

export type SherpaAddon = {
  readonly OnlineRecognizer: new (config: OnlineConfig) => OnlineRecognizer;
  readonly version: string;
  readonly onnxruntimeVersion: string;
  readonly OfflineRecognizer: { createAsync(config: OfflineConfig): Promise<OfflineRecognizer> };
};

/** Loads the native library into this process; only ever called in an engine process. */
export const loadSherpa = (): SherpaAddon => createRequire(import.meta.url)('sherpa-onnx-node') as SherpaAddon;
