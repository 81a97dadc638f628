/**
 * The compat dialect under `/v1`, shaped like the OpenAI API. Deliberate differences: `model` is optional; `prompt`
 * favours words instead of continuing a text; `temperature` does nothing; what was not done as asked is said in
 * `warnings` and `X-Service-Warnings`; translation, and sessions that would need short-lived tokens, are refused.
 */
import type { Call } from '@parley/kit/http/endpoint.ts';
import { problem } from '../../core/codes.ts';
import type { Caller, Transcript, TranscriptionRequest, Warning } from '../../core/types.ts';
import { renderSrt, renderVtt } from '../../formats/subtitles.ts';
import { renderText } from '../../formats/text.ts';
import { type DialectParts, SERVICE_NAME, type SpeechEndpoint } from '../dialect.ts';
import { mergeWarnings, readStrictHeader, sendWarningCodes } from '../strict.ts';
import { withUpload } from '../upload.ts';
import { type CompatForm, parseTranscriptionForm } from './fields.ts';
import { chooseModel, findModel, visibleModels } from './models.ts';
import { realtimeEndpoint } from './realtime.ts';
import { renderDiarizedJson, renderJson, renderModel, renderVerboseJson } from './render.ts';
import { streamTranscription } from './stream.ts';

/** Every endpoint of the dialect. */
export const compatEndpoints = (parts: DialectParts): SpeechEndpoint[] => [
  {
    method: 'POST',
    path: '/v1/audio/transcriptions',
    access: 'key',
    tag: 'compat',
    summary: 'Transcribe a recording',
    description:
      'Multipart form with the recording in `file`, as the OpenAI SDKs send it. `stream=true` answers with ' +
      'server-sent events, one per finished segment.',
    handle: (call) => transcribe(parts, call),
  },
  refused('/v1/audio/translations', 'Translate a recording (not available)', 'This service transcribes only.'),
  {
    method: 'GET',
    path: '/v1/models',
    access: 'key',
    tag: 'compat',
    summary: 'List the models that can be passed as `model`',
    description: 'Supporting and streaming models are left out, because passing one would fail.',
    handle: async () => ({
      object: 'list',
      data: (await visibleModels(parts)).map((model) => renderModel(model, SERVICE_NAME)),
    }),
  },
  {
    method: 'GET',
    path: '/v1/models/:id',
    access: 'key',
    tag: 'compat',
    summary: 'Describe one model',
    description: 'The id may be an alias such as `whisper-1`; the answer describes the model it stands for.',
    handle: async ({ request }) => {
      const { id } = request.params as { id: string };
      return renderModel(await findModel(parts, id), SERVICE_NAME);
    },
  },
  realtimeEndpoint(parts),
  ...['sessions', 'transcription_sessions', 'client_secrets'].map((name) =>
    refused(
      `/v1/realtime/${name}`,
      'Make a short-lived token (not available)',
      'Short-lived tokens are not issued; connect to /v1/realtime with an API key.',
      'ephemeral_tokens_unsupported',
    ),
  ),
];

const refused = (path: string, summary: string, message: string, reason?: string): SpeechEndpoint => ({
  method: 'POST',
  path,
  access: 'key',
  tag: 'compat',
  summary,
  description: `Always answers 501. ${message}`,
  handle: () => {
    throw problem('not_implemented', message, reason === undefined ? {} : { details: { reason } });
  },
});

const transcribe = (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const strict = readStrictHeader(call.request);
  return withUpload<unknown>(parts.uploads, call, 'file', async (upload, fields) => {
    const form = parseTranscriptionForm(fields, strict);
    const { warnings, ...choice } = await chooseModel(parts, form);
    const request: TranscriptionRequest = {
      ...form.request,
      ...choice,
      warnings: [...form.request.warnings, ...warnings],
    };
    if (form.stream) return streamTranscription(parts, call, request, form.format, upload);
    const transcript = await parts.speech.transcribe(call.caller, request, upload, { signal: call.signal });
    const all = mergeWarnings(request.warnings, transcript.warnings);
    const { type, body } = render(parts, form, transcript, all);
    sendWarningCodes(call.reply, all);
    return () => call.reply.type(type).send(body);
  });
};

const render = (
  parts: DialectParts,
  { format, granularities }: CompatForm,
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
    case 'diarized_json':
      return { type: 'application/json; charset=utf-8', body: renderDiarizedJson(transcript, warnings) };
    case 'json':
      return { type: 'application/json; charset=utf-8', body: renderJson(transcript, warnings) };
    case 'verbose_json': {
      const body = renderVerboseJson(transcript, warnings, granularities);
      return { type: 'application/json; charset=utf-8', body };
    }
  }
};
