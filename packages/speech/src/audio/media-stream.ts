/** One recording on the main side: segments wait here until they are taken; the summary ends it. */
import { problem } from '../core/codes.ts';
import type { AudioSummary, LaidSegment, MediaOptions, MediaStream } from './audio.ts';
import type { FromMedia } from './wire.ts';

export type MediaTask = {
  readonly id: number;
  readonly path: string;
  readonly options: MediaOptions;
  readonly stream: MediaStream<LaidSegment>;
  /** Segments that arrived so far: what a second process need not send again. */
  arrived(): number;
  readonly ended: boolean;
  onSegment(segment: LaidSegment): void;
  onProgress(decodedSec: number, readShare: number): void;
  onDone(summary: AudioSummary): void;
  onFailed(failure: Pick<Extract<FromMedia, { type: 'failed' }>, 'code' | 'message' | 'param'>): void;
  /** Does nothing when the recording has ended. */
  fail(reason: unknown): void;
  /** Processes that died while they had this recording. */
  deaths: number;
  /** Where its samples are laid as files; in the messages without it. */
  folder: string | undefined;
};

export type MediaTaskOptions = {
  readonly id: number;
  readonly path: string;
  readonly options: MediaOptions;
  readonly signal: AbortSignal;
  onTaken(seconds: number): void;
  /** Told once, however it ends; also while it is being made, when the signal is aborted already. */
  onEnd(id: number): void;
};

type End = { readonly failed: boolean; readonly reason: unknown };

/** A recording that can be iterated once. */
export const createMediaTask = ({ id, path, options, signal, onTaken, onEnd }: MediaTaskOptions): MediaTask => {
  const waiting: LaidSegment[] = [];
  const summary = Promise.withResolvers<AudioSummary>();
  let changed = Promise.withResolvers<void>();
  let end: End | undefined;
  let arrived = 0;
  let decodedSec = 0;
  let readShare = 0;
  // Nobody need look at the summary of a recording that failed while its segments were read.
  summary.promise.catch(() => undefined);

  const finish = (how: End): boolean => {
    if (end !== undefined) return false;
    end = how;
    signal.removeEventListener('abort', onAbort);
    changed.resolve();
    onEnd(id);
    return true;
  };
  const fail = (reason: unknown): void => {
    if (finish({ failed: true, reason })) summary.reject(reason);
  };
  function onAbort(): void {
    fail(signal.reason);
  }

  async function* segments(): AsyncGenerator<LaidSegment> {
    try {
      for (;;) {
        if (end?.failed) throw end.reason;
        const next = waiting.shift();
        if (next !== undefined) {
          onTaken(next.samples.length / next.sampleRate);
          yield next;
        } else if (end !== undefined) return;
        else {
          changed = Promise.withResolvers<void>();
          await changed.promise;
        }
      }
    } finally {
      fail(new DOMException('The segments are no longer read.', 'AbortError'));
    }
  }

  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
  return {
    id,
    path,
    options,
    deaths: 0,
    folder: undefined,
    stream: {
      segments: segments(),
      summary: summary.promise,
      decodedSec: () => decodedSec,
      readShare: () => readShare,
    },
    arrived: () => arrived,
    get ended() {
      return end !== undefined;
    },
    onSegment(segment) {
      arrived = segment.index + 1;
      waiting.push(segment);
      changed.resolve();
    },
    onProgress(seconds, share) {
      decodedSec = Math.max(decodedSec, seconds);
      readShare = Math.max(readShare, share);
    },
    onDone(result) {
      decodedSec = result.durationSec;
      readShare = 1;
      if (finish({ failed: false, reason: undefined })) summary.resolve(result);
    },
    onFailed: ({ code, message, param }) => fail(problem(code, message, { param })),
    fail,
  };
};
