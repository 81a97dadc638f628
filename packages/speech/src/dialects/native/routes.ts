/**
 * The native dialect under `/api/v1`. Bodies are our own records; errors are RFC 9457. Jobs and the operations on
 * models that change something are not here yet.
 */
import type { Call } from '@parley/kit/http/endpoint.ts';
import type { Caller, Transcript, Warning } from '../../core/types.ts';
import { renderSrt, renderVtt } from '../../formats/subtitles.ts';
import { renderText, renderTsv } from '../../formats/text.ts';
import type { DialectParts, SpeechEndpoint } from '../dialect.ts';
import { mergeWarnings, readStrictHeader, sendWarningCodes } from '../strict.ts';
import { withUpload } from '../upload.ts';
import { type NativeForm, parseTranscribeForm } from './fields.ts';
import { renderTranscript } from './render.ts';

/** Every endpoint of the dialect. */
export const nativeEndpoints = (parts: DialectParts): SpeechEndpoint[] => [
  {
    method: 'POST',
    path: '/api/v1/transcribe',
    access: 'key',
    tag: 'native',
    summary: 'Transcribe a recording and wait for the result',
    description:
      'Multipart form with the recording in `file`. Answers the result record, or text, srt, vtt or tsv as ' +
      '`response_format` says. Going away stops the work between two segments.',
    handle: (call) => transcribe(parts, call),
  },
  {
    method: 'GET',
    path: '/api/v1/models',
    access: 'key',
    tag: 'native',
    summary: 'List installed models and what is in memory',
    description: 'Supporting and streaming models included. Each carries state, languages and capabilities.',
    handle: async () => ({ data: await parts.speech.models.list() }),
  },
  {
    method: 'GET',
    path: '/api/v1/catalog',
    access: 'key',
    tag: 'native',
    summary: 'List models that can be downloaded',
    description: 'Entries say where a model comes from, its size, checksum, licence and whether somebody has tried it.',
    handle: async () => ({ data: await parts.speech.models.catalog() }),
  },
  {
    method: 'GET',
    path: '/api/v1/config',
    access: 'admin',
    tag: 'native',
    summary: 'Show the effective configuration',
    description: 'Secrets are replaced by `[redacted]`; `_sources` tells where each value came from.',
    handle: () => parts.config(),
  },
];

const transcribe = (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const strictHeader = readStrictHeader(call.request);
  return withUpload(parts.uploads, call, 'file', async (upload, form) => {
    const asked = parseTranscribeForm(form, strictHeader);
    const transcript = await parts.speech.transcribe(call.caller, asked.request, upload, { signal: call.signal });
    const warnings = mergeWarnings(asked.request.warnings, transcript.warnings);
    const { type, body } = render(parts, asked, transcript, warnings);
    sendWarningCodes(call.reply, warnings);
    return () => call.reply.type(type).send(body);
  });
};

const render = (
  parts: DialectParts,
  { format, request }: NativeForm,
  transcript: Transcript,
  warnings: readonly Warning[],
): { type: string; body: unknown } => {
  switch (format) {
    case 'text':
      return { type: 'text/plain; charset=utf-8', body: renderText(transcript) };
    case 'srt':
      return { type: 'application/x-subrip; charset=utf-8', body: renderSrt(transcript.segments, parts.subtitles) };
    case 'vtt':
      return { type: 'text/vtt; charset=utf-8', body: renderVtt(transcript.segments, parts.subtitles) };
    case 'tsv':
      return { type: 'text/tab-separated-values; charset=utf-8', body: renderTsv(transcript.segments) };
    case 'json': {
      const body = renderTranscript(transcript, warnings, request.wordTimestamps !== false);
      return { type: 'application/json; charset=utf-8', body };
    }
  }
};
