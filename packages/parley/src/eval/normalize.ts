/** How texts are made comparable before they are scored. Reference and hypothesis go through the same rules. */

export const NORMALIZATIONS = ['basic', 'none'] as const;
export type Normalization = (typeof NORMALIZATIONS)[number];

/** Typographic apostrophes, as they come out of word processors. */
const APOSTROPHES = /[\u2018\u2019\u02bc\uff07]/gu;
/** All but letters, their marks, digits and apostrophes. */
const SEPARATORS = /[^\p{L}\p{M}\p{N}']+/gu;
const OUTER_APOSTROPHES = /^'+|'+$/gu;

/**
 * The words of a text. `none` parts it at white space and changes nothing. `basic` brings it to Unicode NFKC and lower
 * case and parts it at everything that is not a letter, a mark, a digit or an apostrophe within a word; numbers stay as
 * they are written.
 */
export const toWords = (text: string, normalization: Normalization): string[] => {
  const plain =
    normalization === 'none'
      ? text
      : text.normalize('NFKC').toLowerCase().replace(APOSTROPHES, "'").replace(SEPARATORS, ' ');
  const words = plain.split(/\s+/u);
  const bare = normalization === 'none' ? words : words.map((word) => word.replace(OUTER_APOSTROPHES, ''));
  return bare.filter((word) => word !== '');
};

/** The characters (Unicode code points) of words, without the spaces between them. */
export const toCharacters = (words: readonly string[]): string[] => [...words.join('')];
