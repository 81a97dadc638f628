/** What the line heard, made into the transcript that callers get. Pure but for the clock. */
import type { AudioSummary } from '../audio/audio.ts';
import type {
  ModelInfo,
  Segment,
  Stage,
  TokenProbability,
  Transcript,
  TranscriptionRequest,
  Warning,
} from '../core/types.ts';
import { joinText } from './assemble.ts';
import type { Diarized } from './diarize.ts';
import { languageOf, rawWarnings, warn } from './warnings.ts';
import { round } from './words.ts';

/** Of the work, what a transcript is about. */
type About = { readonly id: string; readonly model: ModelInfo; readonly request: TranscriptionRequest };

/** Every segment in order of time, and what the media process says of the recording. */
export type Heard = {
  readonly segments: readonly Segment[];
  readonly sources: ReadonlySet<string>;
  readonly probabilities: readonly TokenProbability[];
  readonly summary: AudioSummary;
  readonly asrMs: number;
};

/** Whether the caller gets words. */
export const wantsWords = ({ request }: Pick<About, 'request'>): boolean => request.wordTimestamps !== false;

/** A segment as the caller sees it: without words when those are not wanted. */
export const shown = (work: Pick<About, 'request'>, segment: Segment): Segment => {
  if (wantsWords(work)) return segment;
  const { words: _words, ...rest } = segment;
  return rest;
};

/** Where the time went, ms. */
export type Spent = { readonly startedMs: number; readonly post: number; readonly diarize: number };

/** The transcript; `told` where speakers were told apart. */
export const toTranscript = (
  work: About,
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
    ...(heard.probabilities.length > 0 && { token_probabilities: heard.probabilities }),
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

/** What the recording itself gives cause to say. */
export const warningsOf = ({ segments, summary }: Heard): Warning[] => [
  ...rawWarnings(summary.format),
  ...(summary.truncated
    ? [warn('audio_truncated', 'The file breaks off before its own end; what came before was used.')]
    : []),
  ...(segments.length === 0 ? [warn('no_speech_detected', 'No speech was heard in the recording.')] : []),
];

/** With several channels segments are put in order of time; one channel's already are. */
export const inOrder = (segments: readonly Segment[]): Segment[] =>
  segments.toSorted((a, b) => a.start - b.start || a.channel - b.channel).map((segment, id) => ({ ...segment, id }));
