/** Transcripts as the files of the Whisper ASR web service: whisper's own writers, and a json that all its engines' clients read. */
import type { Segment, Transcript, Word } from '../../core/types.ts';
import type { SubtitleLimits } from '../../formats/cues.ts';
import { renderSrt, renderWhisperVtt } from '../../formats/subtitles.ts';
import { renderLines, renderTsv, separatorOf } from '../../formats/text.ts';
import { round, toWhisperSegment } from '../whisper.ts';
import type { Output } from './fields.ts';

export type RenderOptions = {
  readonly subtitles: SubtitleLimits;
  /** Speakers become this and two digits. */
  readonly speakerPrefix: string;
  /** Whether json shows words. */
  readonly showsWords: boolean;
};

/** The file's text. */
export const renderOutput = (output: Output, transcript: Transcript, options: RenderOptions): string => {
  const segments = transcript.segments.map((segment) => withSpeakers(segment, options.speakerPrefix));
  switch (output) {
    case 'txt':
      return renderLines(segments);
    case 'srt':
      return renderSrt(segments, options.subtitles);
    case 'vtt':
      return renderWhisperVtt(segments, options.subtitles);
    case 'tsv':
      return renderTsv(segments);
    case 'json':
      return JSON.stringify(toJson(transcript, segments, options.showsWords));
  }
};

/** `spk_0` → `SPEAKER_00`, as WhisperX calls them. */
const nameOf = (speaker: string, prefix: string): string => {
  const number = /^spk_(\d+)$/.exec(speaker)?.[1];
  return number === undefined ? speaker : `${prefix}${number.padStart(2, '0')}`;
};

const withSpeakers = (segment: Segment, prefix: string): Segment => ({
  ...segment,
  speaker: segment.speaker === null ? null : nameOf(segment.speaker, prefix),
  ...(segment.words && {
    words: segment.words.map((word) =>
      word.speaker === undefined ? word : { ...word, speaker: nameOf(word.speaker, prefix) },
    ),
  }),
});

const toJson = (
  { text, language }: Transcript,
  segments: readonly Segment[],
  showsWords: boolean,
): Record<string, unknown> => {
  const lead = separatorOf(language);
  return {
    text,
    segments: segments.map((segment) => ({
      ...toWhisperSegment(segment, lead),
      ...(showsWords && segment.words && { words: segment.words.map(toWord) }),
      ...(segment.speaker !== null && { speaker: segment.speaker }),
    })),
    ...(showsWords && { word_segments: segments.flatMap((segment) => (segment.words ?? []).map(toWord)) }),
    language,
  };
};

/** Whisper calls it `probability`, WhisperX `score`; 0 when the model reports none. */
const toWord = (word: Word): Record<string, unknown> => {
  const probability = round(word.confidence ?? 0);
  return {
    word: word.word,
    start: round(word.start),
    end: round(word.end),
    probability,
    score: probability,
    ...(word.speaker !== undefined && { speaker: word.speaker }),
  };
};

/** As Python's `urllib.parse.quote`: letters, digits, `_.-~` and `/` stay, every other byte becomes `%XX`. */
export const quotePython = (text: string): string =>
  [...Buffer.from(text.toWellFormed(), 'utf8')]
    .map((byte) => {
      const letter = String.fromCharCode(byte);
      return /[A-Za-z0-9_.~/-]/.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
