/**
 * A transcript laid out for showing: every word with its place and number, what is silent between segments, and the word
 * that is heard at a time. Pure; corrections are kept apart and laid over it.
 */
import type { Segment, Transcript } from '@parley/speech/core/types.ts';

export type ShownWord = {
  /** Counts through the whole transcript; what the page knows a word by. */
  readonly index: number;
  /** What stands before it in its segment: a space, or nothing where none is written. */
  readonly glue: string;
  readonly text: string;
  readonly startSec: number;
  readonly endSec: number;
  readonly confidence: number | undefined;
  /** What was said, where digits or marks replaced it. */
  readonly original: string | undefined;
};

export type ShownSegment = {
  readonly at: number;
  readonly startSec: number;
  readonly endSec: number;
  /** Undefined when nobody is told apart. */
  readonly speaker: string | undefined;
  readonly words: readonly ShownWord[];
  /** Silence before it, seconds; 0 when too short to be told. */
  readonly silenceSec: number;
};

export type Layout = {
  readonly segments: readonly ShownSegment[];
  readonly wordCount: number;
  /** Start of each word, rising. */
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  /** Word → place of its segment. */
  readonly segmentOf: Uint32Array;
  readonly speakers: readonly string[];
};

/** Corrections: word → new text (empty drops the word), speaker → name. */
export type Edits = {
  readonly words: Readonly<Record<string, string>>;
  readonly speakers: Readonly<Record<string, string>>;
};
export const NO_EDITS: Edits = { words: {}, speakers: {} };

/** Shorter pauses are how people speak. */
const SHOWN_SILENCE_SEC = 1;

export const layOut = (transcript: Transcript): Layout => {
  const hasChannels = transcript.segments.some(({ channel }) => channel > 0);
  const segments: ShownSegment[] = [];
  let index = 0;
  for (const [at, segment] of transcript.segments.entries()) {
    const words = wordsOf(segment, index);
    index += words.length;
    segments.push({
      at,
      startSec: segment.start,
      endSec: segment.end,
      speaker: segment.speaker ?? (hasChannels ? `channel ${segment.channel + 1}` : undefined),
      words,
      silenceSec: silenceBefore(transcript, at),
    });
  }
  const all = segments.flatMap(({ words }) => words);
  return {
    segments,
    wordCount: all.length,
    starts: Float64Array.from(all, ({ startSec }) => startSec),
    ends: Float64Array.from(all, ({ endSec }) => endSec),
    segmentOf: Uint32Array.from(segments.flatMap(({ at, words }) => words.map(() => at))),
    speakers: [...new Set(segments.flatMap(({ speaker }) => (speaker === undefined ? [] : [speaker])))],
  };
};

const silenceBefore = ({ segments, silence }: Transcript, at: number): number => {
  const from = at === 0 ? 0 : segments[at - 1]!.end;
  const until = segments[at]!.start;
  const longest = Math.max(
    0,
    ...silence
      .filter(({ start, end }) => end > from && start < until)
      .map(({ start, end }) => Math.min(end, until) - Math.max(start, from)),
  );
  return longest >= SHOWN_SILENCE_SEC ? longest : 0;
};

/** The words of a segment as they stand in its text; a segment without word times is one long word. */
const wordsOf = (segment: Segment, firstIndex: number): ShownWord[] => {
  if (!segment.words || segment.words.length === 0) {
    const { text, start: startSec, end: endSec, avg_confidence: confidence } = segment;
    return text === ''
      ? []
      : [{ index: firstIndex, glue: '', text, startSec, endSec, confidence, original: undefined }];
  }
  let from = 0;
  return segment.words.map((word, at) => {
    const found = segment.text.indexOf(word.word, from);
    const glue = found < 0 ? ' ' : segment.text.slice(from, found);
    if (found >= 0) from = found + word.word.length;
    return {
      index: firstIndex + at,
      glue: at === 0 ? '' : glue,
      text: word.word,
      startSec: word.start,
      endSec: word.end,
      confidence: word.confidence,
      original: word.original,
    };
  });
};

/** The last word that began at or before `timeSec`; -1 before the first. */
export const lastBegun = (starts: Float64Array, timeSec: number): number => {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= timeSec) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};

/** How long after its end a word still counts as heard, so that the mark does not flicker between words. */
const LINGER_SEC = 0.25;

/** The word heard at `timeSec`, or -1 in a pause. */
export const wordAt = ({ starts, ends }: Layout, timeSec: number): number => {
  const index = lastBegun(starts, timeSec);
  return index >= 0 && timeSec < ends[index]! + LINGER_SEC ? index : -1;
};

export const textOf = (word: ShownWord, edits: Edits): string => edits.words[word.index] ?? word.text;
export const nameOf = (speaker: string, edits: Edits): string => edits.speakers[speaker] || speaker;

/** A segment's text with its corrections. */
const textOfSegment = (segment: ShownSegment, edits: Edits): string =>
  segment.words
    .map((word) => ({ glue: word.glue, text: textOf(word, edits) }))
    .filter(({ text }) => text !== '')
    .map(({ glue, text }, at) => (at === 0 ? text : glue + text))
    .join('');

/** The transcript with its corrections and names, times as they were. */
export const correct = (transcript: Transcript, layout: Layout, edits: Edits): Transcript => {
  const segments = transcript.segments.map((segment, at): Segment => {
    const shown = layout.segments[at]!;
    const speaker = shown.speaker === undefined ? segment.speaker : nameOf(shown.speaker, edits);
    const words = segment.words?.flatMap((word, place) => {
      const text = textOf(shown.words[place]!, edits);
      return text === ''
        ? []
        : [{ ...word, word: text, ...(word.speaker === undefined ? {} : { speaker: nameOf(word.speaker, edits) }) }];
    });
    return { ...segment, speaker, text: textOfSegment(shown, edits), ...(words ? { words } : {}) };
  });
  const glue = transcript.segments.length > 1 && isUnspaced(transcript) ? '' : ' ';
  const text = segments
    .map((segment) => segment.text)
    .filter((one) => one !== '')
    .join(glue);
  const speakers = transcript.speakers?.map((speaker) => ({ ...speaker, id: nameOf(speaker.id, edits) }));
  return { ...transcript, text, segments, ...(speakers ? { speakers } : {}) };
};

/** Whether the service joined the segments without a space. */
const isUnspaced = ({ text, segments }: Transcript): boolean => text.startsWith(segments[0]!.text + segments[1]!.text);

export type Match = { readonly segment: number; readonly from: number; readonly until: number };

/** More places than anybody walks through. */
const MAX_MATCHES = 2000;

/** Places where `wanted` is said, corrections included; case does not matter. Word numbers, `until` not included. */
export const search = (layout: Layout, edits: Edits, wanted: string): Match[] => {
  const needle = wanted.trim().toLocaleLowerCase();
  const matches: Match[] = [];
  if (needle === '') return matches;
  for (const segment of layout.segments) {
    const ends: number[] = [];
    let text = '';
    for (const word of segment.words) {
      text += word.glue + textOf(word, edits).toLocaleLowerCase();
      ends.push(text.length);
    }
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
      const first = ends.findIndex((end) => end > at);
      const last = ends.findIndex((end) => end >= at + needle.length);
      if (first < 0 || matches.length >= MAX_MATCHES) break;
      const base = segment.words[0]!.index;
      matches.push({ segment: segment.at, from: base + first, until: base + (last < 0 ? ends.length : last + 1) });
    }
  }
  return matches;
};
