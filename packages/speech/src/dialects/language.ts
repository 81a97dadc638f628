/** Language tags as requests give them and the English names that whisper's clients expect. */

/** Whisper's own names where the Unicode ones differ (openai/whisper, tokenizer.py, LANGUAGES). */
const WHISPER_NAMES: Readonly<Record<string, string>> = {
  bn: 'bengali',
  mi: 'maori',
  my: 'myanmar',
  nn: 'nynorsk',
  tl: 'tagalog',
  jw: 'javanese',
};

const MAX_TAG_CHARS = 35;
const TAG = /^[a-z]{2,8}([-_][a-z0-9]{1,8})*$/i;

/** What `Intl.DisplayNames` takes without throwing: four letters would be a script. */
const NAMEABLE = /^([a-z]{2,3}|[a-z]{5,8})$/;

/** True for what can be a BCP 47 language tag, `auto` included. */
export const isLanguageTag = (text: string): boolean => text.length <= MAX_TAG_CHARS && TAG.test(text);

/** The bare language in lower case, region and script cut off; nothing for `auto`. */
export const toLanguage = (tag: string): string | undefined => {
  const language = tag.toLowerCase().split(/[-_]/, 1)[0];
  return language === 'auto' || language === '' ? undefined : language;
};

/** The code of a language given as a code or as whisper's English name; the text itself when none of `known` is meant. */
export const languageCodeOf = (language: string, known: ReadonlySet<string>): string =>
  known.has(language) ? language : ([...known].find((code) => languageNameOf(code) === language) ?? language);

/** The English name in lower case as whisper writes it (`ru` → `russian`); the tag itself when it has no name. */
export const languageNameOf = (tag: string): string => {
  const language = toLanguage(tag) ?? tag;
  const known = WHISPER_NAMES[language];
  if (known !== undefined) return known;
  if (!NAMEABLE.test(language)) return language;
  return new Intl.DisplayNames(['en'], { type: 'language' }).of(language)?.toLowerCase() ?? language;
};
