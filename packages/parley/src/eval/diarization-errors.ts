/** Diarization error rate of one recording and of many, as NIST's md-eval works it out. */
import { assign } from './assignment.ts';

/** A stretch of the recording, seconds. */
export type Span = { readonly start: number; readonly end: number };
/** A stretch in which somebody speaks. */
export type Turn = Span & { readonly speaker: string };

/** Seconds of speakers: a second in which two speak counts twice. */
export type DiarizationErrors = {
  readonly scored: number;
  readonly missed: number;
  readonly falseAlarm: number;
  readonly confusion: number;
};

export type DiarizationRules = {
  /** Seconds before and after each boundary of the reference that are not scored. */
  readonly collarSec: number;
  /** Whether stretches are scored in which several speak, by the reference. */
  readonly overlap: boolean;
};

type Piece = { readonly sec: number; readonly said: ReadonlySet<string>; readonly heard: ReadonlySet<string> };

/** `spans` in order, without `holes`. */
const without = (spans: readonly Span[], holes: readonly Span[]): Span[] => {
  const ordered = [...holes].sort((a, b) => a.start - b.start);
  return spans.flatMap((span) => {
    const left: Span[] = [];
    let { start } = span;
    for (const hole of ordered) {
      if (hole.end <= start || hole.start >= span.end) continue;
      if (hole.start > start) left.push({ start, end: hole.start });
      start = Math.max(start, hole.end);
    }
    if (start < span.end) left.push({ start, end: span.end });
    return left;
  });
};

type Boundary = { readonly at: number; readonly change: 1 | -1; readonly track: Track; readonly name: string };
type Track = 'said' | 'heard' | 'scored';

const boundariesOf = (track: Track, spans: readonly (Span & { readonly speaker?: string })[]): Boundary[] =>
  spans
    .filter(({ start, end }) => end > start)
    .flatMap(({ start, end, speaker = '' }) => [
      { at: start, change: 1, track, name: speaker },
      { at: end, change: -1, track, name: speaker },
    ]);

/** Cuts the scored time wherever somebody begins or ends. One speaker may be named twice at once and counts once. */
const cut = (said: readonly Turn[], heard: readonly Turn[], scored: readonly Span[]): Piece[] => {
  const boundaries = [
    ...boundariesOf('said', said),
    ...boundariesOf('heard', heard),
    ...boundariesOf('scored', scored),
  ];
  boundaries.sort((a, b) => a.at - b.at);
  const active: Record<Track, Map<string, number>> = { said: new Map(), heard: new Map(), scored: new Map() };
  const pieces: Piece[] = [];
  let from = 0;
  for (const { at, change, track, name } of boundaries) {
    if (at > from && active.scored.size > 0) {
      pieces.push({ sec: at - from, said: new Set(active.said.keys()), heard: new Set(active.heard.keys()) });
    }
    from = at;
    const count = (active[track].get(name) ?? 0) + change;
    if (count > 0) active[track].set(name, count);
    else active[track].delete(name);
  }
  return pieces;
};

/** Which speaker of the hypothesis stands for which of the reference: those that share the most time in all. */
const mapSpeakers = (pieces: readonly Piece[]): Map<string, string> => {
  const said = [...new Set(pieces.flatMap((piece) => [...piece.said]))];
  const heard = [...new Set(pieces.flatMap((piece) => [...piece.heard]))];
  const shared = said.map(() => heard.map(() => 0));
  for (const piece of pieces) {
    for (const one of piece.said) {
      for (const other of piece.heard) shared[said.indexOf(one)]![heard.indexOf(other)]! += piece.sec;
    }
  }
  const pairs = assign(shared).flatMap((column, row): [string, string][] =>
    column === undefined || shared[row]![column] === 0 ? [] : [[said[row]!, heard[column]!]],
  );
  return new Map(pairs);
};

/**
 * Compares who spoke when, by the reference and by the service, over the time in `scored`. For each piece of time with
 * R speakers said, H heard and C of them the same: R is scored, max(R − H, 0) missed, max(H − R, 0) false alarm and
 * min(R, H) − C confusion, each times its length. Speakers are paired once a recording, over the whole scored time; only
 * then collars and overlaps are left out (NIST Rich Transcription evaluation plan RT-09; md-eval version 22).
 */
export const scoreSpeakers = (
  said: readonly Turn[],
  heard: readonly Turn[],
  scored: readonly Span[],
  { collarSec, overlap }: DiarizationRules,
): DiarizationErrors => {
  const pairs = mapSpeakers(cut(said, heard, scored));
  const collars = said
    .flatMap(({ start, end }) => [start, end])
    .map((at): Span => ({ start: at - collarSec, end: at + collarSec }));
  const sums = { scored: 0, missed: 0, falseAlarm: 0, confusion: 0 };
  for (const piece of cut(said, heard, without(scored, collars))) {
    const [r, h] = [piece.said.size, piece.heard.size];
    if (r > 1 && !overlap) continue;
    const correct = [...piece.said].filter((speaker) => piece.heard.has(pairs.get(speaker) ?? '')).length;
    sums.scored += r * piece.sec;
    sums.missed += Math.max(r - h, 0) * piece.sec;
    sums.falseAlarm += Math.max(h - r, 0) * piece.sec;
    sums.confusion += (Math.min(r, h) - correct) * piece.sec;
  }
  return sums;
};

export const sumOfSpeakers = (all: readonly DiarizationErrors[]): DiarizationErrors => {
  const sum = (part: keyof DiarizationErrors): number => all.reduce((total, one) => total + one[part], 0);
  return { scored: sum('scored'), missed: sum('missed'), falseAlarm: sum('falseAlarm'), confusion: sum('confusion') };
};

/** (missed + false alarm + confusion) / scored, 1 is 100 %. Undefined where nobody speaks. */
export const derOf = ({ scored, missed, falseAlarm, confusion }: DiarizationErrors): number | undefined =>
  scored === 0 ? undefined : (missed + falseAlarm + confusion) / scored;
