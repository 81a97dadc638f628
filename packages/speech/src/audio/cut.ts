/**
 * Where to cut a channel: speech decisions by frame go in, pieces for the recogniser come out. Pure. A piece is never
 * longer than the rule's limit and ends in a pause where there is one, else at the quietest frame.
 */

/** Half-open range of frames. */
export type Span = { readonly start: number; readonly end: number };

export type CutOptions = {
  readonly frameSec: number;
  readonly maxSec: number;
  readonly pauseSec: number;
  readonly padSec: number;
  readonly minSilenceSec: number;
  readonly minSpeechSec: number;
};

export type Cutter = {
  /** One more frame; `level` is any measure that grows with loudness. Gives the pieces that are now settled. */
  push(speech: boolean, level: number): readonly Span[];
  /** The end of the recording. */
  flush(): readonly Span[];
  /** Samples of frames before this one will not be asked for any more. */
  oldestNeeded(): number;
  /** Stretches of speech so far, without padding. */
  readonly speech: readonly Span[];
};

/** A piece may end at the next good pause once it has this share of the longest length (4-12 s are cheapest). */
const AIM_SHARE = 0.25;
/** A pause this many times the wanted one always ends a piece. */
const LONG_PAUSE = 2;
/** Without a pause, the quietest frame of the last share of a piece is the place to cut. */
const SEARCH_SHARE = 0.4;
/** What is left behind such a cut, at least. */
const MIN_REST_FRAMES = 10;

type Group = { start: number; end: number; gaps: Span[] };
type Run = { start: number; last: number; voiced: number };

/** The frame with the least loudness around it, in the given range. */
const quietest = (levels: readonly number[], first: number, { start, end }: Span): number => {
  let best = start;
  let least = Number.POSITIVE_INFINITY;
  for (let frame = start; frame < end; frame++) {
    const at = frame - first;
    const sum = (levels[at - 1] ?? 0) + 2 * (levels[at] ?? 0) + (levels[at + 1] ?? 0);
    if (sum < least) {
      least = sum;
      best = frame;
    }
  }
  return best;
};

/** A cutter for one channel. */
export const createCutter = (options: CutOptions): Cutter => {
  const frames = (seconds: number): number => Math.max(1, Math.round(seconds / options.frameSec));
  const pad = Math.round(options.padSec / options.frameSec);
  const maxFrames = Math.max(MIN_REST_FRAMES * 4, Math.floor(options.maxSec / options.frameSec));
  const pauseFrames = frames(options.pauseSec);
  const minSilence = frames(options.minSilenceSec);
  const minSpeech = frames(options.minSpeechSec);
  const speech: Span[] = [];
  let levels: number[] = [];
  let levelsFrom = 0;
  let now = 0;
  /** End of the last piece, padding included; the next one starts no earlier. */
  let taken = 0;
  let run: Run | undefined;
  let group: Group | undefined;

  const confirmed = (): boolean => run !== undefined && run.voiced >= minSpeech;
  const paddedStart = (start: number): number => Math.max(taken, start - pad);
  const oldestNeeded = (): number => paddedStart(group?.start ?? run?.start ?? now);

  const emit = (start: number, end: number): Span => {
    const piece = { start: paddedStart(start), end };
    taken = end;
    return piece;
  };

  /** Puts the running stretch of speech into the group as far as it goes. */
  const extend = (): void => {
    if (run === undefined || !confirmed()) return;
    if (group === undefined) group = { start: run.start, end: run.last + 1, gaps: [] };
    else if (run.start > group.end) group.gaps.push({ start: group.end, end: run.start });
    group.end = Math.max(group.end, run.last + 1);
  };
  const endRun = (): void => {
    if (run !== undefined && confirmed()) speech.push({ start: run.start, end: run.last + 1 });
    run = undefined;
  };

  /** Ends the group in the pause that follows it. */
  const closeAtPause = (open: Group, pause: number): Span => {
    group = undefined;
    return emit(open.start, open.end + Math.min(pad, Math.floor(pause / 2)));
  };
  /** The group has grown too long: cut in its longest pause, else where it is quietest. */
  const split = (open: Group): Span => {
    const gap = open.gaps.reduce<Span | undefined>(
      (best, next) => (best === undefined || next.end - next.start >= best.end - best.start ? next : best),
      undefined,
    );
    if (gap !== undefined) {
      const piece = emit(open.start, gap.start + Math.min(pad, Math.floor((gap.end - gap.start) / 2)));
      open.start = gap.end;
      open.gaps = open.gaps.filter((other) => other.start > gap.start);
      return piece;
    }
    const first = paddedStart(open.start);
    const latest = Math.min(first + maxFrames, now) - MIN_REST_FRAMES;
    const at = quietest(levels, levelsFrom, { start: latest - Math.floor(maxFrames * SEARCH_SHARE), end: latest });
    const piece = emit(open.start, at);
    open.start = at;
    return piece;
  };
  const settle = (): Span[] => {
    const pieces: Span[] = [];
    if (group === undefined) return pieces;
    const speaking = confirmed();
    const pause = (run !== undefined && !speaking ? run.start : now) - group.end;
    const longEnough = pause >= pauseFrames && group.end - group.start >= maxFrames * AIM_SHARE;
    if (!speaking && (longEnough || pause >= LONG_PAUSE * pauseFrames)) return [closeAtPause(group, pause)];
    while (group !== undefined && group.end + pad - paddedStart(group.start) >= maxFrames) pieces.push(split(group));
    return pieces;
  };
  const forget = (): void => {
    const stale = oldestNeeded() - levelsFrom;
    if (stale < maxFrames) return;
    levels = levels.slice(stale);
    levelsFrom += stale;
  };

  return {
    push(isSpeech, level) {
      levels.push(level);
      if (isSpeech) {
        run ??= { start: now, last: now, voiced: 0 };
        run.last = now;
        run.voiced++;
      }
      now++;
      extend();
      if (run !== undefined && now - 1 - run.last >= minSilence) endRun();
      const pieces = settle();
      forget();
      return pieces;
    },
    flush() {
      extend();
      endRun();
      const pieces = settle();
      if (group !== undefined) pieces.push(closeAtPause(group, 2 * Math.min(pad, now - group.end)));
      return pieces;
    },
    oldestNeeded,
    speech,
  };
};
