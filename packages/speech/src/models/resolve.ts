/** Which installed model a request means (docs/speech-api.md: model resolution). Pure. Aliases are the dialect's. */
import type { Problem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import { type InstalledModel, isUsable, type UsableModel } from './installed.ts';

export type ResolveRules = {
  /** `asr.default_model`, with optional `@revision`; empty is none. */
  readonly defaultModel: string;
  /** `asr.default_models`: language → model. */
  readonly defaultModels: Readonly<Record<string, string>>;
  /** What the first start chose. */
  readonly firstChoice: string | undefined;
  /** The revision that serves an id when a request names none. */
  readonly servingRevision: (id: string) => string | undefined;
};

/** `ru-RU` → `ru`; empty and `auto` are no language. */
export const baseLanguageOf = (language: string | undefined): string | undefined => {
  const base = language?.trim().toLowerCase().split(/[-_]/)[0];
  return base === undefined || base === '' || base === 'auto' ? undefined : base;
};

const listsLanguage = (model: UsableModel, base: string): boolean =>
  model.manifest.languages.some((language) => language === 'multi' || baseLanguageOf(language) === base);

export const isTranscriber = (model: UsableModel): boolean =>
  model.manifest.kind === 'asr' && !model.manifest.streaming;

const notFound = (name: string): Problem =>
  problem('model_not_found', `The model ${JSON.stringify(name.slice(0, 130))} is not installed.`, { param: 'model' });

/** The installed model of that name (`id` or `id@revision`), broken ones included. */
const lookUp = (models: readonly InstalledModel[], name: string, rules: ResolveRules): InstalledModel | undefined => {
  const at = name.indexOf('@');
  const id = at < 0 ? name : name.slice(0, at);
  const ofId = models.filter((model) => model.id === id);
  if (at >= 0) return ofId.find((model) => model.revision === name.slice(at + 1));
  const serving = rules.servingRevision(id);
  return (
    ofId.find((model) => model.revision === serving && isUsable(model)) ??
    ofId.find((model) => isUsable(model)) ??
    ofId[0]
  );
};

const named = (models: readonly InstalledModel[], name: string, rules: ResolveRules): UsableModel => {
  const model = lookUp(models, name, rules);
  if (!model) throw notFound(name);
  if (!isUsable(model)) {
    throw problem('model_unavailable', `Model ${model.id} cannot be used: ${model.problem}.`, { param: 'model' });
  }
  if (!isTranscriber(model)) {
    const what = model.manifest.kind === 'asr' ? 'a streaming model' : `a ${model.manifest.kind} model`;
    throw problem('capability_unavailable', `Model ${model.id} is ${what}; it cannot transcribe recordings.`, {
      param: 'model',
    });
  }
  return model;
};

/** Real models before the demonstration one, the larger first. */
export const mostCapable = (models: readonly UsableModel[]): UsableModel | undefined =>
  models.toSorted(
    (a, b) => Number(a.manifest.demonstration) - Number(b.manifest.demonstration) || b.sizeBytes - a.sizeBytes,
  )[0];

/** A configured name that is not (or no longer) usable is passed over: a request must not fail for a stale setting. */
const configured = (
  models: readonly UsableModel[],
  name: string | undefined,
  rules: ResolveRules,
): UsableModel | undefined => {
  const model = name ? lookUp(models, name, rules) : undefined;
  return isUsable(model) ? model : undefined;
};

/** One revision of each id: the serving one. */
const oneEach = (models: readonly UsableModel[], rules: ResolveRules): UsableModel[] =>
  [...new Set(models.map((model) => model.id))].flatMap((id) => configured(models, id, rules) ?? []);

/** The model for requests that name neither model nor language, if any is installed. */
export const defaultModelOf = (models: readonly InstalledModel[], rules: ResolveRules): UsableModel | undefined => {
  const usable = models.filter(isUsable).filter(isTranscriber);
  const wanted = configured(usable, rules.defaultModel, rules);
  const first = configured(usable, rules.firstChoice, rules);
  const best = mostCapable(oneEach(usable, rules));
  // A first start that only found the demonstration model must not stand against a real one that came later.
  const outgrown = first?.manifest.demonstration === true && best?.manifest.demonstration === false;
  return wanted ?? (outgrown ? best : (first ?? best));
};

const forLanguage = (models: readonly InstalledModel[], base: string, rules: ResolveRules): UsableModel | undefined => {
  const usable = models.filter(isUsable).filter(isTranscriber);
  const wanted = Object.entries(rules.defaultModels).find(([language]) => baseLanguageOf(language) === base)?.[1];
  const byDefault = defaultModelOf(models, rules);
  return (
    configured(usable, wanted, rules) ??
    (byDefault && listsLanguage(byDefault, base) && !byDefault.manifest.demonstration ? byDefault : undefined) ??
    mostCapable(oneEach(usable, rules).filter((model) => listsLanguage(model, base)))
  );
};

/**
 * The offline transcription model a request means: the one it names, else the language's, else the default. A named
 * model wins over its language. Problems: model_not_found, model_unavailable (installed but unusable),
 * capability_unavailable (streaming or supporting), invalid_request (nothing installed that transcribes).
 */
export const resolveModel = (
  models: readonly InstalledModel[],
  model: string | undefined,
  language: string | undefined,
  rules: ResolveRules,
): UsableModel => {
  const name = model?.trim();
  if (name) return named(models, name, rules);
  const base = baseLanguageOf(language);
  const found = (base && forLanguage(models, base, rules)) || defaultModelOf(models, rules);
  if (!found) throw problem('invalid_request', 'No transcription model is installed.', { param: 'model' });
  return found;
};

/**
 * The model of a realtime session: the one it names, streaming or offline, else `preferred`, else an installed streaming
 * model, else the default offline one; demonstration models last. Problems: model_not_found (supporting models too),
 * model_unavailable (installed but unusable), not_implemented (nothing installed that transcribes).
 */
export const resolveLiveModel = (
  models: readonly InstalledModel[],
  model: string | undefined,
  preferred: string,
  rules: ResolveRules,
): UsableModel => {
  const name = model?.trim();
  if (name) {
    const found = lookUp(models, name, rules);
    if (!found || (found.manifest && found.manifest.kind !== 'asr')) throw notFound(name);
    if (isUsable(found)) return found;
    throw problem('model_unavailable', `Model ${found.id} cannot be used: ${found.problem}.`, { param: 'model' });
  }
  const usable = models.filter(isUsable).filter(({ manifest }) => manifest.kind === 'asr');
  const live = mostCapable(
    oneEach(
      usable.filter(({ manifest }) => manifest.streaming),
      rules,
    ),
  );
  const candidates = [live, defaultModelOf(models, rules)].filter((one) => one !== undefined);
  const found =
    configured(usable, preferred, rules) ?? candidates.find((one) => !one.manifest.demonstration) ?? candidates[0];
  if (!found) throw problem('not_implemented', 'No model is installed that could transcribe a session.');
  return found;
};
