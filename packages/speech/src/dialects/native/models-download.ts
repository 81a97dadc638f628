/** How far a download is, as an event stream: numbered progress a few times a second, and exactly one last event. */
import type { Call } from '@parley/kit/http/endpoint.ts';
import { type EventStream, startEvents } from '@parley/kit/http/events.ts';
import { drainingOf } from '@parley/kit/http/server.ts';
import type { ModelDownload } from '../../core/speech.ts';
import type { Caller, DownloadEnd, DownloadProgress } from '../../core/types.ts';

/** Four a second are enough for any eye. */
const PROGRESS_GAP_MS = 250;
const STOPPING: DownloadEnd = {
  ok: false,
  code: 'draining',
  message: 'The service is stopping; the next download goes on where this one was.',
};

/** Follows a download to its end, or until the client leaves: the download itself goes on. */
export const followDownload = async (call: Call<Caller>, download: ModelDownload): Promise<void> => {
  // It is work under way: when the server drains, it still gets its last event.
  const stream = startEvents(call.request, call.reply, { isWork: true });
  let id = 0;
  const send = (event: string, data: unknown): void => {
    id += 1;
    stream.send({ id, event, data });
  };
  const progress = createPace((at) => send('progress', { ...at, done: false }));
  if (!download.wasInstalled) progress.offer(download.latest());
  const stop = download.subscribe(progress.offer);
  const end = await firstOf(download, stream, drainingOf(call.request.server).signal);
  stop();
  progress.stop();
  if (end) send(end.ok ? 'done' : 'failed', lastOf(download.latest(), end));
  stream.end();
  await stream.closed;
};

/** The last event's data. */
const lastOf = (latest: DownloadProgress, end: DownloadEnd): Record<string, unknown> => {
  if (!end.ok) return { ...latest, done: true, error: { code: end.code, message: end.message } };
  const { revision, state } = end.model;
  return { ...latest, revision, state, percent: 100, done: true };
};

/** How it ended; nothing when the client was the first to leave. */
const firstOf = async (
  download: ModelDownload,
  stream: EventStream,
  draining: AbortSignal,
): Promise<DownloadEnd | undefined> => {
  const { promise: stopping, resolve } = Promise.withResolvers<DownloadEnd>();
  const onDraining = (): void => resolve(STOPPING);
  draining.addEventListener('abort', onDraining, { once: true });
  if (draining.aborted) onDraining();
  const end = await Promise.race([download.ended, stopping, stream.closed]);
  draining.removeEventListener('abort', onDraining);
  return end ?? undefined;
};

/** Passes on what it is offered, at most once per gap; of what comes too fast the last is passed on at the gap's end. */
const createPace = (pass: (at: DownloadProgress) => void) => {
  let passedMs = Number.NEGATIVE_INFINITY;
  let held: DownloadProgress | undefined;
  let timer: NodeJS.Timeout | undefined;
  const passOn = (at: DownloadProgress): void => {
    held = undefined;
    passedMs = performance.now();
    pass(at);
  };
  return {
    offer: (at: DownloadProgress): void => {
      const waitMs = passedMs + PROGRESS_GAP_MS - performance.now();
      if (waitMs <= 0 && timer === undefined) {
        passOn(at);
        return;
      }
      held = at;
      timer ??= setTimeout(() => {
        timer = undefined;
        if (held) passOn(held);
      }, waitMs);
    },
    stop: (): void => clearTimeout(timer),
  };
};
