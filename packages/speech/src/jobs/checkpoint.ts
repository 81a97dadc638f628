/**
 * What a running job has so far, kept as it goes: finished utterances, segments told of, progress. Commits are spaced
 * so that a fast engine does not drown the disk; after a kill at most what came since the last one is done again.
 */
import type { Change, Store } from '@parley/kit/store/store.ts';
import type { Segment } from '../core/types.ts';
import type { JobRow } from './job.ts';
import { type EventRow, KIND, memberId, membersOf, moveJob } from './records.ts';

/** Shortest time between two commits of one job. */
const SPACING_MS = 500;
const PAGE = 500;

/** An utterance's outcome as the line gives it; opaque here. */
export type Drafts = readonly object[];
type UtteranceRow = { readonly index: number; readonly drafts: Drafts };

export type Progress = { readonly doneSec: number; readonly percent: number };

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
  let segments: { segment: Segment; index: number }[] = [];
  let latest: Progress | undefined;
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const write = async (): Promise<void> => {
    if (utterances.length === 0 && segments.length === 0 && latest === undefined) return;
    const kept = { utterances, segments, progress: latest ?? { doneSec: 0, percent: 0 } };
    utterances = [];
    segments = [];
    latest = undefined;
    const event = {
      type: 'progress',
      stage: 'asr',
      percent: kept.progress.percent,
      doneSec: kept.progress.doneSec,
      segments: kept.segments.length,
    } as const;
    await moveJob(store, job.id, event, new Date(now()).toISOString(), (after) => [
      ...kept.utterances.map(
        (row): Change => ({
          op: 'put',
          kind: KIND.utterance,
          id: memberId(job.id, row.index + 1),
          data: row,
          quiet: true,
        }),
      ),
      ...kept.segments.map(({ segment, index }, place) =>
        segmentEvent(after, segment, index, kept.segments.length - place),
      ),
    ]);
  };

  const schedule = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      writing = writing.then(write).catch(onFault);
    }, SPACING_MS);
  };

  return {
    utterance: (index, drafts) => {
      utterances.push({ index, drafts });
      schedule();
    },
    segment: (segment, index) => {
      // Earlier attempts told of these already.
      if (index < job.segments_told) return;
      segments.push({ segment, index });
      schedule();
    },
    progress: (progress) => {
      latest = progress;
      schedule();
    },
    flush: async () => {
      clearTimeout(timer);
      timer = undefined;
      writing = writing.then(write).catch(onFault);
      await writing;
    },
  };
};

/** Segment events take the numbers just below the job's own. */
const segmentEvent = (job: JobRow, segment: Segment, index: number, below: number): Change => {
  const seq = job.seq - below;
  const data: EventRow = { job: job.id, seq, name: 'segment', data: { segment, index } };
  return { op: 'put', kind: KIND.event, id: memberId(job.id, seq), data, quiet: true };
};
