/**
 * The vocabulary of the speech service. No HTTP and no storage in it. Times are seconds unless a name says otherwise;
 * samples are 16-bit signed, mono, at the rate named beside them.
 */

/** Who is asking, already proven. */
export type Caller = {
  /** Stable over rotation of the secret; the owner of jobs. */
  readonly keyId: string;
  readonly name: string;
  readonly admin: boolean;
  readonly priority: Priority;
  /** Globs of model ids this key may use; `*` alone is all. */
  readonly models: readonly string[];
};

export type Priority = 'batch' | 'interactive';

export type ChannelMode = 'downmix' | 'first' | 'split';
export type DecodingMethod = 'greedy_search' | 'modified_beam_search';

/** A file on disk that holds what was uploaded. `remove` is idempotent. */
export type Upload = {
  readonly path: string;
  readonly sizeBytes: number;
  /** The name the client gave, as metadata only; never a path. */
  readonly filename: string | undefined;
  remove(): Promise<void>;
};

/** What to transcribe and how; every dialect parses into this. `undefined` means "not said". */
export type TranscriptionRequest = {
  readonly model: string | undefined;
  readonly language: string | undefined;
  readonly channelMode: ChannelMode | undefined;
  readonly diarize: boolean;
  /** 0 is unknown. */
  readonly numSpeakers: number;
  readonly punctuate: boolean | undefined;
  readonly itn: boolean | undefined;
  readonly hotwords: readonly Hotword[];
  readonly hotwordsScore: number | undefined;
  readonly decodingMethod: DecodingMethod | undefined;
  readonly maxActivePaths: number | undefined;
  /** Only an explicit true can raise the warning or the refusal; `undefined` gives words where there are any. */
  readonly wordTimestamps: boolean | undefined;
  readonly voiceActivity: boolean | undefined;
  /** The detector's settings for this request; what is left out is the service's. */
  readonly voiceActivityTuning?: { readonly threshold?: number; readonly minSilenceMs?: number };
  /** Each token's log-probability is wanted, where the model gives one. */
  readonly tokenProbabilities?: boolean;
  readonly strict: boolean;
  /** Set when the bytes are headerless s16le mono at this rate (legacy `encode=false`). */
  readonly rawPcmRate?: number;
  /** Warnings that parsing already raised. */
  readonly warnings: readonly Warning[];
};

export type Hotword = { readonly phrase: string; readonly score?: number };

export const WARNING_CODES = [
  'temperature_ignored',
  'prompt_mapped_to_hotwords',
  'initial_prompt_mapped_to_hotwords',
  'word_timestamps_unavailable',
  'word_confidence_unavailable',
  'hotwords_unavailable',
  'hotwords_truncated',
  'decoding_method_unavailable',
  'punctuation_unavailable',
  'itn_unavailable',
  'diarization_unavailable',
  'diarization_skipped_split',
  'diarization_found_no_speakers',
  'diarization_fewer_speakers',
  'diarization_more_speakers',
  'speaker_range_reduced',
  'language_mismatch',
  'language_detection_unavailable',
  'no_speech_detected',
  'postprocessing_degraded',
  'model_alias_applied',
  'response_format_ignored',
  'timestamp_granularities_ignored',
  'logprobs_unavailable',
  'chunking_strategy_applied_partially',
  'known_speakers_ignored',
  'languages_ignored',
  'output_unknown_rendered_as_txt',
  'vad_filter_ignored',
  'raw_pcm_assumed',
  'unknown_parameter',
  'audio_truncated',
  'field_ignored',
  'language_ignored',
  'prompt_ignored',
] as const;

export type WarningCode = (typeof WARNING_CODES)[number];
export type Warning = { readonly code: WarningCode; readonly message: string; readonly param?: string };

export type Word = {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** exp of the mean token log-probability; uncalibrated. */
  readonly confidence?: number;
  readonly original?: string;
  readonly speaker?: string;
  readonly speaker_confidence?: number;
  readonly channel?: number;
};

export type Segment = {
  readonly id: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly channel: number;
  readonly speaker: string | null;
  readonly speaker_confidence?: number;
  readonly avg_confidence?: number;
  /** Mean probability of speech the detector gave, when it gives one. */
  readonly speech_probability?: number;
  /** Vocabulary ids, when the engine reports them. */
  readonly tokens?: readonly number[];
  readonly words?: readonly Word[];
};

/** A token as the model spells it, and the natural logarithm of its probability. */
export type TokenProbability = { readonly token: string; readonly logprob: number };

export type Silence = { readonly start: number; readonly end: number };
export type Speaker = { readonly id: string; readonly total_speech: number; readonly segments: number };

export type Stage = 'decode' | 'vad' | 'asr' | 'assemble' | 'diarize' | 'post';

export type Stats = {
  readonly audio_duration: number;
  readonly processing_ms: number;
  /** Processing time divided by audio duration; 0 for empty audio. */
  readonly rtf: number;
  readonly stages_ms: Readonly<Record<Stage, number>>;
  readonly segments_total: number;
  readonly speech_ratio: number;
};

/** The finished transcription. Field names are the wire's, so that native renders it as it lies. */
export type Transcript = {
  readonly id: string;
  /** `id@revision`. */
  readonly model: string;
  readonly language: string;
  readonly duration: number;
  readonly text: string;
  readonly timestamp_source: 'token' | 'segment' | 'aligned';
  readonly segments: readonly Segment[];
  readonly silence: readonly Silence[];
  readonly speakers?: readonly Speaker[];
  /** Only when asked for and known: of the spoken text, in order. */
  readonly token_probabilities?: readonly TokenProbability[];
  readonly stats: Stats;
  readonly warnings: readonly Warning[];
};

export type ModelKind =
  | 'asr'
  | 'vad'
  | 'punctuation'
  | 'diarization'
  | 'segmentation'
  | 'embedding'
  | 'itn'
  | 'denoise';
export type ModelState = 'available' | 'installed' | 'resident' | 'pinned' | 'downloading' | 'loading' | 'draining';

export type Capabilities = {
  readonly word_timestamps: boolean;
  readonly confidence: boolean;
  readonly language_detect: boolean;
  readonly punctuation_builtin: boolean;
  readonly hotwords: boolean;
  readonly streaming: boolean;
};

/** What is known of one installed model; field names are the wire's (docs/speech-api.md, model record). */
export type ModelInfo = {
  readonly id: string;
  readonly revision: string;
  readonly display_name: string;
  readonly kind: ModelKind;
  readonly streaming: boolean;
  readonly family: string;
  readonly languages: readonly string[];
  readonly sample_rate: number;
  readonly license: string;
  readonly commercial_use: 'yes' | 'no' | 'unknown';
  readonly state: ModelState;
  readonly resident: boolean;
  readonly pinned: boolean;
  readonly word_timestamps: boolean;
  readonly capabilities: Capabilities;
  readonly ref_count: number;
  readonly rss_mb: number;
  readonly size_bytes: number;
  readonly last_used_unix?: number;
  readonly installed_at: string;
  readonly default: boolean;
  readonly revisions: readonly string[];
  readonly problem?: string;
};

export type DownloadState = 'queued' | 'downloading' | 'verifying' | 'unpacking' | 'installing';

/** How far an installation is; field names are the wire's (docs/speech-api.md, download events). */
export type DownloadProgress = {
  readonly model_id: string;
  readonly revision: string;
  readonly state: DownloadState;
  /** Bytes. */
  readonly downloaded: number;
  /** 0 while unknown. */
  readonly total: number;
  readonly percent: number;
};

/** How an installation ended. */
export type DownloadEnd =
  | { readonly ok: true; readonly model: ModelInfo }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** A model that can be had. Field names are the wire's (docs/speech-api.md, catalog entry). */
export type CatalogEntry = {
  readonly id: string;
  readonly revision: string;
  readonly display_name: string;
  readonly kind: ModelKind;
  readonly streaming: boolean;
  readonly family: string;
  readonly languages: readonly string[];
  readonly sample_rate: number;
  readonly license: string;
  readonly commercial_use: 'yes' | 'no' | 'unknown';
  readonly word_timestamps: boolean;
  readonly capabilities: Capabilities;
  readonly state: ModelState;
  readonly verified: boolean;
  readonly source: Readonly<Record<string, unknown>>;
  readonly resources: { readonly approx_rss_mb: number };
  readonly modeling_unit?: string;
  readonly features?: { readonly sample_rate: number; readonly dim: number };
  readonly files: Readonly<Record<string, string>>;
  readonly runtime?: Readonly<Record<string, unknown>>;
  readonly notes?: string;
};
