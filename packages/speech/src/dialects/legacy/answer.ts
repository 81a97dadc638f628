/** How a finished transcript is sent: text/plain whatever the format, and the headers of the Whisper ASR web service. */
import type { FastifyReply } from 'fastify';
import type { Transcript, Warning } from '../../core/types.ts';
import { type DialectParts, SERVICE_NAME } from '../dialect.ts';
import { sendWarningCodes } from '../strict.ts';
import type { OutputChoice } from './fields.ts';
import { quotePython, renderOutput } from './render.ts';

/** The name of the upload's field, and of an upload without a name. */
export const FILE_FIELD = 'audio_file';

export type Finished = {
  readonly transcript: Transcript;
  readonly filename: string | undefined;
  readonly choice: OutputChoice;
  readonly showsWords: boolean;
  readonly warnings: readonly Warning[];
};

/** Sends the file. */
export const sendFile = (parts: DialectParts, reply: FastifyReply, finished: Finished): FastifyReply => {
  const { transcript, choice, showsWords } = finished;
  const body = renderOutput(choice.output, transcript, {
    subtitles: parts.subtitles,
    speakerPrefix: parts.speakerPrefix,
    showsWords,
  });
  sendWarningCodes(reply, finished.warnings);
  return reply
    .type('text/plain; charset=utf-8')
    .header('Asr-Engine', SERVICE_NAME)
    .header(
      'Content-Disposition',
      `attachment; filename="${quotePython(finished.filename ?? FILE_FIELD)}.${choice.extension}"`,
    )
    .send(body);
};
