/** Tokens into words with times. Times in are seconds from the utterance's first sample, times out from the recording's. */
import type { Word } from '../core/types.ts';
import type { Recognition, RecognizedToken } from '../recognizer/recognizer.ts';

/** Where an utterance lies: seconds from the start of the recording. */
export type Placement = { readonly start: number; readonly end: number };

export type TimedWords = {
  readonly words: readonly Word[];
  /** `token`: measured. `aligned`: the tokens do not spell the text, so its words share out the tokens' times. */
  readonly source: 'token' | 'aligned';
};

/** Longest a word is taken to last beyond the start of its last token when nothing follows it, s. */
const LAST_TOKEN_SEC = 0.4;
/** Shortest word, s: three decimals must show start < end. */
const SHORTEST_WORD_SEC = 0.01;
/** Marks a new word in SentencePiece vocabularies (U+2581). */
const WORD_MARK = '▁';
/** Scripts written without spaces between words: each character counts as a word. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** The words of one recognition, or undefined when the engine gave no times. */
export const toWords = (recognition: Recognition, place: Placement): TimedWords | undefined => {
  if (recognition.words)
    return {
      words: keepOrder(
        recognition.words.map((word) => ({ ...word })),
        place,
      ),
      source: 'token',
    };
  if (recognition.tokens.length === 0) return undefined;
  const grouped = groupTokens(recognition.tokens);
  const written = splitText(recognition.text);
  const spelled = grouped.map((word) => word.word);
  if (spelled.join('') === written.join('')) return { words: keepOrder(grouped, place), source: 'token' };
  return { words: keepOrder(shareOut(written, recognition.tokens), place), source: 'aligned' };
};

const isSpace = (text: string): boolean => text.trim() === '';

/** Text into words: at spaces, and around each character of a script that has none. */
export const splitText = (text: string): string[] =>
  text
    .split(/\s+/)
    .flatMap((piece) => (UNSPACED.test(piece) ? splitUnspaced(piece) : [piece]))
    .filter((word) => word !== '');

const splitUnspaced = (piece: string): string[] => {
  const words: string[] = [];
  let run = '';
  for (const character of piece) {
    if (!UNSPACED.test(character)) {
      run += character;
      continue;
    }
    if (run !== '') words.push(run);
    run = '';
    words.push(character);
  }
  return run === '' ? words : [...words, run];
};

type Span = { word: string; start: number; end: number; confidence?: number };
type OpenWord = { word: string; tokens: RecognizedToken[] };

const groupTokens = (tokens: readonly RecognizedToken[]): Span[] => {
  const open: OpenWord[] = [];
  let boundary = true;
  for (const token of tokens) {
    const spelled = token.text.replaceAll(WORD_MARK, ' ');
    if (isSpace(spelled)) {
      boundary ||= spelled !== '';
      continue;
    }
    const letters = spelled.trim();
    const last = open.at(-1);
    const opens =
      boundary || spelled.startsWith(' ') || UNSPACED.test(letters) || (last !== undefined && UNSPACED.test(last.word));
    if (opens || !last) open.push({ word: letters, tokens: [token] });
    else {
      last.word += letters;
      last.tokens.push(token);
    }
    boundary = spelled.endsWith(' ');
  }
  return open.map((word, index) => spanOf(word, open[index + 1]));
};

const spanOf = ({ word, tokens }: OpenWord, next: OpenWord | undefined): Span => {
  const first = tokens[0]!;
  const last = tokens.at(-1)!;
  const heard = last.start + (last.duration || LAST_TOKEN_SEC);
  const end = next ? Math.min(next.tokens[0]!.start, heard) : heard;
  return { word, start: first.start, end, ...confidenceOf(tokens) };
};

/** exp of the mean log-probability; left out unless every token has one. */
const confidenceOf = (tokens: readonly RecognizedToken[]): { confidence?: number } => {
  let sum = 0;
  for (const token of tokens) {
    if (token.logProb === undefined) return {};
    sum += token.logProb;
  }
  return { confidence: round(Math.min(1, Math.exp(sum / tokens.length)), 3) };
};

/** Gives each written word the stretch of tokens that its share of the letters covers. */
const shareOut = (written: readonly string[], tokens: readonly RecognizedToken[]): Span[] => {
  const letters = written.reduce((sum, word) => sum + word.length, 0);
  const startAt = (letter: number): number => {
    const place = (letter / Math.max(1, letters)) * tokens.length;
    const index = Math.min(tokens.length - 1, Math.floor(place));
    const here = tokens[index]!.start;
    const next = tokens[index + 1]?.start ?? here + LAST_TOKEN_SEC;
    return here + (next - here) * Math.min(1, place - index);
  };
  let letter = 0;
  return written.map((word) => {
    const start = startAt(letter);
    letter += word.length;
    return { word, start, end: startAt(letter) };
  });
};

export const round = (value: number, digits: number): number => {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
};

/** Moves spans to the recording's clock and holds start < end ≤ the utterance's end, each word after the one before. */
const keepOrder = (spans: readonly Span[], place: Placement): Word[] => {
  const shortest = Math.min(SHORTEST_WORD_SEC, (place.end - place.start) / Math.max(1, spans.length));
  let earliest = place.start;
  return spans.map((span, index) => {
    // Every word that follows still needs its shortest length before the end.
    const reserved = (spans.length - index - 1) * shortest;
    const start = Math.max(earliest, Math.min(place.start + span.start, place.end - reserved - shortest));
    const end = Math.min(Math.max(place.start + span.end, start + shortest), place.end - reserved);
    earliest = end;
    const confidence = span.confidence === undefined ? {} : { confidence: round(span.confidence, 3) };
    return { word: span.word, start: round(start, 3), end: round(end, 3), ...confidence };
  });
};
