/** Implements core/speech.ts by handing to the models and the pipeline; who may do what is decided here, once. */
import { createPrefixedId } from '@parley/kit/ids.ts';
import { problem } from './core/codes.ts';
import type { Realtime } from './core/realtime.ts';
import type { Jobs, Models, Speech } from './core/speech.ts';
import type { Caller, ModelInfo } from './core/types.ts';
import type { Queue } from './jobs/queue.ts';
import { mayUseModel } from './keys/globs.ts';
import { inspectRecording } from './pipeline/inspect.ts';
import { type Line, processingTimeout, stagesOf, transcribe } from './pipeline/transcribe.ts';
import { checkModel } from './pipeline/warnings.ts';

export type SpeechParts = {
  readonly line: Line;
  readonly models: Models;
  readonly realtime: Realtime;
  readonly jobs: Pick<Jobs, 'watch'> & { readonly queue: Queue; readonly admission: Pick<Jobs, 'reserve'> };
  readonly limits: SpeechLimits;
};

export type SpeechLimits = {
  /** Synchronous requests that may be under way at once. */
  readonly maxWaiting: number;
  readonly maxProcessingMs: number;
};

/** How quickly the measured speed follows new measurements. */
const SPEED_WEIGHT = 0.2;
const MIN_RETRY_SEC = 1;
/** Clients ignore a Retry-After of more than a minute. */
const MAX_RETRY_SEC = 60;

/** Seconds until there is likely room, from how long requests took lately. */
const createAdmission = (maxWaiting: number) => {
  let underWay = 0;
  let typicalSec = MIN_RETRY_SEC;
  return {
    underWay: (): number => underWay,
    /** Leaving without a time does not count as a measurement. */
    enter: (): { leave(tookMs?: number): void } => {
      if (underWay >= maxWaiting) {
        const retryAfterSec = Math.min(MAX_RETRY_SEC, Math.max(MIN_RETRY_SEC, Math.ceil(typicalSec)));
        throw problem('queue_full', 'Too many requests are under way.', { retryAfterSec });
      }
      underWay += 1;
      return {
        leave: (tookMs) => {
          underWay -= 1;
          if (tookMs !== undefined) typicalSec += (tookMs / 1000 - typicalSec) * SPEED_WEIGHT;
        },
      };
    },
  };
};

export type RunningSpeech = Speech & {
  /** Synchronous requests under way. */
  underWay(): number;
};

/** Puts the parts behind the one door that dialects see. */
export const createSpeech = ({ line, models, jobs, realtime, limits }: SpeechParts): RunningSpeech => {
  const admission = createAdmission(limits.maxWaiting);

  const resolveFor = async (
    caller: Caller,
    model: string | undefined,
    language: string | undefined,
  ): Promise<ModelInfo> => {
    const found = await models.resolve(model, language);
    if (!mayUseModel(caller, found.id))
      throw problem('forbidden', `This key may not use ${found.id}.`, { param: 'model' });
    return found;
  };

  return {
    models,
    realtime,
    jobs: {
      reserve: jobs.admission.reserve,
      submit: async (caller, request, upload, options) => {
        const model = await resolveFor(caller, request.model, request.language);
        // What can be known without the audio is refused now, not in the finished job.
        checkModel(request, model, stagesOf(line));
        return jobs.queue.submit(caller, model, request, upload, options);
      },
      list: jobs.queue.list,
      get: jobs.queue.get,
      cancel: jobs.queue.cancel,
      watch: jobs.watch,
    },
    underWay: admission.underWay,
    inspect: async (caller, request, upload, signal) => {
      const model = await resolveFor(caller, request.model, undefined);
      const place = admission.enter();
      try {
        return { model, warnings: await inspectRecording(line, request, upload.path, signal) };
      } finally {
        place.leave();
      }
    },
    transcribe: async (caller, request, upload, options) => {
      const model = await resolveFor(caller, request.model, request.language);
      const place = admission.enter();
      const startedMs = performance.now();
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(processingTimeout(limits.maxProcessingMs)), limits.maxProcessingMs);
      try {
        const { keyId, priority } = caller;
        return await transcribe(
          line,
          { id: createPrefixedId('txn'), keyId, priority, model, request, path: upload.path },
          {
            signal: AbortSignal.any([options.signal, deadline.signal]),
            ...(options.onSegment ? { onSegment: options.onSegment } : {}),
          },
        );
      } finally {
        clearTimeout(timer);
        place.leave(performance.now() - startedMs);
      }
    },
  };
};
