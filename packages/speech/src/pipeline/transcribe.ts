/**
 * The line a recording takes: decode and cut (media process) → wait for a turn (scheduler) → recognise (engine process)
 * → words → transcript. Nothing here holds the whole recording: segments come no faster than they are recognised.
 */
import type { Log } from '@parley/kit/log.ts';
import type { AudioSegment, AudioSummary, Media, MediaOptions } from '../audio/audio.ts';
import { problem } from '../core/codes.ts';
import type { ModelInfo, Priority, Segment, Stage, Transcript, TranscriptionRequest, Warning } from '../core/types.ts';
import type { RecognizeOptions, Recognizer } from '../recognizer/recognizer.ts';
import { type DraftSegment, joinText, toSegments } from './assemble.ts';
import type { Scheduler } from './scheduler.ts';
import { baseLanguage, checkCapabilities, listsLanguage, warn } from './warnings.ts';
import { round } from './words.ts';

/** What the line needs of the house. */
export type Line = {
  readonly media: Media;
  readonly scheduler: Scheduler;
  /** Borrows the loaded model; the lease ends with the block that took it. */
  lease(model: ModelInfo, signal: AbortSignal): Promise<AsyncDisposable & { readonly recognizer: Recognizer }>;
  mediaOptions(request: TranscriptionRequest, recognizer: Recognizer): MediaOptions;
  readonly hotwords: { readonly enabled: boolean; readonly defaultScore: number };
  readonly log: Log;
};

export type Work = {
  readonly id: string;
  readonly keyId: string;
  readonly priority: Priority;
  readonly model: ModelInfo;
  readonly request: TranscriptionRequest;
  readonly path: string;
};

export type Watcher = {
  readonly signal: AbortSignal;
  readonly onSegment?: (segment: Segment, index: number) => void;
  /** Seconds of the recording that were recognised so far. */
  readonly onProgress?: (doneSec: number) => void;
};

/** Segments of one request that may be with the scheduler at once, for each slot of the recogniser: one runs, one waits. */
const AHEAD_PER_SLOT = 2;

/**
 * Transcribes the file at `work.path`. Rejects with the signal's reason when aborted: what is in flight is left to
 * finish unseen, nothing further is started. Problems: see Speech.transcribe in core/speech.ts.
 */
export const transcribe = async (line: Line, work: Work, watcher: Watcher): Promise<Transcript> => {
  const startedMs = performance.now();
  await using lease = await line.lease(work.model, watcher.signal);
  const { recognizer } = lease;
  const warnings = checkCapabilities(work.request, work.model, recognizer.facts, {
    hotwordsEnabled: line.hotwords.enabled,
  });
  const heard = await recognizeAll(line, work, recognizer, watcher);
  return assemble(work, heard, warnings, startedMs);
};

/** Every segment in order of time, and what the media process says of the recording. */
type Heard = {
  readonly segments: readonly Segment[];
  readonly sources: ReadonlySet<string>;
  readonly summary: AudioSummary;
  readonly asrMs: number;
};

const recognizeAll = async (line: Line, work: Work, recognizer: Recognizer, watcher: Watcher): Promise<Heard> => {
  // A failure anywhere stops the media process and whatever of this request still waits for a turn.
  const stop = new AbortController();
  const signal = AbortSignal.any([watcher.signal, stop.signal]);
  const stream = line.media.open(work.path, line.mediaOptions(work.request, recognizer), signal);
  // Without this a rejection that arrives while segments are still awaited would count as unhandled.
  stream.summary.catch(() => undefined);
  const collector = createCollector(work.request.wordTimestamps !== false, watcher);
  const slots = createGate(recognizer.facts.slots * AHEAD_PER_SLOT);
  let firstMs: number | undefined;
  const failed: unknown[] = [];
  try {
    for await (const audio of stream.segments) {
      firstMs ??= performance.now();
      await slots.enter();
      signal.throwIfAborted();
      const place = collector.expect();
      void recognizeOne(line, work, recognizer, audio, signal)
        .then((recognition) =>
          collector.fill(place, toSegments({ audio, recognition }, work.request.wordTimestamps !== false), audio),
        )
        .catch((thrown: unknown) => {
          failed.push(thrown);
          stop.abort(thrown);
        })
        .finally(() => slots.leave());
    }
    await slots.empty();
    if (failed.length > 0) throw failed[0];
    const summary = await stream.summary;
    const asrMs = firstMs === undefined ? 0 : performance.now() - firstMs;
    return { segments: collector.segments(), sources: collector.sources(), summary, asrMs };
  } catch (thrown) {
    stop.abort(thrown);
    await slots.empty();
    throw failed[0] ?? thrown;
  }
};

const recognizeOne = (line: Line, work: Work, recognizer: Recognizer, audio: AudioSegment, signal: AbortSignal) => {
  const options = recognizeOptionsOf(line, work, recognizer);
  return line.scheduler.submit(
    recognizer,
    { requestId: work.id, keyId: work.keyId, priority: work.priority },
    () =>
      recognizer.recognize(
        { samples: audio.samples, sampleRate: audio.sampleRate, bandHz: audio.bandHz },
        options,
        signal,
      ),
    signal,
  );
};

const recognizeOptionsOf = ({ hotwords }: Line, { request, model }: Work, recognizer: Recognizer): RecognizeOptions => {
  const canFavour = hotwords.enabled && model.capabilities.hotwords && request.hotwords.length > 0;
  const method = request.decodingMethod;
  const canDecode = method !== undefined && recognizer.facts.decodingMethods.includes(method);
  return {
    ...(canDecode ? { decodingMethod: method } : {}),
    ...(request.maxActivePaths === undefined ? {} : { maxActivePaths: request.maxActivePaths }),
    ...(canFavour ? { hotwords: request.hotwords, hotwordsScore: request.hotwordsScore ?? hotwords.defaultScore } : {}),
    ...(request.language === undefined ? {} : { language: baseLanguage(request.language) }),
  };
};

/** Lets `limit` pass at once; `empty` resolves when all have left. */
const createGate = (limit: number) => {
  let inside = 0;
  let waiters: (() => void)[] = [];
  const changed = (): Promise<void> => new Promise((resolve) => waiters.push(resolve));
  return {
    enter: async (): Promise<void> => {
      while (inside >= limit) await changed();
      inside += 1;
    },
    leave: (): void => {
      inside -= 1;
      const woken = waiters;
      waiters = [];
      for (const wake of woken) wake();
    },
    empty: async (): Promise<void> => {
      while (inside > 0) await changed();
    },
  };
};

/** Puts results, which come in any order, back into the order of the recording and tells of each as soon as it may. */
const createCollector = (wantWords: boolean, watcher: Watcher) => {
  const slots: (readonly DraftSegment[] | undefined)[] = [];
  const segments: Segment[] = [];
  const sources = new Set<string>();
  let next = 0;
  const take = (draft: DraftSegment): void => {
    const { source, ...rest } = draft;
    const segment: Segment = { id: segments.length, ...rest };
    segments.push(segment);
    sources.add(wantWords ? source : 'segment');
    watcher.onSegment?.(segment, segment.id);
  };
  return {
    expect: (): number => slots.push(undefined) - 1,
    fill: (place: number, drafts: readonly DraftSegment[], audio: AudioSegment): void => {
      slots[place] = drafts;
      for (let ready = slots[next]; ready; ready = slots[next]) {
        ready.forEach(take);
        slots[next] = [];
        next += 1;
      }
      watcher.onProgress?.(audio.start + audio.samples.length / audio.sampleRate);
    },
    segments: (): readonly Segment[] => segments,
    sources: (): ReadonlySet<string> => sources,
  };
};

const assemble = (work: Work, heard: Heard, warnings: readonly Warning[], startedMs: number): Transcript => {
  const { summary } = heard;
  const assembleMs = performance.now();
  const language = languageOf(work);
  const segments = inOrder(heard.segments);
  const all = [...warnings, ...warningsOf(heard)];
  const processingMs = performance.now() - startedMs;
  return {
    id: work.id,
    model: `${work.model.id}@${work.model.revision}`,
    language,
    duration: round(summary.durationSec, 3),
    text: joinText(segments, language),
    timestamp_source: heard.sources.has('aligned') ? 'aligned' : heard.sources.has('token') ? 'token' : 'segment',
    segments,
    silence: summary.silence.map(({ start, end }) => ({ start: round(start, 3), end: round(end, 3) })),
    stats: {
      audio_duration: round(summary.durationSec, 3),
      processing_ms: Math.round(processingMs),
      rtf: summary.durationSec > 0 ? round(processingMs / 1000 / summary.durationSec, 4) : 0,
      stages_ms: stagesOf(summary, heard.asrMs, performance.now() - assembleMs),
      segments_total: segments.length,
      speech_ratio: summary.durationSec > 0 ? round(Math.min(1, summary.speechSec / summary.durationSec), 3) : 0,
    },
    warnings: all,
  };
};

const stagesOf = (summary: AudioSummary, asrMs: number, assembleMs: number): Readonly<Record<Stage, number>> => ({
  decode: Math.round(summary.decodeMs),
  vad: Math.round(summary.voiceActivityMs),
  asr: Math.round(asrMs),
  assemble: Math.round(assembleMs),
  diarize: 0,
  post: 0,
});

const warningsOf = ({ segments, summary }: Heard): Warning[] => [
  ...(summary.truncated
    ? [warn('audio_truncated', 'The file breaks off before its own end; what came before was used.')]
    : []),
  ...(segments.length === 0 ? [warn('no_speech_detected', 'No speech was heard in the recording.')] : []),
];

/** The language asked for when the model lists it, else the model's own first one. */
const languageOf = ({ request, model }: Work): string => {
  if (request.language !== undefined && listsLanguage(model, request.language)) return baseLanguage(request.language);
  const first = model.languages.find((language) => language !== 'multi');
  return first === undefined
    ? request.language === undefined
      ? 'en'
      : baseLanguage(request.language)
    : baseLanguage(first);
};

/** With several channels segments are put in order of time; one channel's already are. */
const inOrder = (segments: readonly Segment[]): Segment[] =>
  segments.toSorted((a, b) => a.start - b.start || a.channel - b.channel).map((segment, id) => ({ ...segment, id }));

/** Turns the time limit of a request into its Problem. */
export const processingTimeout = (limitMs: number): Error =>
  problem('processing_timeout', `Not finished within ${Math.round(limitMs / 1000)} s.`);
