/**
 * A job's numbered states as a stream. While the job lives: every event after the one last seen, none twice, read from
 * the kept events, so that any instance can tell of any job. Once it is over: exactly one, the last.
 */
import type { Store } from '@parley/kit/store/store.ts';
import type { JobMessage } from '../core/job-record.ts';
import type { WatchOptions } from '../core/speech.ts';
import type { Caller, Transcript } from '../core/types.ts';
import { createBell } from './bell.ts';
import { isTerminal, type JobRow } from './job.ts';
import type { Live } from './live.ts';
import type { Queue } from './queue.ts';
import { DOMAIN, type EventRow, KIND, membersOf, parseEventId, toEventId } from './records.ts';

export type WatchParts = {
  readonly store: Store;
  readonly live: Live;
  readonly queue: Pick<Queue, 'require' | 'view'>;
};

const PAGE = 200;

/** Problem job_not_found before the stream begins; the iteration ends after the last event or when the signal aborts. */
export const watchJob = async (
  parts: WatchParts,
  caller: Caller,
  id: string,
  options: WatchOptions,
): Promise<AsyncIterable<JobMessage>> => {
  const job = await parts.queue.require(caller, id);
  return isTerminal(job.status) ? onlyTheLast(parts, caller, job) : everyEvent(parts, caller, job.id, options);
};

const toMessage = async ({ store, queue }: WatchParts, caller: Caller, job: JobRow): Promise<JobMessage> => {
  const result = job.status === 'succeeded' ? await store.get<Transcript>(DOMAIN, KIND.result, job.id) : undefined;
  const data = { ...queue.view(caller, job, result?.data), seq: job.seq };
  return { id: String(job.seq), name: job.status, data, last: isTerminal(job.status) };
};

async function* onlyTheLast(parts: WatchParts, caller: Caller, job: JobRow): AsyncGenerator<JobMessage> {
  yield await toMessage(parts, caller, job);
}

async function* everyEvent(
  parts: WatchParts,
  caller: Caller,
  id: string,
  { afterId, segments, signal }: WatchOptions,
): AsyncGenerator<JobMessage> {
  const news = createBell();
  signal.addEventListener('abort', news.ring, { once: true });
  const unsubscribe = parts.live.onChange(id, news.ring);
  try {
    let seen = parseEventId(afterId);
    while (!signal.aborted) {
      // Asked for before reading, so that what happens meanwhile is not slept through.
      const heard = news.next();
      const rows = await membersOf<EventRow>(parts.store, KIND.event, id, seen, PAGE);
      seen = rows.at(-1)?.data.number ?? seen;
      for (const { data: event } of rows.filter(({ data }) => segments || data.name !== SEGMENT)) {
        const message =
          event.name === SEGMENT ? toSegment(event) : await toMessage(parts, caller, event.data as JobRow);
        yield message;
        if (message.last) return;
      }
      if (rows.length < PAGE) await heard;
    }
  } finally {
    unsubscribe();
  }
}

const SEGMENT = 'segment';

const toSegment = (event: EventRow): JobMessage => ({
  id: toEventId(event.number),
  name: SEGMENT,
  data: event.data,
  last: false,
});
