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
  /** Frames by which the detector tells of a beginning too late. */
  readonly leadFrames?: number;
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

/** Joins frames of speech into stretches: short pauses are bridged, what is too short does not count. */
const createRuns = (minSilence: number, minSpeech: number, lead: number) => {
  const speech: Span[] = [];
  let run: Run | undefined;
  const confirmed = (): boolean => run !== undefined && run.voiced >= minSpeech;
  const end = (): void => {
    if (run !== undefined && confirmed()) speech.push({ start: run.start, end: run.last + 1 });
    run = undefined;
  };
  return {
    speech,
    /** The stretch that is going on, whether or not it is long enough yet. */
    current: (): Readonly<Run> | undefined => run,
    confirmed,
    hear(frame: number, isSpeech: boolean): void {
      if (!isSpeech) return;
      run ??= { start: Math.max(speech.at(-1)?.end ?? 0, frame - lead), last: frame, voiced: lead };
      run.last = frame;
      run.voiced++;
    },
    /** Ends the stretch when the pause after it has become long enough. */
    settle(frame: number): void {
      if (run !== undefined && frame - run.last >= minSilence) end();
    },
    end,
  };
};

/** How loud the last frames were. */
const createLevels = (keep: number) => {
  let levels: number[] = [];
  let first = 0;
  return {
    push: (level: number): void => void levels.push(level),
    /** Forgets older frames, now and then. */
    dropBefore(frame: number): void {
      const stale = frame - first;
      if (stale < keep) return;
      levels = levels.slice(stale);
      first += stale;
    },
    /** The frame with the least loudness around it. */
    quietest({ start, end }: Span): number {
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
    },
  };
};

/** The longest of the gaps, the last one of equals. */
const longest = (gaps: readonly Span[]): Span | undefined =>
  gaps.reduce<Span | undefined>(
    (best, next) => (best === undefined || next.end - next.start >= best.end - best.start ? next : best),
    undefined,
  );

/** Groups stretches of speech into pieces; `taken` is where the last piece ended, padding included. */
const createGrouping = (pad: number, maxFrames: number, quietest: (span: Span) => number) => {
  let taken = 0;
  let group: Group | undefined;
  const paddedStart = (start: number): number => Math.max(taken, start - pad);
  const piece = (start: number, end: number): Span => {
    const span = { start: paddedStart(start), end };
    taken = end;
    return span;
  };
  /** The group has grown too long: cut in its longest pause, else where it is quietest. */
  const split = (open: Group): Span => {
    const gap = longest(open.gaps);
    if (gap !== undefined) {
      const cut = piece(open.start, gap.start + Math.min(pad, Math.floor((gap.end - gap.start) / 2)));
      open.start = gap.end;
      open.gaps = open.gaps.filter((other) => other.start > gap.start);
      return cut;
    }
    const latest = Math.min(paddedStart(open.start) + maxFrames, open.end + pad) - MIN_REST_FRAMES;
    const at = quietest({ start: latest - Math.floor(maxFrames * SEARCH_SHARE), end: latest });
    const cut = piece(open.start, at);
    open.start = at;
    return cut;
  };
  return {
    paddedStart,
    current: (): Readonly<Group> | undefined => group,
    extend(run: Readonly<Run>): void {
      if (group === undefined) group = { start: run.start, end: run.last + 1, gaps: [] };
      else if (run.start > group.end) group.gaps.push({ start: group.end, end: run.start });
      group.end = Math.max(group.end, run.last + 1);
    },
    /** Ends the group in the pause of so many frames that follows it. */
    close(open: Readonly<Group>, pause: number): Span {
      group = undefined;
      return piece(open.start, open.end + Math.min(pad, Math.floor(pause / 2)));
    },
    splitWhileTooLong(): Span[] {
      const pieces: Span[] = [];
      while (group !== undefined && group.end + pad - paddedStart(group.start) >= maxFrames) pieces.push(split(group));
      return pieces;
    },
  };
};

/** A cutter for one channel. */
export const createCutter = (options: CutOptions): Cutter => {
  const frames = (seconds: number): number => Math.max(1, Math.round(seconds / options.frameSec));
  const pad = Math.round(options.padSec / options.frameSec);
  const maxFrames = Math.max(MIN_REST_FRAMES * 4, Math.floor(options.maxSec / options.frameSec));
  const pauseFrames = frames(options.pauseSec);
  const runs = createRuns(frames(options.minSilenceSec), frames(options.minSpeechSec), options.leadFrames ?? 0);
  const levels = createLevels(maxFrames);
  const grouping = createGrouping(pad, maxFrames, levels.quietest);
  const lead = options.leadFrames ?? 0;
  let now = 0;

  const oldestNeeded = (): number =>
    grouping.paddedStart(grouping.current()?.start ?? runs.current()?.start ?? now - lead);
  const extend = (): void => {
    const run = runs.current();
    if (run !== undefined && runs.confirmed()) grouping.extend(run);
  };
  const settle = (): Span[] => {
    const group = grouping.current();
    if (group === undefined) return [];
    const pieces = grouping.splitWhileTooLong();
    const pause = (runs.current()?.start ?? now) - group.end;
    const longEnough = pause >= pauseFrames && group.end - group.start >= maxFrames * AIM_SHARE;
    if (!runs.confirmed() && (longEnough || pause >= LONG_PAUSE * pauseFrames))
      pieces.push(grouping.close(group, pause));
    return pieces;
  };
  return {
    push(isSpeech, level) {
      levels.push(level);
      runs.hear(now, isSpeech);
      extend();
      runs.settle(now);
      now++;
      const pieces = settle();
      levels.dropBefore(oldestNeeded());
      return pieces;
    },
    flush() {
      extend();
      runs.end();
      const pieces = settle();
      const group = grouping.current();
      if (group !== undefined) pieces.push(grouping.close(group, 2 * Math.min(pad, now - group.end)));
      return pieces;
    },
    oldestNeeded,
    speech: runs.speech,
  };
};
