/** Transcripts and models in the shapes of the OpenAI API, with a few fields of our own beside the required ones. */
import type { ModelInfo, Segment, TokenProbability, Transcript, Warning, Word } from '../../core/types.ts';
import { separatorOf } from '../../formats/text.ts';
import { languageNameOf } from '../language.ts';
import { round, toWhisperSegment } from '../whisper.ts';
import type { Granularity } from './fields.ts';

type Usage = { readonly type: 'duration'; readonly seconds: number };
const usageOf = (transcript: Transcript): Usage => ({ type: 'duration', seconds: round(transcript.duration) });

const warningsIn = (warnings: readonly Warning[]): Record<string, unknown> => (warnings.length > 0 ? { warnings } : {});

/** `response_format=json`; also the tail of a stream's last event. */
export const renderJson = (transcript: Transcript, warnings: readonly Warning[]): Record<string, unknown> => ({
  text: transcript.text,
  usage: usageOf(transcript),
  languages: [{ code: transcript.language }],
  ...(transcript.token_probabilities && { logprobs: transcript.token_probabilities.map(renderProbability) }),
  ...warningsIn(warnings),
});

const renderProbability = ({ token, logprob }: TokenProbability): Record<string, unknown> => ({
  token,
  logprob,
  bytes: [...Buffer.from(token)],
});

/** Speakers as OpenAI names those it does not know: A to Z, then AA. */
const letterOf = (index: number): string =>
  index < LETTERS
    ? String.fromCodePoint(FIRST_LETTER + index)
    : `${letterOf(Math.floor(index / LETTERS) - 1)}${letterOf(index % LETTERS)}`;
const LETTERS = 26;
const FIRST_LETTER = 65;

/** Segments with a speaker each; where speakers could not be told apart all are of the first. */
export const renderSpeakerSegments = ({ segments }: Pick<Transcript, 'segments'>): Record<string, unknown>[] => {
  const letters = new Map<string, string>();
  return segments.map((segment) => {
    const speaker = segment.speaker ?? '';
    if (!letters.has(speaker)) letters.set(speaker, letterOf(letters.size));
    return {
      type: 'transcript.text.segment',
      id: `seg_${String(segment.id + 1).padStart(3, '0')}`,
      start: round(segment.start),
      end: round(segment.end),
      text: segment.text.trim(),
      speaker: letters.get(speaker)!,
    };
  });
};

/** `response_format=diarized_json`. */
export const renderDiarizedJson = (transcript: Transcript, warnings: readonly Warning[]): Record<string, unknown> => ({
  task: 'transcribe',
  duration: round(transcript.duration),
  text: transcript.text,
  segments: renderSpeakerSegments(transcript),
  usage: usageOf(transcript),
  ...warningsIn(warnings),
});

/**
 * `response_format=verbose_json`. Without granularities there are segments only; with `word` alone, words only; where
 * the model has no word timings, segments whatever was asked.
 */
export const renderVerboseJson = (
  transcript: Transcript,
  warnings: readonly Warning[],
  granularities: ReadonlySet<Granularity>,
): Record<string, unknown> => {
  const { segments } = transcript;
  const hasWords = segments.length === 0 || segments.some((segment) => segment.words !== undefined);
  const withWords = granularities.has('word') && hasWords;
  const withSegments = granularities.size === 0 || granularities.has('segment') || !withWords;
  const lead = separatorOf(transcript.language);
  return {
    task: 'transcribe',
    language: languageNameOf(transcript.language),
    language_code: transcript.language,
    duration: round(transcript.duration),
    text: transcript.text,
    ...(withSegments && { segments: segments.map((segment) => renderSegment(segment, lead)) }),
    ...(withWords && { words: segments.flatMap((segment) => (segment.words ?? []).map(renderWord)) }),
    usage: usageOf(transcript),
    timestamp_source: transcript.timestamp_source,
    silence: transcript.silence.map(({ start, end }) => ({ start: round(start), end: round(end) })),
    ...(transcript.speakers && { speakers: transcript.speakers }),
    ...warningsIn(warnings),
    stats: transcript.stats,
  };
};

const renderSegment = (segment: Segment, lead: string): Record<string, unknown> => ({
  ...toWhisperSegment(segment, lead),
  ...(segment.speaker !== null && { speaker: segment.speaker }),
  channel: segment.channel,
});

const renderWord = (word: Word): Record<string, unknown> => ({
  word: word.word,
  start: round(word.start),
  end: round(word.end),
  ...(word.confidence !== undefined && { confidence: round(word.confidence) }),
  ...(word.speaker !== undefined && { speaker: word.speaker }),
});

/** A model object with the service's own facts beside OpenAI's four fields. */
export const renderModel = (model: ModelInfo, ownedBy: string): Record<string, unknown> => ({
  id: model.id,
  object: 'model',
  created: Math.floor(Date.parse(model.installed_at) / 1000) || 0,
  owned_by: ownedBy,
  state: model.state,
  languages: model.languages,
  word_timestamps: model.word_timestamps,
  license: model.license,
  capabilities: model.capabilities,
});
