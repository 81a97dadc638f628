/** A job's state in words, colour and progress. */
import type { JobRecord, JobStatus } from '@parley/speech/core/job-record.ts';
import type { Stage } from '@parley/speech/core/types.ts';
import { formatDuration, formatPercent } from '../shared/format.ts';
import { createTexts, useLanguage } from '../shared/i18n.tsx';
import { Badge, Progress, type Tone } from '../shared/parts.tsx';

export const STATUSES: readonly JobStatus[] = ['queued', 'running', 'succeeded', 'failed', 'canceled', 'expired'];

export const useStatusTexts = createTexts<{
  status: Record<JobStatus, string>;
  stage: Record<Stage, string>;
  left: (time: string) => string;
  position: (place: number) => string;
  progress: string;
}>({
  en: {
    status: {
      queued: 'Waiting',
      running: 'Running',
      succeeded: 'Done',
      failed: 'Failed',
      canceled: 'Cancelled',
      expired: 'Expired',
    },
    stage: {
      decode: 'Decoding',
      vad: 'Looking for speech',
      asr: 'Transcribing',
      assemble: 'Putting together',
      diarize: 'Telling speakers apart',
      post: 'Finishing the text',
    },
    left: (time) => `about ${time} left`,
    position: (place) => `number ${place} in the queue`,
    progress: 'Progress',
  },
  ru: {
    status: {
      queued: 'В очереди',
      running: 'Выполняется',
      succeeded: 'Готово',
      failed: 'Ошибка',
      canceled: 'Отменено',
      expired: 'Истекло',
    },
    stage: {
      decode: 'Декодирование',
      vad: 'Поиск речи',
      asr: 'Распознавание',
      assemble: 'Сборка',
      diarize: 'Разделение говорящих',
      post: 'Обработка текста',
    },
    left: (time) => `осталось около ${time}`,
    position: (place) => `${place}-е в очереди`,
    progress: 'Ход выполнения',
  },
});

const TONES: Readonly<Record<JobStatus, Tone>> = {
  queued: 'plain',
  running: 'accent',
  succeeded: 'good',
  failed: 'bad',
  canceled: 'plain',
  expired: 'warn',
};

export const StatusBadge = ({ status }: { status: JobStatus }) => (
  <Badge tone={TONES[status]}>{useStatusTexts().status[status]}</Badge>
);

/** Stage, percent and time left of a job that is not over; its place while it waits. */
export const JobProgress = ({ job }: { job: JobRecord }) => {
  const t = useStatusTexts();
  const { language } = useLanguage();
  const parts =
    job.status === 'queued'
      ? [t.status.queued, ...(job.position === undefined ? [] : [t.position(job.position)])]
      : [
          job.stage === undefined ? t.status.running : t.stage[job.stage],
          ...(job.percent === undefined ? [] : [formatPercent(job.percent, language)]),
          ...(job.eta_seconds === undefined ? [] : [t.left(formatDuration(job.eta_seconds, language))]),
        ];
  return (
    <div className="job-progress">
      <Progress label={t.progress} percent={job.status === 'queued' ? undefined : job.percent} />
      <p className="faint small">{parts.join(' · ')}</p>
    </div>
  );
};
