/**
 * Follows jobs for whoever shows them. A browser keeps few connections to one host, so a few jobs are followed by event
 * stream and the others asked for every now and then.
 */
import type { JobRecord } from '@parley/speech/core/job-record.ts';
import type { Segment } from '@parley/speech/core/types.ts';
import { type Api, ApiError, isAbort } from '../shared/api.ts';

export type JobFollower = {
  readonly onRecord: (job: JobRecord) => void;
  readonly onSegment?: (segment: Segment) => void;
  /** The job cannot be followed: unknown, or the key may not see it. */
  readonly onFault?: (error: Error) => void;
};

export type JobHub = {
  /** Tells every state until the job is over; the function ends it sooner. */
  follow(id: string, follower: JobFollower): () => void;
};

/** Of the six connections that browsers open to a host. */
const MAX_STREAMS = 3;
const POLL_MS = 2000;
const RETRY_MS = 1500;

export const isOver = ({ status }: Pick<JobRecord, 'status'>): boolean => status !== 'queued' && status !== 'running';

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });

export const createJobHub = (api: Api): JobHub => {
  let streams = 0;

  const stream = async (id: string, follower: JobFollower, seen: Seen, signal: AbortSignal): Promise<void> => {
    streams += 1;
    try {
      await api.events(
        `/api/v1/jobs/${id}/events?segments=true`,
        (event) => {
          seen.lastId = event.id;
          const data: unknown = JSON.parse(event.data);
          if (event.name === 'segment') return follower.onSegment?.((data as { segment: Segment }).segment);
          const job = data as JobRecord;
          seen.isOver = isOver(job);
          return follower.onRecord(job);
        },
        { signal, headers: seen.lastId === '' ? {} : { 'last-event-id': seen.lastId } },
      );
    } finally {
      streams -= 1;
    }
  };

  const poll = async (id: string, follower: JobFollower, seen: Seen, signal: AbortSignal): Promise<void> => {
    const job = await api.json<JobRecord>(`/api/v1/jobs/${id}`, { signal });
    seen.isOver = isOver(job);
    follower.onRecord(job);
    if (!seen.isOver) await pause(POLL_MS, signal);
  };

  /** Follows once; true when it must be tried again. */
  const followOnce = async (id: string, follower: JobFollower, seen: Seen, signal: AbortSignal): Promise<boolean> => {
    try {
      await (streams < MAX_STREAMS ? stream : poll)(id, follower, seen, signal);
      return !seen.isOver;
    } catch (thrown) {
      if (isAbort(thrown) || signal.aborted) return false;
      if (isHopeless(thrown)) follower.onFault?.(thrown);
      else await pause(RETRY_MS, signal);
      return !isHopeless(thrown);
    }
  };

  const run = async (id: string, follower: JobFollower, signal: AbortSignal): Promise<void> => {
    const seen: Seen = { lastId: '', isOver: false };
    while (!signal.aborted && (await followOnce(id, follower, seen, signal)));
  };

  return {
    follow: (id, follower) => {
      const controller = new AbortController();
      void run(id, follower, controller.signal);
      return () => controller.abort();
    },
  };
};

type Seen = { lastId: string; isOver: boolean };

/** Asking again would be answered the same. */
const isHopeless = (thrown: unknown): thrown is ApiError =>
  thrown instanceof ApiError && thrown.status >= 400 && thrown.status < 500 && thrown.status !== 429;
