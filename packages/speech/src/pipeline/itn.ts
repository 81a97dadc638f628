/**
 * Numbers as they are written instead of as they are spoken ("inverse text normalisation"). Pure; the rules and tables of
 * a language are in itn-english*.ts and itn-russian*.ts. Several words that become one share its span, and it keeps what
 * was said as `original`; no time changes otherwise.
 */
import type { Word } from '../core/types.ts';
import { ENGLISH } from './itn-english.ts';
import { type Language, rewrite } from './itn-rules.ts';
import { RUSSIAN } from './itn-russian.ts';

const LANGUAGES: Readonly<Record<string, Language>> = { en: ENGLISH, ru: RUSSIAN };

/** Languages with rules, without regions. */
export const hasNumberRules = (language: string): boolean => Object.hasOwn(LANGUAGES, language);

/** The text with its numbers in digits. A language without rules leaves it as it is. */
export const writeNumbers = (text: string, language: string): string => {
  const words = text.split(/\s+/).filter((word) => word !== '');
  return writeNumbersIn(
    words.map((word) => ({ word, start: 0, end: 0 })),
    language,
  )
    .map(({ word }) => word)
    .join(' ');
};

/** The words with numbers in digits: those that merge become one from the first's start to the last's end. */
export const writeNumbersIn = (words: readonly Word[], language: string): Word[] => {
  const rules = LANGUAGES[language];
  if (!rules || words.length === 0) return [...words];
  const out: Word[] = [];
  let next = 0;
  for (const { text, from, to } of rewrite(
    rules,
    words.map(({ word }) => word),
  )) {
    out.push(...words.slice(next, from), merge(words.slice(from, to), text));
    next = to;
  }
  return [...out, ...words.slice(next)];
};

const merge = (words: readonly Word[], text: string): Word => {
  const [first, last] = [words[0]!, words.at(-1)!];
  const original = words.map(({ word, original: earlier }) => earlier ?? word).join(' ');
  const { confidence: _confidence, ...rest } = first;
  return { ...rest, word: text, end: last.end, ...confidenceOf(words), original };
};

const THOUSANDTHS = 1000;

/** The mean of the words' confidences; left out unless all have one. */
const confidenceOf = (words: readonly Word[]): { confidence?: number } => {
  let sum = 0;
  for (const { confidence } of words) {
    if (confidence === undefined) return {};
    sum += confidence;
  }
  return { confidence: Math.round((sum / words.length) * THOUSANDTHS) / THOUSANDTHS };
};
