/** The first page: drop recordings or choose them, set options, watch them become text. */
import { Mic, Upload, X } from 'lucide-react';
import { type ChangeEvent, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { formatBytes, formatPercent } from '../shared/format.ts';
import { createTexts, useLanguage } from '../shared/i18n.tsx';
import { PageTitle } from '../shared/layout.tsx';
import { Fault, Progress } from '../shared/parts.tsx';
import { useStore } from '../shared/store.ts';
import { useConfig } from './config.ts';
import { isOver } from './job-hub.ts';
import { fieldsToSend, Options, useOptions } from './options.tsx';
import { JobProgress, StatusBadge } from './status.tsx';
import { useModels, useStudio } from './studio.tsx';
import type { Submission } from './submissions.ts';

const useTexts = createTexts({
  en: {
    title: 'Transcribe recordings',
    drop: 'Drop recordings here',
    or: 'or choose files: wav, mp3, m4a, flac, ogg, opus, webm and more',
    choose: 'Choose files',
    stays: 'Recordings go to this service only.',
    speak: 'Record from the microphone',
    list: 'Recordings',
    waiting: 'Waiting to be sent',
    sending: 'Sending',
    open: 'Open',
    cancel: 'Cancel',
    remove: 'Take off the list',
    noModel: 'No transcription model is installed.',
    toModels: 'See the models',
  },
  ru: {
    title: 'Расшифровка записей',
    drop: 'Перетащите записи сюда',
    or: 'или выберите файлы: wav, mp3, m4a, flac, ogg, opus, webm и другие',
    choose: 'Выбрать файлы',
    stays: 'Записи отправляются только в этот сервис.',
    speak: 'Записать с микрофона',
    list: 'Записи',
    waiting: 'Ожидает отправки',
    sending: 'Отправка',
    open: 'Открыть',
    cancel: 'Отменить',
    remove: 'Убрать из списка',
    noModel: 'Не установлена модель распознавания.',
    toModels: 'К моделям',
  },
});

export const TranscribePage = () => {
  const t = useTexts();
  const { submissions } = useStudio();
  const [, navigate] = useLocation();
  const models = useModels();
  const config = useConfig();
  const options = useOptions();
  const list = useStore(submissions.store);
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);

  const take = async (files: readonly File[]): Promise<void> => {
    if (files.length === 0) return;
    const job = await submissions.submit(files, fieldsToSend(options[0], models.data ?? []));
    // Who gives one recording wants to see what becomes of it.
    if (job && files.length === 1 && isShown.current) navigate(`/jobs/${job.id}`);
  };
  const hasNoModel = models.data !== undefined && !models.data.some((one) => one.kind === 'asr');
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <div className="stack">
        {models.error ? <Fault error={models.error} onRetry={models.reload} /> : null}
        {hasNoModel ? (
          <div className="warning-box">
            {t.noModel} <Link href="/models">{t.toModels}</Link>
          </div>
        ) : null}
        <DropZone onFiles={(files) => void take(files)} />
        {list.length > 0 ? (
          <section aria-label={t.list}>
            <h2 className="section-title">{t.list}</h2>
            <ul className="submissions">
              {list.map((one) => (
                <SubmissionItem key={one.key} submission={one} />
              ))}
            </ul>
          </section>
        ) : null}
        <section className="card" aria-label={t.title}>
          <Options models={models.data ?? []} config={config.data} options={options} />
        </section>
      </div>
    </>
  );
};

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;

/** Files may be dropped anywhere on the page. */
const useDrop = (onFiles: (files: readonly File[]) => void): boolean => {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      latest.current([...(event.dataTransfer?.files ?? [])]);
    };
    document.addEventListener('dragover', over);
    document.addEventListener('dragleave', leave);
    document.addEventListener('drop', drop);
    return () => {
      document.removeEventListener('dragover', over);
      document.removeEventListener('dragleave', leave);
      document.removeEventListener('drop', drop);
    };
  }, []);
  return isOver;
};

const DropZone = ({ onFiles }: { onFiles: (files: readonly File[]) => void }) => {
  const t = useTexts();
  const isOver = useDrop(onFiles);
  const choose = (event: ChangeEvent<HTMLInputElement>): void => {
    onFiles([...(event.target.files ?? [])]);
    event.target.value = '';
  };
  return (
    <div className={isOver ? 'drop over' : 'drop'}>
      <Upload aria-hidden className="drop-icon" />
      <p className="drop-title">{t.drop}</p>
      <p className="faint">{t.or}</p>
      <div className="row center">
        <label className="button">
          <input type="file" className="unseen" multiple accept="audio/*,video/*" onChange={choose} />
          {t.choose}
        </label>
        <Link href="/live" className="button quiet">
          <Mic aria-hidden />
          {t.speak}
        </Link>
      </div>
      <p className="faint small">{t.stays}</p>
    </div>
  );
};

const SubmissionItem = ({ submission }: { submission: Submission }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { submissions } = useStudio();
  const { state, file } = submission;
  const isEnded = state.name === 'failed' || (state.name === 'job' && isOver(state.job));
  return (
    <li className="card submission">
      <div className="submission-head">
        <strong className="clip">{file.name}</strong>
        <span className="faint small">{formatBytes(file.size, language)}</span>
        {state.name === 'job' ? <StatusBadge status={state.job.status} /> : null}
        <span className="submission-actions">
          {state.name === 'job' ? (
            <Link href={`/jobs/${state.job.id}`} className="button quiet small">
              {t.open}
            </Link>
          ) : null}
          <button
            type="button"
            className="icon-button"
            aria-label={`${isEnded ? t.remove : t.cancel}: ${file.name}`}
            onClick={() => submissions.drop(submission.key)}
          >
            <X aria-hidden />
          </button>
        </span>
      </div>
      <SubmissionState submission={submission} />
    </li>
  );
};

const SubmissionState = ({ submission: { state } }: { submission: Submission }) => {
  const t = useTexts();
  const { language } = useLanguage();
  switch (state.name) {
    case 'waiting':
      return <p className="faint small">{t.waiting}</p>;
    case 'sending':
      return (
        <>
          <Progress label={t.sending} percent={state.share * 100} />
          <p className="faint small">
            {t.sending} · {formatPercent(state.share * 100, language)}
          </p>
        </>
      );
    case 'failed':
      return <Fault error={state.error} />;
    default:
      if (!isOver(state.job)) return <JobProgress job={state.job} />;
      if (state.job.error) return <p className="small bad-text">{state.job.error.message}</p>;
      return state.job.result ? <p className="preview">{state.job.result.text}</p> : null;
  }
};
