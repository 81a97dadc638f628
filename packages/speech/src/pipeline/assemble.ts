/** Recognised utterances into the segments of a transcript: words placed, long stretches parted at pauses, text joined. */
import type { LaidSegment } from '../audio/audio.ts';
import type { Segment, TokenProbability, Word } from '../core/types.ts';
import type { Recognition } from '../recognizer/recognizer.ts';
import { round, toWords } from './words.ts';

/** An utterance and what was heard in it. */
export type Recognized = { readonly audio: LaidSegment; readonly recognition: Recognition };

/** A segment before it has its place in the transcript. */
export type DraftSegment = Omit<Segment, 'id'> & {
  readonly source: 'token' | 'aligned' | 'segment';
  /** Of the whole utterance, on its first segment. */
  readonly probabilities?: readonly TokenProbability[];
};

/** A pause between two words that parts a segment, s. */
const PARTING_PAUSE_SEC = 1;
/** Languages written without spaces between words and segments. */
const UNSPACED_LANGUAGES: ReadonlySet<string> = new Set(['ja', 'zh', 'yue', 'th']);

/** The segments of one utterance: none when nothing was heard. `durationSec` bounds the last one. */
export const toSegments = ({ audio, recognition }: Recognized, wantWords: boolean): DraftSegment[] => {
  const text = recognition.text.trim();
  if (text === '') return [];
  const place = { start: audio.start, end: audio.start + audio.samples.length / audio.sampleRate };
  const timed = toWords(recognition, place);
  const speech = audio.speechProbability === undefined ? {} : { speech_probability: round(audio.speechProbability, 3) };
  const common = { channel: audio.channel, speaker: null, ...speech };
  if (!timed || timed.words.length === 0) {
    return [{ ...common, start: round(place.start, 3), end: round(place.end, 3), text, source: 'segment' }];
  }
  const parts = partAtPauses(timed.words);
  return parts.map((words) => ({
    ...common,
    start: words[0]!.start,
    end: words.at(-1)!.end,
    // A single part keeps the model's own spelling of spaces and punctuation.
    text: parts.length === 1 ? text : words.map((word) => word.word).join(' '),
    source: timed.source,
    ...averageConfidence(words),
    ...(wantWords
      ? { words: audio.channel > 0 ? words.map((word) => ({ ...word, channel: audio.channel })) : words }
      : {}),
  }));
};

const partAtPauses = (words: readonly Word[]): Word[][] => {
  const parts: Word[][] = [[]];
  for (const word of words) {
    const before = parts.at(-1)!.at(-1);
    if (before && word.start - before.end >= PARTING_PAUSE_SEC) parts.push([]);
    parts.at(-1)!.push(word);
  }
  return parts;
};

export const averageConfidence = (words: readonly Word[]): { avg_confidence?: number } => {
  const known = words.map((word) => word.confidence).filter((value) => value !== undefined);
  return known.length === 0 ? {} : { avg_confidence: round(known.reduce((a, b) => a + b, 0) / known.length, 3) };
};

/** What stands between segments and between words: one space, or nothing for languages that write none. */
export const separatorOf = (language: string): string => (UNSPACED_LANGUAGES.has(language) ? '' : ' ');

/** Segments joined by one space; without any for languages that write none. */
export const joinText = (segments: readonly Pick<Segment, 'text'>[], language: string): string =>
  segments.map((segment) => segment.text).join(separatorOf(language));

/** The tokens of an utterance with their log-probabilities; none unless all have one. */
export const probabilitiesOf = ({ tokens }: Recognition): TokenProbability[] => {
  const known = tokens.flatMap(({ text, logProb }) =>
    logProb === undefined ? [] : [{ token: text, logprob: round(logProb, LOG_DIGITS) }],
  );
  return known.length === tokens.length ? known : [];
};

const LOG_DIGITS = 4;
