/**
 * The line a recording takes: decode and cut (media process) → wait for a turn (scheduler) → recognise (engine process)
 * → words → marks and digits → speakers → transcript. Nothing here holds the whole recording: segments come no faster than
 * they are recognised.
 */
import type { Log } from '@parley/kit/log.ts';
import type { AudioSegment, AudioSummary, Media, MediaOptions, MediaStream } from '../audio/audio.ts';
import { problem } from '../core/codes.ts';
import type { ModelInfo, Priority, Segment, Stage, Transcript, TranscriptionRequest, Warning } from '../core/types.ts';
import type { EngineFacts, RecognizeOptions, Recognizer } from '../recognizer/recognizer.ts';
import { type DraftSegment, joinText, separatorOf, toSegments } from './assemble.ts';
import { createCollector, createGate } from './collect.ts';
import { type Diarized, diarize, SPEAKER_AUDIO, type Speakers } from './diarize.ts';
import { createTextFinish, type TextFinish, type TextStages } from './finish-text.ts';
import type { Scheduler } from './scheduler.ts';
import {
  baseLanguage,
  checkCapabilities,
  languageOf,
  rawWarnings,
  refuseWhenStrict,
  type Stages,
  warn,
} from './warnings.ts';
import { round } from './words.ts';

/** What decoding depends on: of a request, and of the engine that will hear it. */
export type MediaRequest = Pick<TranscriptionRequest, 'channelMode' | 'voiceActivity' | 'rawPcmRate'>;
export type MediaFacts = Pick<EngineFacts, 'sampleRate' | 'cut'>;

/** What the line needs of the house. */
export type Line = {
  readonly media: Media;
  readonly scheduler: Scheduler;
  /** Borrows the loaded model; the lease ends with the block that took it. */
  lease(model: ModelInfo, signal: AbortSignal): Promise<AsyncDisposable & { readonly recognizer: Recognizer }>;
  mediaOptions(request: MediaRequest, recognizer: { readonly facts: MediaFacts }): MediaOptions;
  readonly hotwords: { readonly enabled: boolean; readonly defaultScore: number };
  readonly text: TextStages;
  readonly speakers: Speakers;
  readonly log: Log;
};

/** What the stages of this line can do now, for checking a request against it. */
export const stagesOf = ({ hotwords, text, speakers }: Line): Stages => ({
  hotwordsEnabled: hotwords.enabled,
  canPunctuate: (language) => text.punctuatorFor(language) !== undefined,
  canDiarize: speakers.isAvailable(),
});

export type Work = {
  readonly id: string;
  readonly keyId: string;
  readonly priority: Priority;
  readonly model: ModelInfo;
  readonly request: TranscriptionRequest;
  readonly path: string;
  /** Utterances of an earlier attempt by their index: they are not recognised again. */
  readonly known?: ReadonlyMap<number, readonly DraftSegment[]>;
};

export type Watcher = {
  readonly signal: AbortSignal;
  readonly onSegment?: (segment: Segment, index: number) => void;
  /** Told of each utterance that was recognised now, in any order. */
  readonly onUtterance?: (index: number, drafts: readonly DraftSegment[]) => void;
  /** Told as the work goes on; `doneSec` counts the recording's seconds up to which everything is recognised. */
  readonly onProgress?: (doneSec: number, stream: Pick<MediaStream, 'decodedSec' | 'readShare'>) => void;
  /** Told when the pass that tells speakers apart begins; from then on it runs to its end. */
  readonly onSpeakers?: () => void;
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
  const warnings = checkCapabilities(work.request, work.model, recognizer.facts, stagesOf(line));
  const finish = createTextFinish(line.text, work, languageOf(work.request, work.model), line.log);
  const heard = await recognizeAll(line, work, recognizer, finish, watcher);
  const speakersMs = performance.now();
  const told = await tellApart(line, work, heard, watcher);
  const all = [...warnings, ...warningsOf(heard), ...finish.warnings(), ...(told?.warnings ?? [])];
  refuseWhenStrict(work.request, all);
  const spent = { startedMs, post: finish.spentMs(), diarize: performance.now() - speakersMs };
  return assemble(work, heard, told, all, spent);
};

/** The second pass, when speakers are wanted and there is something to tell them apart with. */
const tellApart = async (line: Line, work: Work, heard: Heard, watcher: Watcher): Promise<Diarized | undefined> => {
  const { request, id, path } = work;
  const { channels, durationSec } = heard.summary;
  if (!request.diarize || !(channels > 1 || line.speakers.isAvailable())) return undefined;
  const mediaOptions = line.mediaOptions({ ...request, voiceActivity: false }, { facts: SPEAKER_AUDIO });
  const separator = separatorOf(languageOf(request, work.model));
  const task = { id, path, request, durationSec, channels, separator };
  const { speakers, media, log } = line;
  return diarize({ speakers, media, mediaOptions, log }, inOrder(heard.segments), task, watcher);
};

/** Every segment in order of time, and what the media process says of the recording. */
type Heard = {
  readonly segments: readonly Segment[];
  readonly sources: ReadonlySet<string>;
  readonly summary: AudioSummary;
  readonly asrMs: number;
};

const recognizeAll = async (
  line: Line,
  work: Work,
  recognizer: Recognizer,
  finish: TextFinish,
  watcher: Watcher,
): Promise<Heard> => {
  // A failure anywhere stops the media process and whatever of this request still waits for a turn.
  const stop = new AbortController();
  const signal = AbortSignal.any([watcher.signal, stop.signal]);
  const stream = line.media.open(work.path, line.mediaOptions(work.request, recognizer), signal);
  // Without this a rejection that arrives while segments are still awaited would count as unhandled.
  stream.summary.catch(() => undefined);
  const kept = createKeeper(work, watcher);
  const collector = createCollector(kept.take, (endSec) => watcher.onProgress?.(endSec, stream));
  const gate = createGate(recognizer.facts.slots * AHEAD_PER_SLOT);
  let firstMs: number | undefined;
  const failed: unknown[] = [];
  try {
    for await (const audio of stream.segments) {
      firstMs ??= performance.now();
      await gate.enter();
      if (signal.aborted) {
        // Whoever waits for the gate to be empty must not wait for this one.
        gate.leave();
        throw signal.reason;
      }
      void hearOne(line, work, recognizer, finish, audio, watcher, signal)
        .then(collector.expect(audio))
        .catch((thrown: unknown) => {
          failed.push(thrown);
          stop.abort(thrown);
        })
        .finally(() => gate.leave());
    }
    await gate.empty();
    if (failed.length > 0) throw failed[0];
    const summary = await stream.summary;
    const asrMs = firstMs === undefined ? 0 : performance.now() - firstMs;
    return { segments: kept.segments, sources: kept.sources, summary, asrMs };
  } catch (thrown) {
    stop.abort(thrown);
    await gate.empty();
    throw failed[0] ?? thrown;
  }
};

/** What an earlier attempt kept of this utterance, else what the recogniser hears in it. */
const hearOne = async (
  line: Line,
  work: Work,
  recognizer: Recognizer,
  finish: TextFinish,
  audio: AudioSegment,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<readonly DraftSegment[]> => {
  const known = work.known?.get(audio.index);
  if (known) return known;
  const recognition = await recognizeOne(line, work, recognizer, audio, signal);
  // Speakers are told apart word by word, whether or not words are shown.
  const raw = toSegments({ audio, recognition }, wantsWords(work) || work.request.diarize);
  const drafts = await finish.finish(raw, signal);
  watcher.onUtterance?.(audio.index, drafts);
  return drafts;
};

const wantsWords = ({ request }: Work): boolean => request.wordTimestamps !== false;

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

/** Numbers segments as they come and tells of each. */
const createKeeper = (work: Work, watcher: Watcher) => {
  const segments: Segment[] = [];
  const sources = new Set<string>();
  return {
    segments,
    sources,
    take: ({ source, ...rest }: DraftSegment): void => {
      const segment: Segment = { id: segments.length, ...rest };
      segments.push(segment);
      sources.add(wantsWords(work) ? source : 'segment');
      watcher.onSegment?.(shown(work, segment), segment.id);
    },
  };
};

/** A segment as the caller sees it: without words when those are not wanted. */
const shown = (work: Work, segment: Segment): Segment => {
  if (wantsWords(work)) return segment;
  const { words: _words, ...rest } = segment;
  return rest;
};

/** Where the time went, ms. */
type Spent = { readonly startedMs: number; readonly post: number; readonly diarize: number };

const assemble = (
  work: Work,
  heard: Heard,
  told: Diarized | undefined,
  warnings: readonly Warning[],
  spent: Spent,
): Transcript => {
  const { summary } = heard;
  const assembleMs = performance.now();
  const language = languageOf(work.request, work.model);
  const segments = (told?.segments ?? inOrder(heard.segments)).map((segment) => shown(work, segment));
  const processingMs = performance.now() - spent.startedMs;
  return {
    id: work.id,
    model: `${work.model.id}@${work.model.revision}`,
    language,
    duration: round(summary.durationSec, 3),
    text: joinText(segments, language),
    timestamp_source: heard.sources.has('aligned') ? 'aligned' : heard.sources.has('token') ? 'token' : 'segment',
    segments,
    silence: summary.silence.map(({ start, end }) => ({ start: round(start, 3), end: round(end, 3) })),
    ...(told?.speakers && { speakers: told.speakers }),
    stats: {
      audio_duration: round(summary.durationSec, 3),
      processing_ms: Math.round(processingMs),
      rtf: summary.durationSec > 0 ? round(processingMs / 1000 / summary.durationSec, 4) : 0,
      stages_ms: stagesMsOf(summary, heard.asrMs, performance.now() - assembleMs, spent),
      segments_total: segments.length,
      speech_ratio: summary.durationSec > 0 ? round(Math.min(1, summary.speechSec / summary.durationSec), 3) : 0,
    },
    warnings,
  };
};

const stagesMsOf = (
  summary: AudioSummary,
  asrMs: number,
  assembleMs: number,
  spent: Spent,
): Readonly<Record<Stage, number>> => ({
  decode: Math.round(summary.decodeMs),
  vad: Math.round(summary.voiceActivityMs),
  asr: Math.round(asrMs),
  assemble: Math.round(assembleMs),
  diarize: Math.round(spent.diarize),
  post: Math.round(spent.post),
});

const warningsOf = ({ segments, summary }: Heard): Warning[] => [
  ...rawWarnings(summary.format),
  ...(summary.truncated
    ? [warn('audio_truncated', 'The file breaks off before its own end; what came before was used.')]
    : []),
  ...(segments.length === 0 ? [warn('no_speech_detected', 'No speech was heard in the recording.')] : []),
];

/** With several channels segments are put in order of time; one channel's already are. */
const inOrder = (segments: readonly Segment[]): Segment[] =>
  segments.toSorted((a, b) => a.start - b.start || a.channel - b.channel).map((segment, id) => ({ ...segment, id }));

/** Turns the time limit of a request into its Problem. */
export const processingTimeout = (limitMs: number): Error =>
  problem('processing_timeout', `Not finished within ${Math.round(limitMs / 1000)} s.`);
