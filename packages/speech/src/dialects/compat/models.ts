/** What a model name means to clients of the OpenAI API: aliases, ids, and which models are shown at all. */
import { problem } from '../../core/codes.ts';
import type { ModelInfo, Warning } from '../../core/types.ts';
import type { DialectParts } from '../dialect.ts';
import { languageCodeOf, toLanguage } from '../language.ts';
import type { CompatForm } from './fields.ts';

/** Models that work when passed as `model`: offline transcription models without a fault. */
export const visibleModels = async (parts: DialectParts): Promise<ModelInfo[]> =>
  (await parts.speech.models.list()).filter(
    (model) => model.kind === 'asr' && !model.streaming && model.problem === undefined,
  );

/** The model an id, `id@revision` or alias names. Problem: model_not_found, for hidden models too. */
export const findModel = async (parts: DialectParts, name: string): Promise<ModelInfo> => {
  const visible = await visibleModels(parts);
  const [id, revision] = name.split('@', 2);
  const named = visible.find(
    (model) => model.id === id && (revision === undefined || model.revisions.includes(revision)),
  );
  if (named) return named;
  const target = aliasTargetOf(parts, name);
  if (target === undefined) throw modelNotFound(name);
  if (target === DEFAULT_MODEL) return parts.speech.models.resolve(undefined, undefined);
  return findModel({ ...parts, modelAliases: {} }, target);
};

const DEFAULT_MODEL = 'default';

const aliasTargetOf = ({ modelAliases }: DialectParts, name: string): string | undefined =>
  Object.hasOwn(modelAliases, name) ? modelAliases[name] || DEFAULT_MODEL : undefined;

/** The model an alias stands for, `undefined` in it being the default one; nothing when it is no alias. */
export const aliasOf = (parts: DialectParts, name: string): { readonly model: string | undefined } | undefined => {
  const target = aliasTargetOf(parts, name);
  if (target === undefined) return undefined;
  return { model: target === DEFAULT_MODEL ? undefined : target };
};

const modelNotFound = (name: string): Error =>
  problem('model_not_found', `The model '${name}' does not exist. GET /v1/models lists those that do.`, {
    param: 'model',
  });

export type Choice = {
  readonly model: string | undefined;
  readonly language: string | undefined;
  readonly warnings: readonly Warning[];
};

/** Turns the names in the form into what the service knows. An installed model goes before an alias of its name. */
export const chooseModel = async (parts: DialectParts, form: CompatForm): Promise<Choice> => {
  const visible = await visibleModels(parts);
  const warnings: Warning[] = [];
  const language = chooseLanguage(visible, form, warnings);
  const { model } = form.request;
  if (model === undefined) return { model, language, warnings };
  const target = visible.some(({ id }) => id === model.split('@', 1)[0]) ? undefined : aliasTargetOf(parts, model);
  if (target === undefined) return { model, language, warnings };
  const message = `${model} stands for ${target === DEFAULT_MODEL ? 'the default model' : target} here.`;
  warnings.push({ code: 'model_alias_applied', message, param: 'model' });
  return { model: target === DEFAULT_MODEL ? undefined : target, language, warnings };
};

const chooseLanguage = (
  visible: readonly ModelInfo[],
  { request, languages }: CompatForm,
  warnings: Warning[],
): string | undefined => {
  const installed = new Set(visible.flatMap((model) => model.languages.flatMap((tag) => toLanguage(tag) ?? [])));
  const codeOf = (language: string): string => languageCodeOf(language, installed);
  if (request.language === undefined && languages.length === 0) return undefined;
  const chosen = request.language === undefined ? languages.map(codeOf).find((code) => installed.has(code)) : undefined;
  if (languages.length > 0 && chosen === undefined) {
    const message = request.language ? 'language goes before languages.' : 'No installed model knows any of languages.';
    warnings.push({ code: 'languages_ignored', message, param: 'languages[]' });
  }
  return request.language === undefined ? chosen : codeOf(request.language);
};
