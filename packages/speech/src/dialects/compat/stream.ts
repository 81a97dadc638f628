/**
 * `stream=true`: server-sent events with `data:` lines only, as the OpenAI SDKs read them. Nothing is sent before the
 * first segment is there, so that most refusals still have a status of their own; only a slow start opens the stream
 * early, so that nobody takes silence for a dead connection.
 */
import type { Call } from '@parley/kit/http/endpoint.ts';
import { type EventStream, type ServerEvent, startEvents } from '@parley/kit/http/events.ts';
import { asProblem } from '@parley/kit/problem.ts';
import type { Caller, Segment, TranscriptionRequest, Upload } from '../../core/types.ts';
import { separatorOf } from '../../formats/text.ts';
import type { DialectParts } from '../dialect.ts';
import { compatErrorOf } from '../errors.ts';
import { toLanguage } from '../language.ts';
import { mergeWarnings, sendWarningCodes } from '../strict.ts';
import type { ResponseFormat } from './fields.ts';
import { renderJson, renderSpeakerSegments } from './render.ts';

/** How long a refusal may still get its own status. */
const OPEN_AFTER_MS = 15_000;

/**
 * Transcribes and sends the text as it is found. Resolves, when the work is over, with what sends the last event and
 * ends the stream.
 */
export const streamTranscription = async (
  parts: DialectParts,
  call: Call<Caller>,
  request: TranscriptionRequest,
  format: ResponseFormat,
  upload: Upload,
): Promise<() => Promise<unknown>> => {
  const model = await parts.speech.models.resolve(request.model, request.language);
  const separator = separatorOf(request.language ?? toLanguage(model.languages[0] ?? '') ?? '');
  const later = openLater(call, request);
  const onSegment = (segment: Segment, index: number): void => {
    const delta = `${index === 0 ? '' : separator}${segment.text.trim()}`;
    later.open().send({ data: { type: 'transcript.text.delta', delta } });
  };
  const finish =
    (...last: readonly ServerEvent[]) =>
    async (): Promise<unknown> => {
      const stream = later.open();
      for (const event of last) stream.send(event);
      stream.end();
      await stream.closed;
      return call.reply;
    };
  try {
    const transcript = await parts.speech.transcribe(call.caller, request, upload, { signal: call.signal, onSegment });
    const warnings = mergeWarnings(request.warnings, transcript.warnings);
    // Speakers are known when the whole recording was heard.
    const segments = format === 'diarized_json' ? renderSpeakerSegments(transcript).map((data) => ({ data })) : [];
    return finish(...segments, { data: { type: 'transcript.text.done', ...renderJson(transcript, warnings) } });
  } catch (thrown) {
    if (!later.isOpen()) throw thrown;
    if (call.signal.aborted) return async () => call.reply;
    const problem = asProblem(thrown);
    const facts = { requestId: call.request.id, code: problem.code };
    if (problem.status === 503) call.request.log.warn({ ...facts, reason: problem.message }, 'refused for now');
    else if (problem.status >= 500) call.request.log.error({ ...facts, err: problem.cause ?? problem }, 'problem');
    return finish({ event: 'error', data: { error: compatErrorOf(problem, '') } });
  } finally {
    later.cancel();
  }
};

/** A stream that begins when it is first needed, or by itself after a while. */
const openLater = ({ request, reply }: Call<Caller>, { warnings }: TranscriptionRequest) => {
  let stream: EventStream | undefined;
  const open = (): EventStream => {
    clearTimeout(timer);
    if (stream) return stream;
    sendWarningCodes(reply, warnings);
    stream = startEvents(request, reply, { isWork: true });
    return stream;
  };
  const timer = setTimeout(open, OPEN_AFTER_MS);
  return { open, isOpen: (): boolean => stream !== undefined, cancel: (): void => clearTimeout(timer) };
};
