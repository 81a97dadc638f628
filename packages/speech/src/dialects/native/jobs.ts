/** Jobs of the native dialect: create, list, read (also rendered), cancel, follow. */
import type { Call } from '@parley/kit/http/endpoint.ts';
import { lastEventIdOf, startEvents } from '@parley/kit/http/events.ts';
import type { FastifyRequest } from 'fastify';
import { problem } from '../../core/codes.ts';
import type { JobRecord } from '../../core/job-record.ts';
import type { Caller } from '../../core/types.ts';
import type { DialectParts, SpeechEndpoint } from '../dialect.ts';
import { parseSwitch } from '../form.ts';
import { readStrictHeader, sendWarningCodes } from '../strict.ts';
import { withUpload } from '../upload.ts';
import { renderBody } from './body.ts';
import { parseJobForm, RESPONSE_FORMATS, type ResponseFormat } from './fields.ts';
import { readJobFilter } from './job-filter.ts';
import { renderTranscript } from './render.ts';

/** Every endpoint about jobs. */
export const jobEndpoints = (parts: DialectParts): SpeechEndpoint[] => [
  {
    method: 'POST',
    path: '/api/v1/jobs',
    access: 'key',
    tag: 'native',
    summary: 'Queue a recording',
    description:
      'The same form as transcribe, and `webhook_url` for a signed delivery. Answers 202 with the job and its address ' +
      'in `Location`. An `Idempotency-Key` makes a repetition within a day get the first answer.',
    handle: (call) => createJob(parts, call),
  },
  {
    method: 'GET',
    path: '/api/v1/jobs',
    access: 'key',
    tag: 'native',
    summary: 'List jobs, newest first',
    description:
      "The key's own jobs, everybody's for an administrative key. `limit`, `cursor`, `status` (repeatable), `model`, " +
      '`source`, `since`, `until`, `include=result`; `key` for administrators.',
    handle: async ({ request, caller }) => {
      const page = await parts.speech.jobs.list(caller, readJobFilter(request.query));
      return { ...page, data: page.data.map(renderJob) };
    },
  },
  {
    method: 'GET',
    path: '/api/v1/jobs/:id',
    access: 'key',
    tag: 'native',
    summary: 'Read a job and its result',
    description: '`response_format` renders the result of a finished job as text, srt, vtt or tsv.',
    handle: (call) => readJob(parts, call),
  },
  {
    method: 'DELETE',
    path: '/api/v1/jobs/:id',
    access: 'key',
    tag: 'native',
    summary: 'Cancel a queued or running job',
    description: 'Answers the job as it really is: one that finished first stays as it ended.',
    handle: async (call) => renderJob(await parts.speech.jobs.cancel(call.caller, idOf(call))),
  },
  {
    method: 'GET',
    path: '/api/v1/jobs/:id/events',
    access: 'key',
    tag: 'native',
    summary: 'Follow a job as an event stream',
    description:
      'Numbered states; `Last-Event-ID` resumes after that number. Of a job that is over exactly one event comes. ' +
      '`segments=true` adds finished segments.',
    handle: (call) => followJob(parts, call),
  },
];

const idOf = (call: Call<Caller>): string => (call.request.params as { id: string }).id;

/** A job record as JSON: the result in the shape of the result record. */
export const renderJob = (job: JobRecord): Record<string, unknown> => ({
  ...job,
  ...(job.result ? { result: renderTranscript(job.result, job.result.warnings, true) } : {}),
});

const MAX_IDEMPOTENCY_KEY_CHARS = 255;

const readIdempotencyKey = (request: FastifyRequest): string | undefined => {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key !== '' && key.length <= MAX_IDEMPOTENCY_KEY_CHARS) return key;
  throw problem('invalid_request', `Idempotency-Key has 1 to ${MAX_IDEMPOTENCY_KEY_CHARS} characters.`, {
    param: 'Idempotency-Key',
  });
};

const createJob = async (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const { request, reply, caller } = call;
  const strictHeader = readStrictHeader(request);
  const idempotencyKey = readIdempotencyKey(request);
  const place = parts.speech.jobs.reserve(Number(request.headers['content-length'] ?? 0) || 0);
  try {
    return await withUpload(parts.uploads, call, 'file', async (upload, form) => {
      const asked = parseJobForm(form, strictHeader);
      place.setBytes(upload.sizeBytes);
      const job = await parts.speech.jobs.submit(caller, asked.request, upload, {
        webhookUrl: asked.webhookUrl,
        idempotencyKey,
        fingerprint: JSON.stringify([...form].toSorted(([a], [b]) => (a < b ? -1 : 1))),
        source: request.headers['x-parley-source'] === 'ui' ? 'ui' : 'api',
      });
      sendWarningCodes(reply, asked.request.warnings);
      return () => reply.code(202).header('Location', job.links.self).send(renderJob(job));
    });
  } finally {
    place.release();
  }
};

const readFormat = (call: Call<Caller>): ResponseFormat => {
  const { response_format: format = 'json' } = call.request.query as { response_format?: string };
  const known = RESPONSE_FORMATS.find((one) => one === format);
  if (known) return known;
  throw problem('invalid_request', `response_format must be one of ${RESPONSE_FORMATS.join(', ')}.`, {
    param: 'response_format',
  });
};

const readJob = async (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const format = readFormat(call);
  const job = await parts.speech.jobs.get(call.caller, idOf(call));
  if (format === 'json') return renderJob(job);
  if (!job.result) throw problem('job_not_finished', `This job is ${job.status}; there is no result to render.`);
  const { type, body } = renderBody(parts.subtitles, format, job.result, job.result.warnings, true);
  sendWarningCodes(call.reply, job.result.warnings);
  return call.reply.type(type).send(body);
};

/** A result of hours in one event is no sign of a slow reader. */
const MAX_BUFFERED_BYTES = 64 * 2 ** 20;
/** A browser's EventSource reconnects when a stream ends; after the last event it had better not. */
const NO_RECONNECT_MS = 86_400_000;

const followJob = async (parts: DialectParts, call: Call<Caller>): Promise<void> => {
  const { request, reply, caller } = call;
  const afterId = readLastEventId(request);
  const { segments = 'false' } = request.query as { segments?: string };
  const withSegments = parseSwitch(segments);
  if (withSegments === undefined)
    throw problem('invalid_request', 'segments must be true or false.', { param: 'segments' });
  const leaving = new AbortController();
  const messages = await parts.speech.jobs.watch(caller, idOf(call), {
    afterId,
    segments: withSegments,
    signal: leaving.signal,
  });
  const stream = startEvents(request, reply, { maxBufferedBytes: MAX_BUFFERED_BYTES });
  stream.signal.addEventListener('abort', () => leaving.abort(), { once: true });
  if (stream.signal.aborted) leaving.abort();
  for await (const { id, name, data, last } of messages) {
    const shown = name === 'segment' ? data : renderJob(data as unknown as JobRecord);
    const isOpen = stream.send({ id, event: name, data: shown, ...(last ? { retryMs: NO_RECONNECT_MS } : {}) });
    if (!isOpen) break;
  }
  stream.end();
  await stream.closed;
};

const readLastEventId = (request: FastifyRequest): string => {
  const text = lastEventIdOf(request) ?? '';
  if (text === '' || /^\d{1,9}(\.\d{1,5})?$/.test(text)) return text;
  throw problem('invalid_request', 'Last-Event-ID must be the id of an event.', { param: 'Last-Event-ID' });
};
