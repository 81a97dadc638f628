/** Phrases to favour, spelled the way sherpa-onnx reads them for one stream: `PHRASE :score/PHRASE :score`. */
import type { RecognizeOptions } from '../recognizer.ts';
import type { TokenTable } from './tokens.ts';

type Hotwords = NonNullable<RecognizeOptions['hotwords']>;

const DEFAULT_SCORE = 1.5;
const SCORE_DIGITS = 2;

/** `/` parts phrases, and a word that opens with `:`, `#` or `@` is read as an option. */
const toPlainWords = (phrase: string): string =>
  phrase
    .replaceAll(/[/\p{Cc}]/gu, ' ')
    .split(/\s+/)
    .map((word) => word.replace(/^[:#@]+/u, ''))
    .filter((word) => word !== '')
    .join(' ');

const spell = (phrase: string, letterCase: TokenTable['letterCase']): string => {
  if (letterCase === 'mixed') return phrase;
  return letterCase === 'upper' ? phrase.toUpperCase() : phrase.toLowerCase();
};

/** The list for one stream, or undefined when nothing is left of the phrases. */
export const toHotwordList = (
  hotwords: Hotwords,
  score: number = DEFAULT_SCORE,
  letterCase: TokenTable['letterCase'] = 'mixed',
): string | undefined => {
  const list = hotwords
    .map((hotword) => ({ phrase: spell(toPlainWords(hotword.phrase), letterCase), score: hotword.score ?? score }))
    .filter(({ phrase }) => phrase !== '')
    .map((hotword) => `${hotword.phrase} :${hotword.score.toFixed(SCORE_DIGITS)}`);
  return list.length > 0 ? list.join('/') : undefined;
};
