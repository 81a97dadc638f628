/**
 * The native dialect under `/api/v1`. Bodies are our own records; errors are RFC 9457. Jobs are in jobs.ts, models in
 * models.ts.
 */
import type { Call } from '@parley/kit/http/endpoint.ts';
import type { Caller } from '../../core/types.ts';
import type { DialectParts, SpeechEndpoint } from '../dialect.ts';
import { mergeWarnings, readStrictHeader, sendWarningCodes } from '../strict.ts';
import { withUpload } from '../upload.ts';
import { renderBody } from './body.ts';
import { parseTranscribeForm } from './fields.ts';
import { jobEndpoints } from './jobs.ts';
import { modelEndpoints } from './models.ts';

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
    path: '/api/v1/config',
    access: 'admin',
    tag: 'native',
    summary: 'Show the effective configuration',
    description: 'Secrets are replaced by `[redacted]`; `_sources` tells where each value came from.',
    handle: () => parts.config(),
  },
  ...modelEndpoints(parts),
  ...jobEndpoints(parts),
];

const transcribe = (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const strictHeader = readStrictHeader(call.request);
  return withUpload(parts.uploads, call, 'file', async (upload, form) => {
    const asked = parseTranscribeForm(form, strictHeader);
    const transcript = await parts.speech.transcribe(call.caller, asked.request, upload, { signal: call.signal });
    const warnings = mergeWarnings(asked.request.warnings, transcript.warnings);
    const withWords = asked.request.wordTimestamps !== false;
    const { type, body } = renderBody(parts.subtitles, asked.format, transcript, warnings, withWords);
    sendWarningCodes(call.reply, warnings);
    return () => call.reply.type(type).send(body);
  });
};
