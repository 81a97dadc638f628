/** `/asr_task`: the same work as a job. A task id is `<job id>~<output>`. */
import type { Call } from '@parley/kit/http/endpoint.ts';
import { asProblem } from '@parley/kit/problem.ts';
import { problem } from '../../core/codes.ts';
import type { JobRecord } from '../../core/job-record.ts';
import type { Caller } from '../../core/types.ts';
import type { DialectParts } from '../dialect.ts';
import { mergeWarnings, readStrictHeader, sendWarningCodes } from '../strict.ts';
import { sendFile } from './answer.ts';
import { type Ask, readAsk, readOutput, refuseTranslation } from './fields.ts';
import { withLanguageCode } from './language-code.ts';
import { createParameters } from './parameters.ts';
import { withRecording } from './recording.ts';

const SEPARATOR = '~';

/** Queues the recording and answers the task's id. */
export const createTask = async (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const { request, reply, caller } = call;
  const { jobs } = parts.speech;
  const strict = readStrictHeader(request);
  refuseTranslation((request.query as { task?: unknown }).task);
  const place = jobs.reserve(Number(request.headers['content-length'] ?? 0) || 0);
  try {
    return await withRecording(
      parts,
      call,
      (read) => readAsk(read, strict),
      async (ask, upload) => {
        place.setBytes(upload.sizeBytes);
        const asked = await withLanguageCode(parts, keptRequest(ask));
        const job = await jobs.submit(caller, asked, upload, {
          webhookUrl: undefined,
          idempotencyKey: undefined,
          fingerprint: '',
          source: 'api',
        });
        sendWarningCodes(reply, asked.warnings);
        return () => ({ success: true, task_id: `${job.id}${SEPARATOR}${ask.choice.extension}` });
      },
    );
  } finally {
    place.release();
  }
};

/**
 * What is kept of the question must tell later whether json shows words: where nobody wanted them it keeps none. The
 * other formats need their times.
 */
const keptRequest = ({ request, choice, showsWords }: Ask): Ask['request'] =>
  choice.output === 'json' && !showsWords ? { ...request, wordTimestamps: false } : request;

/** Answers that the task is not over, or its file, or why there is none. Problem job_not_found. */
export const readTask = async (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const { task_id: taskId } = call.request.params as { task_id: string };
  const [jobId = '', extension] = taskId.split(SEPARATOR, 2);
  const job = await findJob(parts, call.caller, jobId);
  if (job.status === 'queued' || job.status === 'running') return toPending(job);
  if (!job.result) return toFailure(job);
  const choice = readOutput(createParameters(call.request.query, new Map()).text('output') ?? extension);
  return sendFile(parts, call.reply, {
    transcript: job.result,
    filename: job.filename,
    choice,
    showsWords: job.result.segments.some((segment) => segment.words !== undefined),
    warnings: mergeWarnings(job.result.warnings, choice.warnings),
  });
};

const findJob = async ({ speech }: DialectParts, caller: Caller, id: string): Promise<JobRecord> => {
  try {
    return await speech.jobs.get(caller, id);
  } catch (thrown) {
    if (asProblem(thrown).code !== 'job_not_found') throw thrown;
    throw problem('job_not_found', 'task not found', { cause: thrown });
  }
};

const toPending = ({ status, position, percent }: JobRecord): Record<string, unknown> => ({
  success: true,
  is_ready: false,
  status,
  ...(position !== undefined && { position }),
  ...(percent !== undefined && { percent }),
});

const FAILURE_TITLES: Readonly<Record<string, string>> = {
  canceled: 'The task was cancelled',
  expired: 'The task waited too long',
};

const toFailure = ({ status, error }: JobRecord): Record<string, unknown> => ({
  success: false,
  is_ready: true,
  error: {
    title: FAILURE_TITLES[status] ?? 'The task failed',
    message: error?.message ?? 'There is no transcript.',
    traceback: [`code: ${error?.code ?? status}`],
  },
});
