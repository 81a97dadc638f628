/**
 * The legacy dialect, shaped like the Whisper ASR web service. Deliberate differences: `task=translate` is refused
 * instead of answered with a transcription; the language is told from what the model declares; `/asr_task` is ours.
 */
import type { Call } from '@parley/kit/http/endpoint.ts';
import type { Caller } from '../../core/types.ts';
import type { DialectParts, SpeechEndpoint } from '../dialect.ts';
import { mergeWarnings, readStrictHeader } from '../strict.ts';
import { sendFile } from './answer.ts';
import { detectLanguage } from './detect-language.ts';
import { readAsk, refuseTranslation } from './fields.ts';
import { withLanguageCode } from './language-code.ts';
import { withRecording } from './recording.ts';
import { createTask, readTask } from './tasks.ts';

/** Every endpoint of the dialect. */
export const legacyEndpoints = (parts: DialectParts): SpeechEndpoint[] => [
  {
    method: 'POST',
    path: '/asr',
    access: 'key',
    tag: 'legacy',
    summary: 'Transcribe a recording and answer with a file',
    description:
      'Multipart form with the recording in `audio_file`; everything else in the query or the form. The answer is ' +
      '`text/plain` whatever the `output`. The key may come as basic auth, as in `http://x:KEY@host`.',
    handle: (call) => transcribe(parts, call),
  },
  {
    method: 'POST',
    path: '/asr_task',
    access: 'key',
    tag: 'legacy',
    summary: 'Queue a recording',
    description: 'Takes what `/asr` takes and answers `{"success": true, "task_id"}` at once.',
    handle: (call) => createTask(parts, call),
  },
  {
    method: 'GET',
    path: '/asr_task/:task_id',
    access: 'key',
    tag: 'legacy',
    summary: 'Ask for a queued recording',
    description:
      '`is_ready` is false while it waits or runs; then the answer is the file, as `/asr` sends it, or the reason why ' +
      'there is none. `output` asks for another format.',
    handle: (call) => readTask(parts, call),
  },
  {
    method: 'POST',
    path: '/detect-language',
    access: 'key',
    tag: 'legacy',
    summary: 'Tell the language of a recording',
    description:
      'From the languages the model declares; nothing is recognised. `confidence` is 1 when there is but one.',
    handle: (call) => detectLanguage(parts, call),
  },
];

const transcribe = (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const { request, caller, signal, reply } = call;
  const strict = readStrictHeader(request);
  // What the query says already need not wait for the upload.
  refuseTranslation((request.query as { task?: unknown }).task);
  return withRecording(
    parts,
    call,
    (read) => readAsk(read, strict),
    async (ask, upload) => {
      const asked = await withLanguageCode(parts, ask.request);
      const transcript = await parts.speech.transcribe(caller, asked, upload, { signal });
      const warnings = mergeWarnings(asked.warnings, transcript.warnings);
      const { choice, showsWords } = ask;
      return () => sendFile(parts, reply, { transcript, filename: upload.filename, choice, showsWords, warnings });
    },
  );
};
