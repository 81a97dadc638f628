/**
 * The offline model families sherpa-onnx-node 1.13.8 reads: which files each needs, how its configuration is spelled, and
 * what it can do. A manifest names the family; nothing is guessed here.
 */
import type { FamilyConfig } from './sherpa-addon.ts';

/** What a request says that some families take when they are loaded. */
type FamilyChoice = { readonly language: string | undefined };
type Files = Readonly<Record<string, string>>;

export type SherpaFamily = {
  /** Key of sherpa-onnx's modelConfig. */
  readonly key: string;
  /** Roles of files that must exist; any one set is enough. `tokens` counts only where listed. */
  readonly roles: readonly (readonly string[])[];
  readonly config: (files: Files, choice: FamilyChoice) => FamilyConfig;
  /** Passed as `modelType`, without which sherpa-onnx loads the encoder twice or guesses. */
  readonly modelType?: string;
  readonly timestamps: boolean;
  readonly confidence: boolean;
  /** Greedy search and modified beam search with hotwords; all others know greedy search only. */
  readonly beamSearch: boolean;
  /** The token list must name a blank. */
  readonly needsBlank: boolean;
  /** Whether the language is chosen when the model is loaded, and whether the model finds it by itself. */
  readonly language: 'none' | 'chosen' | 'detected';
  /** Metadata without which sherpa-onnx ends the process: role → keys. */
  readonly metadata: Readonly<Record<string, readonly string[]>>;
};

const CTC: Omit<SherpaFamily, 'key'> = {
  roles: [['model', 'tokens']],
  config: (files) => ({ model: files.model! }),
  timestamps: true,
  confidence: false,
  beamSearch: false,
  needsBlank: true,
  language: 'none',
  metadata: {},
};

const ATTENTION: Omit<SherpaFamily, 'key'> = {
  roles: [['encoder', 'decoder', 'tokens']],
  config: (files) => ({ encoder: files.encoder!, decoder: files.decoder! }),
  timestamps: false,
  confidence: false,
  beamSearch: false,
  needsBlank: false,
  language: 'none',
  metadata: {},
};

const TRANSDUCER: Omit<SherpaFamily, 'key'> = {
  roles: [['encoder', 'decoder', 'joiner', 'tokens']],
  config: (files) => ({ encoder: files.encoder!, decoder: files.decoder!, joiner: files.joiner! }),
  timestamps: true,
  confidence: true,
  beamSearch: false,
  needsBlank: false,
  language: 'none',
  metadata: {},
};

const FUNASR_MAX_NEW_TOKENS = 512;

const moonshineConfig = (files: Files): FamilyConfig =>
  files.merged_decoder !== undefined
    ? { encoder: files.encoder!, mergedDecoder: files.merged_decoder }
    : {
        preprocessor: files.preprocessor!,
        encoder: files.encoder!,
        uncachedDecoder: files.uncached_decoder!,
        cachedDecoder: files.cached_decoder!,
      };

/** By the name a manifest uses. */
export const SHERPA_FAMILIES: Readonly<Record<string, SherpaFamily>> = {
  transducer: {
    ...TRANSDUCER,
    key: 'transducer',
    modelType: 'transducer',
    beamSearch: true,
    metadata: { decoder: ['vocab_size', 'context_size'] },
  },
  // Beam search on NeMo's transducers is reported to lose or invent text (k2-fsa/sherpa-onnx#3267): greedy only.
  nemo_transducer: {
    ...TRANSDUCER,
    key: 'transducer',
    modelType: 'nemo_transducer',
    metadata: { encoder: ['vocab_size', 'subsampling_factor'] },
  },
  zipformer_ctc: { ...CTC, key: 'zipformerCtc', metadata: { model: ['model_type'] } },
  nemo_ctc: { ...CTC, key: 'nemoCtc', metadata: { model: ['model_type', 'vocab_size', 'subsampling_factor'] } },
  wenet_ctc: { ...CTC, key: 'wenetCtc', metadata: { model: ['model_type'] } },
  tdnn: { ...CTC, key: 'tdnn', metadata: { model: ['model_type'] } },
  telespeech_ctc: {
    ...CTC,
    key: 'teleSpeechCtc',
    config: (files) => files.model!,
    modelType: 'telespeech_ctc',
    metadata: { model: ['model_type'] },
  },
  omnilingual: { ...CTC, key: 'omnilingual', needsBlank: false },
  medasr: { ...CTC, key: 'medasr', needsBlank: false },
  dolphin: { ...CTC, key: 'dolphin' },
  fire_red_asr_ctc: { ...CTC, key: 'fireRedAsrCtc' },
  paraformer: { ...CTC, key: 'paraformer', needsBlank: false, metadata: { model: ['lfr_window_size'] } },
  sense_voice: {
    ...CTC,
    key: 'senseVoice',
    config: (files, { language }) => ({
      model: files.model!,
      language: language ?? 'auto',
      useInverseTextNormalization: 1,
    }),
    needsBlank: false,
    language: 'detected',
    metadata: { model: ['lfr_window_size'] },
  },
  whisper: {
    ...ATTENTION,
    key: 'whisper',
    config: (files, { language }) => ({
      encoder: files.encoder!,
      decoder: files.decoder!,
      language: language ?? '',
      task: 'transcribe',
    }),
    language: 'detected',
    metadata: { encoder: ['model_type'] },
  },
  canary: {
    ...ATTENTION,
    key: 'canary',
    config: (files, { language }) => ({
      encoder: files.encoder!,
      decoder: files.decoder!,
      srcLang: language ?? 'en',
      tgtLang: language ?? 'en',
      usePnc: 1,
    }),
    language: 'chosen',
    metadata: { encoder: ['model_type'] },
  },
  cohere_transcribe: {
    ...ATTENTION,
    key: 'cohereTranscribe',
    config: (files, { language }) => ({
      encoder: files.encoder!,
      decoder: files.decoder!,
      language: language ?? 'en',
      usePunct: 1,
      useItn: 0,
    }),
    language: 'chosen',
  },
  fire_red_asr: { ...ATTENTION, key: 'fireRedAsr' },
  moonshine: {
    ...ATTENTION,
    key: 'moonshine',
    roles: [
      ['preprocessor', 'encoder', 'uncached_decoder', 'cached_decoder', 'tokens'],
      ['encoder', 'merged_decoder', 'tokens'],
    ],
    config: moonshineConfig,
  },
  funasr_nano: {
    ...ATTENTION,
    key: 'funasrNano',
    roles: [['encoder_adaptor', 'llm', 'embedding', 'tokenizer']],
    config: (files) => ({
      encoderAdaptor: files.encoder_adaptor!,
      llm: files.llm!,
      embedding: files.embedding!,
      tokenizer: files.tokenizer!,
      maxNewTokens: FUNASR_MAX_NEW_TOKENS,
    }),
  },
  qwen3_asr: {
    ...ATTENTION,
    key: 'qwen3Asr',
    roles: [['conv_frontend', 'encoder', 'decoder', 'tokenizer']],
    config: (files) => ({
      convFrontend: files.conv_frontend!,
      encoder: files.encoder!,
      decoder: files.decoder!,
      tokenizer: files.tokenizer!,
    }),
  },
};
