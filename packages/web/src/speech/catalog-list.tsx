/** The catalog: what can be had, its licence and size, and how far a download is. */
import type { CatalogEntry } from '@parley/speech/core/types.ts';
import { Download as DownloadIcon } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useNotify } from '../shared/dialog.tsx';
import { SelectField, TextField } from '../shared/form.tsx';
import { formatBytes, formatPercent } from '../shared/format.ts';
import { useLanguage } from '../shared/i18n.tsx';
import { Badge, Empty, Progress } from '../shared/parts.tsx';
import { useStore } from '../shared/store.ts';
import type { Download } from './downloads.ts';
import { useModelsTexts } from './models-texts.ts';
import { useStudio } from './studio.tsx';

type ListProps = { readonly entries: readonly CatalogEntry[]; readonly onChanged: () => void };

export const CatalogList = ({ entries, onChanged }: ListProps) => {
  const t = useModelsTexts();
  const [text, setText] = useState('');
  const [kind, setKind] = useState('');
  const [language, setLanguage] = useState('');
  const kinds = useMemo(() => [...new Set(entries.map((one) => one.kind))], [entries]);
  const languages = useMemo(() => [...new Set(entries.flatMap((one) => one.languages))].sort(), [entries]);
  const needle = text.trim().toLowerCase();
  const shown = entries.filter(
    (one) =>
      (kind === '' || one.kind === kind) &&
      (language === '' || one.languages.includes(language)) &&
      `${one.id} ${one.display_name} ${one.family}`.toLowerCase().includes(needle),
  );
  const all = { value: '', label: t.any };
  return (
    <>
      <div className="card grid filters">
        <TextField label={t.search} type="search" value={text} onChange={setText} />
        <SelectField
          label={t.kind}
          value={kind}
          choices={[all, ...kinds.map((value) => ({ value, label: t.kinds[value] }))]}
          onChange={setKind}
        />
        <SelectField
          label={t.language}
          value={language}
          choices={[all, ...languages.map((value) => ({ value, label: value }))]}
          onChange={setLanguage}
        />
      </div>
      {shown.length === 0 ? <Empty title={t.noneFound} /> : null}
      <ul className="models">
        {shown.map((entry) => (
          <EntryCard key={`${entry.id}@${entry.revision}`} entry={entry} onChanged={onChanged} />
        ))}
      </ul>
    </>
  );
};

/** Bytes to fetch, where the catalog knows them. */
const bytesOf = ({ source }: CatalogEntry): number | undefined => {
  const size = source.size_bytes ?? source.size;
  return typeof size === 'number' ? size : undefined;
};

const EntryCard = ({ entry, onChanged }: { entry: CatalogEntry; onChanged: () => void }) => {
  const t = useModelsTexts();
  const { language } = useLanguage();
  const bytes = bytesOf(entry);
  const parts = [
    ...(bytes === undefined ? [] : [formatBytes(bytes, language)]),
    `${t.memory} ${formatBytes(entry.resources.approx_rss_mb * 2 ** 20, language)}`,
    `${entry.license} (${t.commercial[entry.commercial_use]})`,
  ];
  return (
    <li className="card model">
      <div className="model-head">
        <h2>{entry.display_name}</h2>
        <Badge>{t.kinds[entry.kind]}</Badge>
        {entry.streaming ? <Badge>{t.live}</Badge> : null}
        {entry.verified ? null : <Badge tone="warn">{t.untested}</Badge>}
      </div>
      <p className="faint small">
        <span className="mono">
          {entry.id}@{entry.revision}
        </span>{' '}
        · {entry.languages.join(', ')}
      </p>
      <p className="small">{parts.join(' · ')}</p>
      {entry.notes === undefined ? null : <p className="faint small">{entry.notes}</p>}
      <EntryState entry={entry} onChanged={onChanged} />
    </li>
  );
};

const EntryState = ({ entry, onChanged }: { entry: CatalogEntry; onChanged: () => void }) => {
  const t = useModelsTexts();
  const { downloads } = useStudio();
  const notify = useNotify();
  const download = useStore(downloads.store)[entry.id];
  const start = (): void => {
    void downloads.start(entry.id).then((isInstalled) => {
      if (isInstalled) notify({ kind: 'good', text: t.done(entry.display_name) });
      onChanged();
    });
  };
  if (download && !download.error) return <DownloadProgress name={entry.display_name} download={download} />;
  if (entry.state !== 'available' && entry.state !== 'downloading') {
    return <Badge tone="good">{t.states[entry.state]}</Badge>;
  }
  return (
    <>
      {download?.error ? (
        <p className="bad-text small" role="alert">
          {download.error.message}
        </p>
      ) : null}
      <div className="row">
        <button
          type="button"
          className="button quiet small"
          aria-label={`${t.download}: ${entry.display_name}`}
          onClick={start}
        >
          <DownloadIcon aria-hidden />
          {download?.error ? t.again : t.download}
        </button>
      </div>
    </>
  );
};

const DownloadProgress = ({ name, download }: { name: string; download: Download }) => {
  const t = useModelsTexts();
  const { language } = useLanguage();
  const isCounted = download.total > 0;
  const amount = isCounted
    ? `${formatBytes(download.downloaded, language)} / ${formatBytes(download.total, language)} · ${formatPercent(download.percent, language)}`
    : '';
  return (
    <div>
      <Progress label={`${t.download}: ${name}`} percent={isCounted ? download.percent : undefined} />
      <p className="faint small" role="status">
        {t.downloads[download.state] ?? download.state} {amount}
      </p>
    </div>
  );
};
