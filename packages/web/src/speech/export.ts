/**
 * A result as a file. The service renders what it recognised; what was corrected here is written by the same code that the
 * service writes with.
 */
import type { Transcript } from '@parley/speech/core/types.ts';
import type { SubtitleLimits } from '@parley/speech/formats/cues.ts';
import { renderSrt, renderVtt } from '@parley/speech/formats/subtitles.ts';
import { renderText, renderTsv } from '@parley/speech/formats/text.ts';
import type { Api } from '../shared/api.ts';
import { saveFile } from '../shared/save-file.ts';
import { correct, type Edits, type Layout } from './transcript.ts';

export const EXPORT_FORMATS = ['text', 'srt', 'vtt', 'tsv', 'json'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const ENDINGS: Readonly<Record<ExportFormat, string>> = {
  text: 'txt',
  srt: 'srt',
  vtt: 'vtt',
  tsv: 'tsv',
  json: 'json',
};

/** The service's defaults (`subtitles.…` of its settings). */
const LIMITS: SubtitleLimits = { maxChars: 84, maxLines: 2, maxSeconds: 7 };

const render = (format: ExportFormat, transcript: Transcript): string => {
  if (format === 'json') return `${JSON.stringify(transcript, undefined, 2)}\n`;
  if (format === 'srt') return renderSrt(transcript.segments, LIMITS);
  if (format === 'vtt') return renderVtt(transcript.segments, LIMITS);
  return format === 'tsv' ? renderTsv(transcript.segments) : renderText(transcript);
};

export type Exported = { readonly transcript: Transcript; readonly layout: Layout; readonly edits: Edits };

const isEdited = ({ words, speakers }: Edits): boolean => Object.keys(words).length + Object.keys(speakers).length > 0;

/** The file's text. */
export const exportText = async (api: Api, jobId: string, format: ExportFormat, from: Exported): Promise<string> => {
  const { transcript, layout, edits } = from;
  if (isEdited(edits) || format === 'json') return render(format, correct(transcript, layout, edits));
  return (await api.request(`/api/v1/jobs/${jobId}?response_format=${format}`)).text();
};

/** Saves text under the recording's name. */
export const saveText = (recording: string, format: ExportFormat, text: string): void =>
  saveFile(`${recording.replace(/\.[^.]*$/, '') || 'transcript'}.${ENDINGS[format]}`, text, 'text/plain;charset=utf-8');
