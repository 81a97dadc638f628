/** What the service can do for a recording, told from its installed models. Pure. */
import type { ModelInfo } from '@parley/speech/core/types.ts';
import { isOffline } from './studio.tsx';

export type Offer = {
  readonly models: readonly ModelInfo[];
  /** The model that will be used as far as is known. */
  readonly model: ModelInfo | undefined;
  readonly languages: readonly string[];
  readonly canDiarize: boolean;
  readonly canPunctuate: boolean;
  readonly canItn: boolean;
  readonly canFavour: boolean;
};

/** Languages with rules of their own for numbers. */
const ITN_LANGUAGES = ['en', 'ru'];
const ANY_LANGUAGE = 'multi';

const baseOf = (language: string): string => language.toLowerCase().split('-', 1)[0]!;

const knows = (model: ModelInfo, languages: readonly string[]): boolean =>
  model.languages.some((one) => one === ANY_LANGUAGE || languages.includes(baseOf(one)));

export const offerOf = (installed: readonly ModelInfo[], chosen: { model: string; language: string }): Offer => {
  const usable = installed.filter((model) => model.problem === undefined);
  const hasKind = (kind: ModelInfo['kind']): boolean => usable.some((model) => model.kind === kind);
  const models = usable.filter(isOffline);
  const model = chosen.model === '' ? models.find((one) => one.default) : models.find((one) => one.id === chosen.model);
  const languages = chosen.language === '' ? (model?.languages ?? []) : [chosen.language];
  const bases = languages.map(baseOf);
  const marks = usable.some((one) => one.kind === 'punctuation' && knows(one, bases));
  const digits = usable.some((one) => one.kind === 'itn' && knows(one, bases));
  return {
    models,
    model,
    languages: [...new Set((chosen.model === '' ? models : [model]).flatMap((one) => one?.languages ?? []))]
      .filter((one) => one !== ANY_LANGUAGE)
      .sort(),
    canDiarize: hasKind('diarization') || (hasKind('segmentation') && hasKind('embedding')),
    canPunctuate: marks || model?.capabilities.punctuation_builtin === true,
    canItn: digits || bases.some((base) => ITN_LANGUAGES.includes(base)),
    canFavour: model?.capabilities.hotwords !== false,
  };
};
