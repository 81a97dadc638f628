/**
 * Who said what: turns of speakers laid over the words of a transcript. Segments part where the speaker changes; scraps of
 * a word or two between words of somebody else are theirs. Pure. Times are seconds.
 */
import type { Segment, Speaker, Word } from '../core/types.ts';
import type { Turn } from '../recognizer/support-messages.ts';
import { averageConfidence } from './assemble.ts';
import { round } from './words.ts';

/** A stretch by another voice is a scrap below this, when the same voice speaks before and after it, s. */
const SCRAP_SEC = 0.4;

type Attributed = { readonly word: Word; readonly speaker: number; readonly share: number };

const idOf = (speaker: number): string => `spk_${speaker}`;
const lengthOf = ({ start, end }: { readonly start: number; readonly end: number }): number => Math.max(0, end - start);
const overlap = (a: { start: number; end: number }, b: { start: number; end: number }): number =>
  Math.max(0, Math.min(a.end, b.end) - Math.max(a.start, b.start));
const distance = (a: { start: number; end: number }, b: { start: number; end: number }): number =>
  Math.max(0, a.start - b.end, b.start - a.end);

/** Turns in order of time, speakers counted by who speaks first. */
export const orderTurns = (turns: readonly Turn[]): Turn[] => {
  const numbers = new Map<number, number>();
  return turns
    .filter((turn) => turn.end > turn.start)
    .toSorted((a, b) => a.start - b.start)
    .map((turn) => {
      if (!numbers.has(turn.speaker)) numbers.set(turn.speaker, numbers.size);
      return { ...turn, speaker: numbers.get(turn.speaker)! };
    });
};

/** Looks up who speaks in a span; spans must be asked for in order of time within reason, any order is right. */
const createFinder = (turns: readonly Turn[]) => {
  /** The latest end of all turns up to each one: turns may overlap. */
  const latest: number[] = [];
  for (const turn of turns) latest.push(Math.max(latest.at(-1) ?? 0, turn.end));
  const firstEndingAfter = (time: number): number => {
    let [low, high] = [0, turns.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (latest[middle]! > time) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return (span: { readonly start: number; readonly end: number }): { speaker: number; share: number } => {
    const heard = new Map<number, number>();
    const from = firstEndingAfter(span.start);
    for (let index = from; index < turns.length && turns[index]!.start < span.end; index += 1) {
      const turn = turns[index]!;
      heard.set(turn.speaker, (heard.get(turn.speaker) ?? 0) + overlap(span, turn));
    }
    const [best] = [...heard].filter(([, seconds]) => seconds > 0).toSorted((a, b) => b[1] - a[1]);
    if (best) return { speaker: best[0], share: Math.min(1, best[1] / lengthOf(span)) };
    // Nobody was heard just then: whoever is nearest.
    const near = turns
      .slice(Math.max(0, from - 2), from + 2)
      .toSorted((a, b) => distance(a, span) - distance(b, span))[0];
    return { speaker: near?.speaker ?? turns[0]!.speaker, share: 0 };
  };
};

const runsOf = (words: readonly Attributed[]): Attributed[][] => {
  const runs: Attributed[][] = [];
  for (const word of words) {
    const last = runs.at(-1);
    if (last && last[0]!.speaker === word.speaker) last.push(word);
    else runs.push([word]);
  }
  return runs;
};

/** Gives scraps to whoever speaks before and after them. */
const absorb = (words: readonly Attributed[]): Attributed[] => {
  const runs = runsOf(words);
  return runs.flatMap((run, index) => {
    const before = runs[index - 1]?.at(0)?.speaker;
    const after = runs[index + 1]?.at(0)?.speaker;
    const spoken = run.at(-1)!.word.end - run[0]!.word.start;
    const isScrap = before !== undefined && before === after && spoken < SCRAP_SEC;
    return isScrap ? run.map((word) => ({ ...word, speaker: before, share: 0 })) : run;
  });
};

const meanShare = (run: readonly Attributed[]): number =>
  round(run.reduce((sum, { share }) => sum + share, 0) / run.length, 3);

const toSegment = (segment: Segment, run: readonly Attributed[], isWhole: boolean, separator: string): Segment => {
  const speaker = idOf(run[0]!.speaker);
  const words = run.map(({ word, share }): Word => ({ ...word, speaker, speaker_confidence: round(share, 3) }));
  const labelled = { ...segment, speaker, speaker_confidence: meanShare(run), words };
  if (isWhole) return labelled;
  const { avg_confidence: _whole, ...rest } = labelled;
  return {
    ...rest,
    start: words[0]!.start,
    end: words.at(-1)!.end,
    text: words.map(({ word }) => word).join(separator),
    ...averageConfidence(words),
  };
};

/** Segments with speakers, split where the speaker changes. `turns` as `orderTurns` gives them, at least one. */
export const assignSpeakers = (segments: readonly Segment[], turns: readonly Turn[], separator: string): Segment[] => {
  const find = createFinder(turns);
  return segments
    .flatMap((segment): Segment[] => {
      if (!segment.words || segment.words.length === 0) {
        const { speaker, share } = find(segment);
        return [{ ...segment, speaker: idOf(speaker), speaker_confidence: round(share, 3) }];
      }
      const runs = runsOf(absorb(segment.words.map((word) => ({ word, ...find(word) }))));
      return runs.map((run) => toSegment(segment, run, runs.length === 1, separator));
    })
    .map((segment, id) => ({ ...segment, id }));
};

/** Everybody who was heard, with the seconds of their turns and their segments. */
export const speakersOf = (segments: readonly Segment[], turns: readonly Turn[]): Speaker[] => {
  const numbers = [...new Set(turns.map(({ speaker }) => speaker))].toSorted((a, b) => a - b);
  return numbers.map((number) => ({
    id: idOf(number),
    total_speech: round(
      turns.filter(({ speaker }) => speaker === number).reduce((sum, turn) => sum + lengthOf(turn), 0),
      3,
    ),
    segments: segments.filter(({ speaker }) => speaker === idOf(number)).length,
  }));
};

/** Channels that were transcribed one by one are the speakers. */
export const speakersByChannel = (segments: readonly Segment[]): { segments: Segment[]; speakers: Speaker[] } => {
  const labelled = segments.map((segment): Segment => {
    const speaker = idOf(segment.channel);
    const words = segment.words?.map((word): Word => ({ ...word, speaker }));
    return { ...segment, speaker, ...(words && { words }) };
  });
  const turns = segments.map(({ start, end, channel }) => ({ start, end, speaker: channel }));
  return { segments: labelled, speakers: speakersOf(labelled, turns) };
};
