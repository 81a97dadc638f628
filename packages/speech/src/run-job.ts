/** A job through the line: what earlier attempts kept goes in, what is new is checkpointed as it comes. */
import type { MediaStream } from './audio/audio.ts';
import type { Models } from './core/speech.ts';
import type { Transcript } from './core/types.ts';
import type { Checkpoint, Drafts } from './jobs/checkpoint.ts';
import type { JobRow } from './jobs/job.ts';
import type { DraftSegment } from './pipeline/assemble.ts';
import { type Line, transcribe } from './pipeline/transcribe.ts';

/** Runs one attempt at a job. Rejects with the signal's reason or a Problem, as the line does. */
export const runJob = async (
  line: Line,
  models: Models,
  job: JobRow,
  path: string,
  known: ReadonlyMap<number, Drafts>,
  checkpoint: Checkpoint,
  signal: AbortSignal,
): Promise<Transcript> => {
  // The revision it was accepted with: another would cut and hear differently.
  const model = await models.resolve(`${job.model_id}@${job.model_rev}`, undefined);
  let reached = { doneSec: 0, percent: 0 };
  return transcribe(
    line,
    {
      id: job.id,
      keyId: job.key_id,
      priority: job.priority,
      model,
      request: job.request,
      path,
      known: known as ReadonlyMap<number, readonly DraftSegment[]>,
    },
    {
      signal,
      isJob: true,
      onSegment: checkpoint.segment,
      onUtterance: checkpoint.utterance,
      onProgress: (doneSec, stream) => {
        reached = { doneSec, percent: percentOf(doneSec, stream) };
        checkpoint.progress({ ...reached, stage: 'asr' });
      },
      onSpeakers: () => checkpoint.progress({ ...reached, stage: 'diarize' }),
    },
  );
};

/** Only the end of the work is 100 %. */
const MAX_PERCENT = 99;

/** Seconds recognised of the seconds the recording likely has: those decoded so far by the share of the file read. */
const percentOf = (doneSec: number, stream: Pick<MediaStream, 'decodedSec' | 'readShare'>): number => {
  const totalSec = stream.decodedSec() / Math.max(stream.readShare(), 0.001);
  return totalSec <= 0 ? 0 : Math.min(MAX_PERCENT, Math.floor((100 * doneSec) / totalSec));
};
