/**
 * Marks and capitals onto words that were recognised without them. A model gives a whole text back; what it wrote is laid
 * along the words letter by letter, so that words, and with them their times, stay what they are. Pure.
 */

/** Full-width marks, as CT-transformers write them, and what stands for them elsewhere. */
const MARKS: Readonly<Record<string, string>> = {
  '，': ',',
  '、': ',',
  '。': '.',
  '．': '.',
  '？': '?',
  '！': '!',
  '；': ';',
  '：': ':',
  ',': ',',
  '.': '.',
  '?': '?',
  '!': '!',
  ';': ';',
  ':': ':',
};
/** Languages that write the full-width marks themselves. */
const FULL_WIDTH: ReadonlySet<string> = new Set(['zh', 'yue', 'ja']);
const ENDS_SENTENCE = /[.?!。？！]["'»”)]*$/u;
/** Letters with full stops between them. */
const ABBREVIATION = /^(?:\p{L}\.){2,}$/u;
const ENDS_IN_MARK = /[^\p{L}\p{N}\s%°]$/u;
const HAS_LETTERS = /\p{L}/u;

const isSpace = (character: string): boolean => character.trim() === '';
const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** What is sent to a model: words without marks of their own; all capitals become small letters. */
export const toPlainText = (words: readonly string[]): string => {
  const text = words.join(' ');
  return isShouted(text) ? text.toLowerCase() : text;
};

const isShouted = (text: string): boolean =>
  HAS_LETTERS.test(text) && text === text.toUpperCase() && text !== text.toLowerCase();

/** Reads along the model's text. */
const createReader = (text: string) => {
  const characters = [...text];
  let at = 0;
  const skip = (test: (character: string) => boolean): void => {
    while (at < characters.length && test(characters[at]!)) at += 1;
  };
  return {
    /** The next character if it is this one in either case; marks and spaces the model put before it are passed over. */
    take: (wanted: string): string | undefined => {
      skip((character) => isSpace(character) && !isSpace(wanted));
      if (at < characters.length && !same(characters[at]!, wanted)) {
        skip((character) => isSpace(character) || (MARKS[character] !== undefined && !same(character, wanted)));
      }
      const found = characters[at];
      if (found === undefined || !same(found, wanted)) return undefined;
      at += 1;
      return found;
    },
    /** The first mark here, if any; all of them are passed over. */
    mark: (): string | undefined => {
      let first: string | undefined;
      skip((character) => {
        if (MARKS[character] !== undefined) first ??= character;
        return isSpace(character) || MARKS[character] !== undefined;
      });
      return first;
    },
    isDone: (): boolean => at >= characters.length,
  };
};

/** One word as the model wrote it, with the mark behind it; undefined when the model wrote something else. */
const readWord = (word: string, reader: ReturnType<typeof createReader>, fullWidth: boolean): string | undefined => {
  let written = '';
  for (const character of word) {
    const taken = reader.take(character);
    if (taken === undefined) return undefined;
    written += taken;
  }
  const mark = reader.mark();
  if (mark === undefined || ENDS_IN_MARK.test(written)) return written;
  return written + (fullWidth ? mark : MARKS[mark]!);
};

/** Capitals at the beginning of sentences, for models that write none. */
const capitalise = (words: readonly string[], language: string): string[] => {
  let opens = true;
  return words.map((word) => {
    const own = language === 'en' && /^i(?:['’]\p{L}+)?[^\p{L}]*$/u.test(word);
    const first = opens || own ? word.replace(/\p{L}/u, (letter) => letter.toUpperCase()) : word;
    opens = ENDS_SENTENCE.test(word) && !ABBREVIATION.test(word);
    return first;
  });
};

/**
 * The words with the marks and capitals of `punctuated`, which a model made of them. Undefined when it changed more than
 * marks, spaces and case.
 */
export const attachMarks = (words: readonly string[], punctuated: string, language: string): string[] | undefined => {
  const reader = createReader(punctuated);
  const written: string[] = [];
  for (const word of words) {
    const next = readWord(word, reader, FULL_WIDTH.has(language));
    if (next === undefined) return undefined;
    written.push(next);
  }
  if (!reader.isDone()) return undefined;
  const hasCapitals = written.some((word) => word !== word.toLowerCase());
  return hasCapitals ? written : capitalise(written, language);
};

/** The text again, with each word replaced; what stood between words stays. Words that are not found are joined by spaces. */
export const replaceWords = (text: string, words: readonly string[], written: readonly string[]): string => {
  let at = 0;
  let out = '';
  for (const [index, word] of words.entries()) {
    const place = text.indexOf(word, at);
    if (place < 0) return written.join(' ');
    out += text.slice(at, place) + written[index]!;
    at = place + word.length;
  }
  return out + text.slice(at);
};
