/**
 * Text that only ever grows, out of hypotheses that may take words back. What a decoder that retracts may still change
 * is withheld: a word is told once two hypotheses in a row agree on it and another word stands behind it.
 */

export type Deltas = {
  /** The next hypothesis; gives what may be told now, perhaps nothing. */
  push(text: string): string;
  /** The last word: whatever of it was not told, or nothing when it contradicts what was. */
  finish(text: string): string;
  /** All that was told. */
  readonly told: string;
};

/** How much two texts share from their beginning, cut back to the end of a whole word that another one follows. */
const sharedWords = (one: string, other: string): string => {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length += 1;
  const end = one.slice(0, length).lastIndexOf(' ');
  return end < 0 ? '' : one.slice(0, end);
};

/** `retracts`: whether the decoder may take back what it said; one that does not is told at once. */
export const createDeltas = (retracts: boolean): Deltas => {
  let told = '';
  let before = '';
  const tell = (text: string): string => {
    if (text.length <= told.length || !text.startsWith(told)) return '';
    const delta = text.slice(told.length);
    told = text;
    return delta;
  };
  return {
    push: (text) => {
      const stable = retracts ? sharedWords(text, before) : text;
      before = text;
      return tell(stable);
    },
    finish: tell,
    get told() {
      return told;
    },
  };
};
