/** A transcript as the body of an answer, in each format the native dialect knows. */
import type { Transcript, Warning } from '../../core/types.ts';
import type { SubtitleLimits } from '../../formats/cues.ts';
import { renderSrt, renderVtt } from '../../formats/subtitles.ts';
import { renderText, renderTsv } from '../../formats/text.ts';
import type { ResponseFormat } from './fields.ts';
import { renderTranscript } from './render.ts';

/** The body and its media type. `withWords` matters to json only. */
export const renderBody = (
  subtitles: SubtitleLimits,
  format: ResponseFormat,
  transcript: Transcript,
  warnings: readonly Warning[],
  withWords: boolean,
): { type: string; body: unknown } => {
  switch (format) {
    case 'text':
      return { type: 'text/plain; charset=utf-8', body: renderText(transcript) };
    case 'srt':
      return { type: 'application/x-subrip; charset=utf-8', body: renderSrt(transcript.segments, subtitles) };
    case 'vtt':
      return { type: 'text/vtt; charset=utf-8', body: renderVtt(transcript.segments, subtitles) };
    case 'tsv':
      return { type: 'text/tab-separated-values; charset=utf-8', body: renderTsv(transcript.segments) };
    case 'json':
      return { type: 'application/json; charset=utf-8', body: renderTranscript(transcript, warnings, withWords) };
  }
};
