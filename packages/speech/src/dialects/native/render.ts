/** Transcripts and models as native JSON: times and scores to three decimals, nothing the interface does not name. */
import type { Segment, Transcript, Warning, Word } from '../../core/types.ts';

const round = (value: number): number => Math.round(value * 1000) / 1000;

/** The result record (docs/speech-api.md). `withWords: false` leaves word timings out. */
export const renderTranscript = (
  transcript: Transcript,
  warnings: readonly Warning[],
  withWords: boolean,
): Record<string, unknown> => ({
  id: transcript.id,
  model: transcript.model,
  language: transcript.language,
  duration: round(transcript.duration),
  text: transcript.text,
  timestamp_source: transcript.timestamp_source,
  segments: transcript.segments.map((segment) => renderSegment(segment, withWords)),
  silence: transcript.silence.map(({ start, end }) => ({ start: round(start), end: round(end) })),
  ...(transcript.speakers && {
    speakers: transcript.speakers.map((speaker) => ({ ...speaker, total_speech: round(speaker.total_speech) })),
  }),
  stats: {
    ...transcript.stats,
    audio_duration: round(transcript.stats.audio_duration),
    rtf: round(transcript.stats.rtf),
    speech_ratio: round(transcript.stats.speech_ratio),
  },
  warnings,
});

const renderSegment = (segment: Segment, withWords: boolean): Record<string, unknown> => ({
  id: segment.id,
  start: round(segment.start),
  end: round(segment.end),
  text: segment.text.trim(),
  channel: segment.channel,
  speaker: segment.speaker,
  ...optional('speaker_confidence', segment.speaker_confidence),
  ...optional('avg_confidence', segment.avg_confidence),
  ...(withWords && segment.words && { words: segment.words.map(renderWord) }),
});

const renderWord = (word: Word): Record<string, unknown> => ({
  word: word.word,
  start: round(word.start),
  end: round(word.end),
  ...optional('confidence', word.confidence),
  ...(word.original !== undefined && { original: word.original }),
  ...(word.speaker !== undefined && { speaker: word.speaker }),
  ...optional('speaker_confidence', word.speaker_confidence),
  ...(word.channel !== undefined && { channel: word.channel }),
});

const optional = (name: string, value: number | undefined): Record<string, number> =>
  value === undefined ? {} : { [name]: round(value) };
