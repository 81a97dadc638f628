/**
 * Cuts segments into subtitle cues that can be read: at most so many characters, lines and seconds each, broken at
 * word boundaries, preferably after a sentence, a clause or a pause. A single word is never broken.
 */
import type { Segment } from '../core/types.ts';
import { toOneLine } from './text.ts';

/** 0 switches a limit off. `maxChars` is for the whole cue and shared evenly by its lines. */
export type SubtitleLimits = { readonly maxChars: number; readonly maxLines: number; readonly maxSeconds: number };

export type Cue = {
  readonly startSec: number;
  readonly endSec: number;
  readonly lines: readonly string[];
  readonly speaker: string | null;
};

/** A word with the punctuation that clings to it. `glue` is the space before it, empty in unspaced writing. */
type Piece = { readonly text: string; readonly glue: string; readonly startSec: number; readonly endSec: number };

/** A gap between words from which on it reads as a pause. */
const PAUSE_SEC = 0.35;

/** Every cue of the segments, in order. Segments without text give none. */
export const cuesOf = (segments: readonly Segment[], limits: SubtitleLimits): Cue[] =>
  segments.flatMap((segment) => {
    const pieces = piecesOf(segment, limits);
    return divide(pieces, limits).map(
      (part): Cue => ({
        startSec: part[0]!.startSec,
        endSec: part.at(-1)!.endSec,
        lines: wrap(part, limits),
        speaker: segment.speaker,
      }),
    );
  });

const piecesOf = (segment: Segment, limits: SubtitleLimits): Piece[] => {
  const text = toOneLine(segment.text);
  if (text === '') return [];
  const pieces = fromWords(text, segment) ?? fromText(text, segment, limits);
  const last = pieces.length - 1;
  return pieces.map((piece, at) => ({
    ...piece,
    startSec: at === 0 ? segment.start : piece.startSec,
    endSec: at === last ? segment.end : piece.endSec,
  }));
};

/** Pieces along the timed words, or nothing when the words do not add up to the text. */
const fromWords = (text: string, segment: Segment): Piece[] | undefined => {
  const words = segment.words ?? [];
  if (words.length === 0) return undefined;
  const pieces: Piece[] = [];
  let at = 0;
  for (const [index, word] of words.entries()) {
    const wanted = toOneLine(word.word);
    const found = text.indexOf(wanted, at);
    if (wanted === '' || found < 0 || text.slice(at, found).trim() !== '') return undefined;
    const next = words[index + 1];
    const until = next ? text.indexOf(toOneLine(next.word), found + wanted.length) : text.length;
    if (until < 0) return undefined;
    pieces.push({
      text: text.slice(found, until).trimEnd(),
      glue: text.slice(at, found) === '' && !text.slice(0, found).endsWith(' ') ? '' : ' ',
      startSec: word.start,
      endSec: word.end,
    });
    at = until;
  }
  return pieces;
};

/** Pieces at spaces; where a piece alone is too long (unspaced writing), its characters. Times follow the letters. */
const fromText = (text: string, segment: Segment, limits: SubtitleLimits): Piece[] => {
  const perLine = charsPerLine(limits);
  const tokens = text.split(' ').flatMap((word) => {
    const letters = word.length > perLine ? [...word] : [word];
    return letters.map((letter, at) => ({ text: letter, glue: at === 0 ? ' ' : '' }));
  });
  const letterSec = (segment.end - segment.start) / text.length;
  let at = 0;
  return tokens.map((token) => {
    const from = at === 0 ? 0 : at + token.glue.length;
    at = from + token.text.length;
    return { ...token, startSec: segment.start + from * letterSec, endSec: segment.start + at * letterSec };
  });
};

const charsPerLine = ({ maxChars, maxLines }: SubtitleLimits): number =>
  maxChars <= 0 ? Number.POSITIVE_INFINITY : Math.ceil(maxChars / Math.max(1, maxLines));

const joinPieces = (pieces: readonly Piece[]): string =>
  pieces.map((piece, at) => (at === 0 ? piece.text : piece.glue + piece.text)).join('');

/** The lines of one cue, as even as can be. One word too long for a line is let through. */
const wrap = (pieces: readonly Piece[], limits: SubtitleLimits): string[] => {
  const widest = charsPerLine(limits);
  const fewest = fill(pieces, widest);
  if (fewest.length === 1) return fewest;
  for (let width = Math.ceil(joinPieces(pieces).length / fewest.length); width < widest; width += 1) {
    const even = fill(pieces, width);
    if (even.length <= fewest.length && even.every((line) => line.length <= widest)) return even;
  }
  return fewest;
};

const fill = (pieces: readonly Piece[], width: number): string[] => {
  const lines: string[] = [];
  for (const piece of pieces) {
    const line = lines.at(-1);
    if (line === undefined || line.length + piece.glue.length + piece.text.length > width) lines.push(piece.text);
    else lines[lines.length - 1] = line + piece.glue + piece.text;
  }
  return lines;
};

/** How many pieces from `from` on fit into one cue; one always does. */
const countFitting = (pieces: readonly Piece[], from: number, limits: SubtitleLimits): number => {
  const widest = charsPerLine(limits);
  const first = pieces[from]!;
  let lines = 1;
  let lineChars = first.text.length;
  let until = from + 1;
  for (; until < pieces.length; until += 1) {
    const piece = pieces[until]!;
    const isOver = lineChars + piece.glue.length + piece.text.length > widest;
    lines += isOver ? 1 : 0;
    lineChars = isOver ? piece.text.length : lineChars + piece.glue.length + piece.text.length;
    if (limits.maxLines > 0 && lines > limits.maxLines) break;
    if (limits.maxSeconds > 0 && piece.endSec - first.startSec > limits.maxSeconds) break;
  }
  return until - from;
};

type Division = { readonly cost: number; readonly from: number };

/** The cheapest division into cues that fit: few cues, none much shorter than the others, broken where one breathes. */
const divide = (pieces: readonly Piece[], limits: SubtitleLimits): Piece[][] => {
  if (pieces.length === 0) return [];
  if (countFitting(pieces, 0, limits) === pieces.length) return [[...pieces]];
  const best: Division[] = [{ cost: 0, from: 0 }];
  for (let from = 0; from < pieces.length; from += 1) {
    const furthest = from + countFitting(pieces, from, limits);
    for (let until = from + 1; until <= furthest; until += 1) {
      const cost = best[from]!.cost + costOf(pieces, from, until);
      const known = best[until];
      if (known === undefined || cost <= known.cost) best[until] = { cost, from };
    }
  }
  const parts: Piece[][] = [];
  for (let until = pieces.length; until > 0; until = best[until]!.from) {
    parts.unshift(pieces.slice(best[until]!.from, until));
  }
  return parts;
};

/** A cue costs 1, a break in mid-phrase half a cue more, and a cue of under a second or two words a third. */
const costOf = (pieces: readonly Piece[], from: number, until: number): number => {
  const last = pieces[until - 1]!;
  const next = pieces[until];
  const short = until - from <= 2 || last.endSec - pieces[from]!.startSec < 1 ? 0.35 : 0;
  return 1 + short + (next === undefined ? 0 : breakCost(last, next));
};

const breakCost = (last: Piece, next: Piece): number => {
  if (/[.!?…。！？]["'”»)]*$/u.test(last.text)) return 0;
  if (next.startSec - last.endSec >= PAUSE_SEC) return 0.15;
  return /[,;:、，；：—–-]$/u.test(last.text) ? 0.2 : 0.5;
};
