/** What the speech service measures. Names end with their unit; models are those installed, so labels stay few. */
import { type Metrics, plain } from '@parley/kit/metrics.ts';
import type { JobStatus } from './core/job-record.ts';

export type SpeechMeasures = {
  /** An engine heard an utterance of so many seconds in so many seconds. */
  recognized(model: string, audioSec: number, tookSec: number): void;
  /** A whole recording is done: decoding, waiting, recognition and what is done with the text. */
  transcribed(model: string, audioSec: number, tookSec: number): void;
  /** An engine process ended; `planned` when it was replaced for its memory. */
  engineEnded(model: string, planned: boolean): void;
  /** This process ended a job. */
  jobEnded(status: JobStatus): void;
  /** One attempt to deliver; the status class as `2xx`, or `none` when nothing was answered. */
  delivered(outcome: string): void;
};

/** Real-time factor: seconds of work for a second of audio. */
const SPEED_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

export const createMeasures = (metrics: Metrics): SpeechMeasures => {
  const labels = ['model'] as const;
  const segments = metrics.counter({
    name: 'parley_speech_segments_recognized_total',
    help: 'Utterances heard by engines of this process.',
    labels,
  });
  const audio = metrics.counter({
    name: 'parley_speech_recognized_audio_seconds_total',
    help: 'Seconds of audio heard by engines.',
    labels,
  });
  const spent = metrics.counter({
    name: 'parley_speech_recognition_seconds_total',
    help: 'Seconds that utterances spent in engines; several are in flight at once.',
    labels,
  });
  const speed = metrics.histogram({
    name: 'parley_speech_realtime_factor',
    help: 'Seconds of work for a second of audio, per recording, from decoding to text.',
    labels,
    buckets: SPEED_BUCKETS,
  });
  const ends = metrics.counter({
    name: 'parley_speech_engine_ends_total',
    help: 'Engine processes that ended while their model was wanted: planned is a replacement for memory, else a crash.',
    labels: ['model', 'planned'],
  });
  const jobs = metrics.counter({
    name: 'parley_speech_jobs_ended_total',
    help: 'Jobs this process ended.',
    labels: ['status'],
  });
  const deliveries = metrics.counter({
    name: 'parley_speech_delivery_attempts_total',
    help: 'Attempts to tell of finished jobs.',
    labels: ['outcome'],
  });
  return {
    recognized: (model, audioSec, tookSec) => {
      segments.add({ model });
      audio.add({ model }, audioSec);
      spent.add({ model }, tookSec);
    },
    transcribed: (model, audioSec, tookSec) => {
      if (audioSec > 0) speed.observe({ model }, tookSec / audioSec);
    },
    engineEnded: (model, planned) => ends.add({ model, planned: String(planned) }),
    jobEnded: (status) => jobs.add({ status }),
    delivered: (outcome) => deliveries.add({ outcome }),
  };
};

/** What is asked for at each scrape. Numbers of the queue are those of all processes that share it. */
export type SpeechState = {
  readonly queued: () => number;
  readonly running: () => number;
  readonly queuedBytes: () => number;
  /** Seconds since the oldest waiting job came; 0 when none waits. */
  readonly oldestSec: () => number;
  /** Feed entries that this process has not taken in yet. */
  readonly feedLag: () => Promise<number>;
  readonly pendingDeliveries: () => Promise<number>;
  readonly waitingSegments: () => number;
  readonly underWay: () => number;
  readonly realtimeSessions: () => number;
  /** Bytes of memory by model in memory. */
  readonly models: () => ReadonlyMap<string, number>;
};

export const measureState = (metrics: Metrics, state: SpeechState): void => {
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void =>
    metrics.gauge({ name: `parley_speech_${name}`, help }, async () => plain(await read()));
  metrics.gauge({ name: 'parley_speech_jobs', help: 'Jobs that are not over.', labels: ['status'] }, () => [
    { labels: { status: 'queued' }, value: state.queued() },
    { labels: { status: 'running' }, value: state.running() },
  ]);
  gauge('queue_bytes', 'Bytes of audio that jobs not yet over hold.', state.queuedBytes);
  gauge('queue_oldest_seconds', 'How long the oldest waiting job has waited.', state.oldestSec);
  gauge('feed_lag_entries', 'Changes of jobs that this process has not taken in yet.', state.feedLag);
  gauge('deliveries_pending', 'Deliveries still to be made.', state.pendingDeliveries);
  gauge('segments_waiting', 'Utterances that wait for their turn.', state.waitingSegments);
  gauge('requests_under_way', 'Synchronous requests under way.', state.underWay);
  gauge('realtime_sessions', 'Realtime sessions that are open.', state.realtimeSessions);
  metrics.gauge(
    { name: 'parley_speech_model_memory_bytes', help: 'Memory of models in memory.', labels: ['model'] },
    () => [...state.models()].map(([model, value]) => ({ labels: { model }, value })),
  );
};
