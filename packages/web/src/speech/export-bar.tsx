/** Buttons that save the transcript in every format, or copy its text. */
import type { JobRecord } from '@parley/speech/core/job-record.ts';
import { Copy, Download } from 'lucide-react';
import { useNotify } from '../shared/dialog.tsx';
import { EXPORT_FORMATS, type Exported, type ExportFormat, exportText, saveText } from './export.ts';
import { useResultTexts } from './result-texts.ts';
import { useStudio } from './studio.tsx';
import { correct } from './transcript.ts';

export const ExportBar = ({ job, exported }: { job: JobRecord; exported: Exported }) => {
  const t = useResultTexts();
  const { api } = useStudio();
  const notify = useNotify();
  const orTell = (work: Promise<void>): void => {
    work.catch((thrown: unknown) =>
      notify({ kind: 'bad', text: thrown instanceof Error ? thrown.message : String(thrown) }),
    );
  };
  const save = async (format: ExportFormat): Promise<void> =>
    saveText(job.filename ?? job.id, format, await exportText(api, job.id, format, exported));
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(correct(exported.transcript, exported.layout, exported.edits).text);
    notify({ kind: 'good', text: t.copied });
  };
  return (
    <div className="row exports">
      <span className="faint">{t.save}</span>
      {EXPORT_FORMATS.map((format) => (
        <button key={format} type="button" className="button quiet small" onClick={() => orTell(save(format))}>
          <Download aria-hidden />
          {t.formats[format]}
        </button>
      ))}
      <button type="button" className="button quiet small" onClick={() => orTell(copy())}>
        <Copy aria-hidden />
        {t.copy}
      </button>
    </div>
  );
};
