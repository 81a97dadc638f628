/**
 * sherpa-onnx: offline models of every family in sherpa-families.ts. One recogniser decodes several utterances at once
 * on libuv's threads (createAsync, decodeAsync), so this process's loop stays free to answer.
 */
import type { DecodingMethod } from '../../core/types.ts';
import type {
  EngineFacts,
  EngineModel,
  Recognition,
  RecognizedToken,
  RecognizeOptions,
  Utterance,
} from '../recognizer.ts';
import { type Announce, type Engine, EngineRefusal, type OpenEngine } from './engine.ts';
import { toHotwordList } from './hotwords.ts';
import { loadSherpa, type OfflineConfig, type OfflineRecognizer, type OfflineResult } from './sherpa-addon.ts';
import { type CheckedModel, checkSherpaModel } from './sherpa-check.ts';
import type { TokenTable } from './tokens.ts';

/** Cuts of 4-12 s are cheapest; beyond 20 s full attention costs a third more a second. */
const CUT = { maxSec: 20, pauseSec: 0.3, padSec: 0.2 };
const DEFAULT_FEATURE_DIM = 80;
const DEFAULT_ACTIVE_PATHS = 4;
/** Encoders subsample by up to 8 frames of 10 ms and convolve before that; shorter sound is filled up with zeros. */
const SHORTEST_SEC = 0.2;
const INT16_FULL_SCALE = 32_768;
/** Recognisers beside the first one, for beam search or another language; the one not used longest goes first. */
const MAX_VARIANTS = 2;

/** What tells one loaded recogniser of a model from another. */
type Variant = { readonly method: DecodingMethod; readonly activePaths: number; readonly language: string | undefined };

const configOf = (model: EngineModel, checked: CheckedModel, variant: Variant): OfflineConfig => {
  const { family, hotwordUnit } = checked;
  const beam = variant.method === 'modified_beam_search';
  return {
    featConfig: { sampleRate: model.sampleRate, featureDim: model.featureDim ?? DEFAULT_FEATURE_DIM },
    modelConfig: {
      [family.key]: family.config(model.files, { language: variant.language }),
      tokens: model.files.tokens ?? '',
      numThreads: model.numThreads,
      debug: 0,
      provider: 'cpu',
      ...(family.modelType !== undefined && { modelType: family.modelType }),
      ...(beam && hotwordUnit !== undefined && { modelingUnit: hotwordUnit, bpeVocab: model.files.bpe_vocab ?? '' }),
    },
    decodingMethod: variant.method,
    maxActivePaths: variant.activePaths,
  };
};

const factsOf = (model: EngineModel, { family, hotwordUnit }: CheckedModel, slots: number): EngineFacts => ({
  engine: 'sherpa',
  family: model.family,
  sampleRate: model.sampleRate,
  cut: CUT,
  slots,
  capabilities: {
    word_timestamps: family.timestamps,
    confidence: family.confidence,
    language_detect: family.language === 'detected',
    punctuation_builtin: model.capabilities.punctuation_builtin,
    hotwords: hotwordUnit !== undefined,
    streaming: false,
  },
  decodingMethods: family.beamSearch ? ['greedy_search', 'modified_beam_search'] : ['greedy_search'],
  timestamps: family.timestamps,
});

/** 16-bit samples as the floats sherpa-onnx reads, filled up to the shortest length its encoders take. */
const toFloats = ({ samples, sampleRate }: Utterance): Float32Array => {
  const floats = new Float32Array(Math.max(samples.length, Math.ceil(SHORTEST_SEC * sampleRate)));
  for (let index = 0; index < samples.length; index += 1) floats[index] = samples[index]! / INT16_FULL_SCALE;
  return floats;
};

/** What streaming and offline results share. */
export type TimedResult = Pick<OfflineResult, 'tokens' | 'timestamps' | 'durations' | 'ys_log_probs'>;

const idOf = (text: string, table: TokenTable | undefined): number | undefined =>
  table?.idOf.get(text.startsWith(' ') ? `▁${text.slice(1)}` : text) ?? table?.idOf.get(text);

export const toTokens = (result: TimedResult, table: TokenTable | undefined): RecognizedToken[] => {
  const texts = result.tokens ?? [];
  const { timestamps = [], durations = [], ys_log_probs: logProbs = [] } = result;
  // Families without times give none, or one that stands for all; neither places a token.
  if (texts.length === 0 || timestamps.length !== texts.length) return [];
  return texts.map((text, index) => {
    const id = idOf(text, table);
    return {
      text: text.replace(/^▁/u, ' '),
      start: timestamps[index]!,
      ...(durations.length === texts.length && durations[index]! > 0 && { duration: durations[index]! }),
      ...(logProbs.length === texts.length && { logProb: logProbs[index]! }),
      ...(id !== undefined && { id }),
    };
  });
};

/** `<|en|>` or `en`; empty where the family does not say. */
const toLanguage = (lang: string | undefined): string | undefined => /[a-z]{2,3}/.exec(lang ?? '')?.[0];

const toRecognition = (result: OfflineResult, checked: CheckedModel): Recognition => {
  const language = toLanguage(result.lang);
  return {
    text: result.text.trim(),
    tokens: checked.family.timestamps ? toTokens(result, checked.tokens) : [],
    ...(language !== undefined && { language }),
  };
};

const primaryOf = (language: string | undefined): string | undefined => language?.toLowerCase().split('-')[0];

/** The recogniser a request needs. Throws EngineRefusal for what this model cannot do. */
const variantOf = (model: EngineModel, checked: CheckedModel, options: RecognizeOptions): Variant => {
  const wantsHotwords = (options.hotwords ?? []).length > 0;
  if (wantsHotwords && checked.hotwordUnit === undefined) {
    throw new EngineRefusal('This model takes no hotwords.', 'capability_unavailable', 'hotwords');
  }
  const beam = wantsHotwords || options.decodingMethod === 'modified_beam_search';
  if (beam && !checked.family.beamSearch) {
    throw new EngineRefusal('This model has no beam search.', 'capability_unavailable', 'decoding_method');
  }
  const asked = primaryOf(options.language);
  const known = model.languages.map(primaryOf);
  const spoken = asked !== undefined && (known.length === 0 || known.includes(asked)) ? asked : undefined;
  const fallback = checked.family.language === 'chosen' ? known[0] : undefined;
  return {
    method: beam ? 'modified_beam_search' : 'greedy_search',
    activePaths: beam ? (options.maxActivePaths ?? DEFAULT_ACTIVE_PATHS) : DEFAULT_ACTIVE_PATHS,
    language: checked.family.language === 'none' ? undefined : (spoken ?? fallback),
  };
};

const nameOf = (variant: Variant): string =>
  [variant.method, variant.activePaths, variant.language].filter((part) => part !== undefined).join(' ');

/** Loads recognisers of one model as they are needed and keeps a few. */
const createVariants = (model: EngineModel, checked: CheckedModel, announce: Announce) => {
  const sherpa = loadSherpa();
  const first = nameOf(variantOf(model, checked, {}));
  const loaded = new Map<string, Promise<OfflineRecognizer>>();
  const load = async (variant: Variant): Promise<OfflineRecognizer> => {
    announce(`loading ${model.id} (${model.family}, ${nameOf(variant)})`);
    const recognizer = await sherpa.OfflineRecognizer.createAsync(configOf(model, checked, variant));
    announce('recognising');
    return recognizer;
  };
  const makeRoom = (): void => {
    const extra = [...loaded.keys()].filter((name) => name !== first);
    // Only the reference goes: utterances that decode on it keep it alive until they are done.
    if (extra.length > MAX_VARIANTS) loaded.delete(extra[0]!);
  };
  return {
    get: (variant: Variant): Promise<OfflineRecognizer> => {
      const name = nameOf(variant);
      const known = loaded.get(name);
      loaded.delete(name);
      const recognizer = known ?? load(variant);
      loaded.set(name, recognizer);
      if (!known) recognizer.catch(() => loaded.delete(name));
      makeRoom();
      return recognizer;
    },
  };
};

/** Opens a model: checks it, loads it for greedy search and says what it can do. */
export const openSherpa: OpenEngine = async (model, slots, announce): Promise<Engine> => {
  announce(`checking ${model.id}`);
  const checked = await checkSherpaModel(model);
  const variants = createVariants(model, checked, announce);
  await variants.get(variantOf(model, checked, {}));
  return {
    facts: factsOf(model, checked, slots),
    recognize: async (utterance, options) => {
      const variant = variantOf(model, checked, options);
      const hotwords = toHotwordList(options.hotwords ?? [], options.hotwordsScore, checked.tokens?.letterCase);
      const recognizer = await variants.get(variant);
      const stream = hotwords === undefined ? recognizer.createStream() : recognizer.createStream(hotwords);
      stream.acceptWaveform({ samples: toFloats(utterance), sampleRate: utterance.sampleRate });
      return toRecognition(await recognizer.decodeAsync(stream), checked);
    },
  };
};
