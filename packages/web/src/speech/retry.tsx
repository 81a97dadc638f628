/** Transcribes a recording again, usually with another model. The service keeps no recording; the browser may. */
import type { JobRecord } from '@parley/speech/core/job-record.ts';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../shared/dialog.tsx';
import { Field, SelectField } from '../shared/form.tsx';
import { Fault } from '../shared/parts.tsx';
import { fieldsToSend, useOptions } from './options.tsx';
import { useResultTexts } from './result-texts.ts';
import { isOffline, useModels, useStudio } from './studio.tsx';

/** `compact` shows the picture only. */
export const RetryButton = ({ job, compact = false }: { job: JobRecord; compact?: boolean }) => {
  const t = useResultTexts();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className={compact ? 'icon-button' : 'button quiet small'}
        aria-label={compact ? `${t.retry}: ${job.filename ?? job.id}` : undefined}
        title={compact ? t.retry : undefined}
        onClick={() => setOpen(true)}
      >
        <RotateCcw aria-hidden />
        {compact ? null : t.retry}
      </button>
      {isOpen ? <RetryDialog job={job} onClose={() => setOpen(false)} /> : null}
    </>
  );
};

const RetryDialog = ({ job, onClose }: { job: JobRecord; onClose: () => void }) => {
  const t = useResultTexts();
  const { submissions } = useStudio();
  const [, navigate] = useLocation();
  const models = useModels();
  const [options] = useOptions();
  const offered = (models.data ?? []).filter(isOffline);
  const [model, setModel] = useState(job.model_id);
  const [file, setFile] = useState(submissions.fileOf(job.id));
  const send = (): void => {
    if (!file) return;
    const fields = fieldsToSend({ ...options, model }, models.data ?? []);
    void submissions.submit([file], fields).then((sent) => navigate(sent ? `/jobs/${sent.id}` : '/'));
    onClose();
  };
  return (
    <Dialog
      title={t.retryTitle}
      onClose={onClose}
      onSubmit={send}
      actions={
        <button type="submit" className="button" disabled={!file}>
          {t.retryDo}
        </button>
      }
    >
      {models.error ? <Fault error={models.error} onRetry={models.reload} /> : null}
      <SelectField
        label={t.model}
        value={model}
        choices={offered.map((one) => ({ value: one.id, label: `${one.display_name} (${one.languages.join(', ')})` }))}
        onChange={setModel}
      />
      {submissions.fileOf(job.id) ? null : (
        <Field label={t.file} hint={t.retryFile}>
          {(ids) => (
            <input
              {...ids}
              type="file"
              accept="audio/*,video/*"
              onChange={(event) => setFile(event.target.files?.[0])}
            />
          )}
        </Field>
      )}
    </Dialog>
  );
};
