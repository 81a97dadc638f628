/**
 * Telling speakers apart: a pass over the whole recording after it was recognised. The recording is decoded once more, at
 * 16 kHz and without leaving anything out. A pass that has begun runs to its end even when nobody wants it any more; it
 * is bounded by a time limit and ends with the service.
 */
import type { Log } from '@parley/kit/log.ts';
import type { Semaphore } from '@parley/kit/semaphore.ts';
import type { Media, MediaOptions } from '../audio/audio.ts';
import type { Segment, Speaker, TranscriptionRequest, Warning } from '../core/types.ts';
import type { SpeakersPass } from '../recognizer/speakers-host.ts';
import type { Turn } from '../recognizer/support-messages.ts';
import { assignSpeakers, orderTurns, speakersByChannel, speakersOf } from './diarize-assign.ts';
import { warn } from './warnings.ts';

/** What the house has to tell speakers apart with. */
export type Speakers = {
  /** Whether the models are installed and the stage is on. */
  isAvailable(): boolean;
  /** Starts a process with the models; a count of 0 is unknown. That of a job ends as soon as the service stops. */
  start(numSpeakers: number, isJob: boolean): Promise<SpeakersPass>;
  /** Passes at once: each holds a recording. */
  readonly places: Semaphore;
  readonly maxDurationSec: number;
};

export type DiarizeParts = {
  readonly speakers: Speakers;
  readonly media: Media;
  /** For the second decoding: the request's channels, the rate below, no voice activity. */
  readonly mediaOptions: MediaOptions;
  readonly log: Log;
};

export type DiarizeTask = {
  readonly id: string;
  readonly path: string;
  readonly request: Pick<TranscriptionRequest, 'numSpeakers' | 'strict'>;
  readonly durationSec: number;
  /** Channels that were transcribed one by one. */
  readonly channels: number;
  readonly separator: string;
};

export type Diarized = {
  readonly segments: readonly Segment[];
  readonly speakers?: readonly Speaker[];
  readonly warnings: readonly Warning[];
};

/** The rate speaker models are made for, and how the recording is handed over: whole, in pieces of this length. */
export const SPEAKER_AUDIO = { sampleRate: 16_000, cut: { maxSec: 20, pauseSec: 0.3, padSec: 0 } };

/** Longest time a pass may take: a start, and as long as the recording is. */
const PASS_LIMIT_MS = 120_000;
const PASS_LIMIT_MS_PER_SEC = 1000;

const isTimeout = (reason: unknown): boolean =>
  reason instanceof Error && 'code' in reason && reason.code === 'processing_timeout';

const handOver = async (parts: DiarizeParts, pass: SpeakersPass, path: string, signal: AbortSignal): Promise<void> => {
  const stream = parts.media.open(path, parts.mediaOptions, signal);
  stream.summary.catch(() => undefined);
  for await (const { start, samples, sampleRate } of stream.segments) {
    await pass.take(Math.round(start * sampleRate), samples);
  }
  await stream.summary;
};

/** Whom to tell, and who may give up. */
export type DiarizeWatcher = {
  readonly signal: AbortSignal;
  /** Set for jobs, which another process can do again. */
  readonly isJob?: true;
  readonly onSpeakers?: () => void;
};

/** Runs one pass. What is aborted before the pass begins stops there; later only a time-out stops it. */
const runPass = async (parts: DiarizeParts, task: DiarizeTask, watcher: DiarizeWatcher): Promise<readonly Turn[]> => {
  const { signal } = watcher;
  using _place = await parts.speakers.places.acquire(signal);
  await using pass = await parts.speakers.start(task.request.numSpeakers, watcher.isJob ?? false);
  signal.throwIfAborted();
  await handOver(parts, pass, task.path, signal);
  watcher.onSpeakers?.();
  const onAbort = (): void => {
    if (isTimeout(signal.reason)) pass.kill('took longer than the request may');
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await pass.tellApart(PASS_LIMIT_MS + PASS_LIMIT_MS_PER_SEC * task.durationSec);
  } finally {
    signal.removeEventListener('abort', onAbort);
    signal.throwIfAborted();
  }
};

const countWarnings = (found: number, wanted: number): Warning[] => {
  if (found === 0) return [warn('diarization_found_no_speakers', 'No speaker was found.')];
  if (wanted === 0 || found === wanted) return [];
  const [code, word] =
    found < wanted
      ? (['diarization_fewer_speakers', 'fewer'] as const)
      : (['diarization_more_speakers', 'more'] as const);
  return [warn(code, `${found} speakers were found, ${word} than the ${wanted} asked for.`, 'num_speakers')];
};

/** Said when speakers are asked for and there is nothing to tell them apart with. */
const noModels = (): Warning =>
  warn('diarization_unavailable', 'There is no model that tells speakers apart.', 'diarize');

/** Nothing to tell apart, or no way to do it. */
const withoutPass = (parts: DiarizeParts, segments: readonly Segment[], task: DiarizeTask): Diarized | undefined => {
  if (task.channels > 1) {
    const message = 'The channels were transcribed one by one; each is a speaker.';
    return { ...speakersByChannel(segments), warnings: [warn('diarization_skipped_split', message, 'diarize')] };
  }
  if (!parts.speakers.isAvailable()) return { segments, warnings: [noModels()] };
  if (segments.length === 0) return { segments, speakers: [], warnings: countWarnings(0, 0) };
  if (task.durationSec <= parts.speakers.maxDurationSec) return undefined;
  const message = `Recordings over ${Math.round(parts.speakers.maxDurationSec)} s are not told apart by speaker.`;
  return { segments, warnings: [warn('diarization_unavailable', message, 'diarize')] };
};

/**
 * Segments with their speakers. Rejects with the signal's reason; a failure of the models is a warning, and the segments
 * stay as they were.
 */
export const diarize = async (
  parts: DiarizeParts,
  segments: readonly Segment[],
  task: DiarizeTask,
  watcher: DiarizeWatcher,
): Promise<Diarized> => {
  const settled = withoutPass(parts, segments, task);
  if (settled) return settled;
  try {
    const turns = orderTurns(await runPass(parts, task, watcher));
    const found = new Set(turns.map(({ speaker }) => speaker)).size;
    const warnings = countWarnings(found, task.request.numSpeakers);
    if (found === 0) return { segments, speakers: [], warnings };
    const labelled = assignSpeakers(segments, turns, task.separator);
    return { segments: labelled, speakers: speakersOf(labelled, turns), warnings };
  } catch (thrown) {
    watcher.signal.throwIfAborted();
    parts.log.warn({ request: task.id, err: thrown }, 'speakers could not be told apart');
    const message = 'Speakers could not be told apart; the segments name none.';
    return { segments, warnings: [warn('postprocessing_degraded', message, 'diarize')] };
  }
};
