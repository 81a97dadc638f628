/** Whisper takes the English name of a language as well as its code. */
import type { TranscriptionRequest } from '../../core/types.ts';
import type { DialectParts } from '../dialect.ts';
import { languageCodeOf, toLanguage } from '../language.ts';

/** The request with `language=russian` turned into `ru` where an installed model knows the language. */
export const withLanguageCode = async (
  { speech }: DialectParts,
  request: TranscriptionRequest,
): Promise<TranscriptionRequest> => {
  if (request.language === undefined) return request;
  const tags = (await speech.models.list()).flatMap((model) => model.languages);
  const known = new Set(tags.flatMap((tag) => toLanguage(tag) ?? []));
  return { ...request, language: languageCodeOf(request.language, known) };
};
