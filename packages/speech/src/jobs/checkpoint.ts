/**
 * What a running job has so far, kept as it goes. Finished utterances are written at once (those that come while a
 * write runs share the next), so that after a kill only what was in flight is done again; events about progress and
 * segments are spaced, so that a fast engine does not drown its followers.
 */
import type { Change, Store } from '@parley/kit/store/store.ts';
import type { Segment, Stage } from '../core/types.ts';
import type { JobRow } from './job.ts';
import { DOMAIN, type EventRow, eventNumber, KIND, memberId, membersOf, moveJob } from './records.ts';

/** Shortest time between two events of one job's progress. */
const SPACING_MS = 500;
const PAGE = 500;

/** An utterance's outcome as the line gives it; opaque here. */
export type Drafts = readonly object[];
type UtteranceRow = { readonly index: number; readonly drafts: Drafts };

export type Progress = { readonly doneSec: number; readonly percent: number; readonly stage: Stage };

export type Checkpoint = {
  utterance(index: number, drafts: Drafts): void;
  segment(segment: Segment, index: number): void;
  progress(progress: Progress): void;
  /** Writes what is pending and waits for every commit under way. */
  flush(): Promise<void>;
};

/** Outcomes that earlier attempts kept, by utterance index. */
export const readUtterances = async (store: Store, jobId: string): Promise<Map<number, Drafts>> => {
  const known = new Map<number, Drafts>();
  let after = 0;
  for (;;) {
    const rows = await membersOf<UtteranceRow>(store, KIND.utterance, jobId, after, PAGE);
    for (const { data } of rows) known.set(data.index, data.drafts);
    if (rows.length < PAGE) return known;
    after = rows.at(-1)!.data.index + 1;
  }
};

/** `onFault` hears of a commit that failed; the job then cannot go on. */
export const createCheckpoint = (
  store: Store,
  job: JobRow,
  now: () => number,
  onFault: (thrown: unknown) => void,
): Checkpoint => {
  let utterances: UtteranceRow[] = [];
  let news: News = { segments: [], isMoved: false };
  let reached: Progress = { doneSec: job.done_seconds, percent: job.percent ?? 0, stage: 'asr' };
  let timer: NodeJS.Timeout | undefined;

  const keepUtterances = createWriter(async () => {
    const rows = utterances;
    utterances = [];
    if (rows.length > 0)
      await store.commit(
        DOMAIN,
        rows.map((row) => toUtteranceChange(job.id, row)),
      );
  }, onFault);
  const tellNews = createWriter(async () => {
    const told = news;
    news = { segments: [], isMoved: false };
    if (told.segments.length > 0 || told.isMoved) await tell(store, job.id, told.segments, reached, now());
  }, onFault);
  const tellSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void tellNews();
    }, SPACING_MS);
  };

  return {
    utterance: (index, drafts) => {
      utterances.push({ index, drafts });
      void keepUtterances();
    },
    segment: (segment, index) => {
      // Earlier attempts told of these already.
      if (index < job.segments_told) return;
      news.segments.push({ segment, index });
      tellSoon();
    },
    progress: (progress) => {
      reached = progress;
      news = { ...news, isMoved: true };
      tellSoon();
    },
    flush: async () => {
      clearTimeout(timer);
      timer = undefined;
      await Promise.all([keepUtterances(), tellNews()]);
    },
  };
};

type News = { readonly segments: Told[]; readonly isMoved: boolean };
type Told = { readonly segment: Segment; readonly index: number };

/** One write at a time; what comes meanwhile goes into the next. Resolves when what was there at the call is written. */
const createWriter = (write: () => Promise<void>, onFault: (thrown: unknown) => void) => {
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return (): Promise<void> => {
    next ??= writing.then(() => {
      writing = next!;
      next = undefined;
      return write().catch(onFault);
    });
    return next;
  };
};

const toUtteranceChange = (jobId: string, row: UtteranceRow): Change => ({
  op: 'put',
  kind: KIND.utterance,
  id: memberId(jobId, row.index + 1),
  data: row,
  quiet: true,
});

const tell = async (
  store: Store,
  jobId: string,
  segments: readonly Told[],
  { stage, percent, doneSec }: Progress,
  nowMs: number,
): Promise<void> => {
  const event = { type: 'progress', stage, percent, doneSec, segments: segments.length } as const;
  await moveJob(store, jobId, event, new Date(nowMs).toISOString(), (after) =>
    segments.map(({ segment, index }, place) => segmentEvent(after, segment, index, place + 1)),
  );
};

/** Segment events stand between the state before and the one they are committed with. */
const segmentEvent = (job: JobRow, segment: Segment, index: number, place: number): Change => {
  const number = eventNumber(job.seq - 1, place);
  const data: EventRow = { job: job.id, number, name: 'segment', data: { segment, index } };
  return { op: 'put', kind: KIND.event, id: memberId(job.id, number), data, quiet: true };
};
