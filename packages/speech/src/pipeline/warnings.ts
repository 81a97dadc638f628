/**
 * What was asked and cannot be done: warnings gathered from the request and what the model says of itself. In strict
 * mode the degrading ones become one refusal, here and nowhere else.
 */
import { problem } from '../core/codes.ts';
import type { ChannelMode, ModelInfo, TranscriptionRequest, Warning, WarningCode } from '../core/types.ts';
import type { EngineFacts } from '../recognizer/recognizer.ts';
import { hasNumberRules } from './itn.ts';

/** Warnings that mean the answer is less than what was asked (docs/speech-api.md: marked *Strict*). */
const DEGRADING: ReadonlySet<WarningCode> = new Set([
  'word_timestamps_unavailable',
  'hotwords_unavailable',
  'decoding_method_unavailable',
  'punctuation_unavailable',
  'itn_unavailable',
  'diarization_unavailable',
  'language_mismatch',
] satisfies WarningCode[]);

/** Region and case do not matter: `ru-RU` is `ru`. */
const sameLanguage = (one: string, other: string): boolean => baseLanguage(one) === baseLanguage(other);
export const baseLanguage = (tag: string): string => tag.split(/[-_]/)[0]!.toLowerCase();

/** What the house can do now, beyond the model. */
export type Stages = {
  readonly hotwordsEnabled: boolean;
  /** Whether an installed punctuation model fits the language (without region). */
  canPunctuate(language: string): boolean;
  readonly canDiarize: boolean;
  /** What is done with several channels when a request does not say. */
  readonly channelMode: ChannelMode;
};

type Check = (request: TranscriptionRequest, model: ModelInfo, stages: Stages) => Warning | undefined;

const checks: readonly Check[] = [
  (request, model) =>
    request.wordTimestamps === true && !model.capabilities.word_timestamps
      ? warn(
          'word_timestamps_unavailable',
          `${model.id} gives no word times; segment times are given.`,
          'word_timestamps',
        )
      : undefined,
  (request, model) =>
    request.wordTimestamps === true && model.capabilities.word_timestamps && !model.capabilities.confidence
      ? warn('word_confidence_unavailable', `${model.id} reports no token probabilities.`)
      : undefined,
  (request, model, stages) =>
    request.hotwords.length > 0 && !(stages.hotwordsEnabled && model.capabilities.hotwords)
      ? warn('hotwords_unavailable', `${model.id} cannot favour words; hotwords are left out.`, 'hotwords')
      : undefined,
  (request, model, stages) =>
    request.punctuate === true &&
    !(model.capabilities.punctuation_builtin || stages.canPunctuate(languageOf(request, model)))
      ? warn('punctuation_unavailable', `${model.id} does not punctuate and no punctuation model fits.`, 'punctuate')
      : undefined,
  (request, model) =>
    request.itn === true && !hasNumberRules(languageOf(request, model))
      ? warn('itn_unavailable', 'There are no rules that write numbers as digits for this language.', 'itn')
      : undefined,
  (request, _model, stages) =>
    request.diarize && !stages.canDiarize && (request.channelMode ?? stages.channelMode) !== 'split'
      ? warn('diarization_unavailable', 'There is no model that tells speakers apart.', 'diarize')
      : undefined,
  (request, model) =>
    request.tokenProbabilities && !model.capabilities.confidence
      ? warn('logprobs_unavailable', `${model.id} reports no token probabilities.`, 'include[]')
      : undefined,
  (request, model) =>
    request.language !== undefined && !listsLanguage(model, request.language)
      ? warn('language_mismatch', `${model.id} does not list the language ${request.language}.`, 'language')
      : undefined,
];

/** The language asked for when the model lists it, else the model's own first one. Without region. */
export const languageOf = (
  request: Pick<TranscriptionRequest, 'language'>,
  model: Pick<ModelInfo, 'languages'>,
): string => {
  if (request.language !== undefined && listsLanguage(model, request.language)) return baseLanguage(request.language);
  const first = model.languages.find((language) => language !== 'multi');
  return baseLanguage(first ?? request.language ?? FALLBACK_LANGUAGE);
};

/** Of a model for any language, when nothing says which one is spoken. */
const FALLBACK_LANGUAGE = 'en';

/** True when the model lists the language or is free of languages (`multi`). */
const listsLanguage = (model: Pick<ModelInfo, 'languages'>, language: string): boolean =>
  model.languages.some((listed) => listed === 'multi' || sameLanguage(listed, language));

export const warn = (code: WarningCode, message: string, param?: string): Warning => ({
  code,
  message,
  ...(param === undefined ? {} : { param }),
});

/** Says so when bytes without a header were taken for samples; `format` is what the media process found. */
export const rawWarnings = (format: string): Warning[] =>
  format === 'pcm'
    ? [warn('raw_pcm_assumed', 'The bytes have no known header and were taken as 16 kHz 16-bit mono.', 'encode')]
    : [];

/**
 * The request's own warnings and those that follow from the model. Throws capability_unavailable (422) in strict mode
 * when any of them degrades the answer.
 */
export const checkModel = (request: TranscriptionRequest, model: ModelInfo, stages: Stages): Warning[] => {
  const found = checks.map((check) => check(request, model, stages)).filter((warning) => warning !== undefined);
  const all = [...request.warnings, ...found];
  refuseWhenStrict(request, all);
  return all;
};

/** As `checkModel`, with what only the loaded engine knows. */
export const checkCapabilities = (
  request: TranscriptionRequest,
  model: ModelInfo,
  facts: EngineFacts,
  stages: Stages,
): Warning[] => {
  const all = checkModel(request, model, stages);
  if (request.decodingMethod === undefined || facts.decodingMethods.includes(request.decodingMethod)) return all;
  all.push(warn('decoding_method_unavailable', `${model.id} decodes its own way.`, 'decoding_method'));
  refuseWhenStrict(request, all);
  return all;
};

/** Throws capability_unavailable (422) for the first degrading warning when the request is strict. */
export const refuseWhenStrict = (request: TranscriptionRequest, warnings: readonly Warning[]): void => {
  const first = request.strict ? warnings.find((warning) => DEGRADING.has(warning.code)) : undefined;
  if (!first) return;
  throw problem('capability_unavailable', first.message, { param: first.param, details: { warning: first.code } });
};
