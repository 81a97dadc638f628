/** What the newest runs of a script said, whoever began them. */
import { useState } from 'react';
import { formatInstant } from '../../shared/format.ts';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText } from '../faults.tsx';
import { EndingBadge, RunLog } from './run-log.tsx';
import type { RunAnswer } from './trace.ts';

const useTexts = createTexts({
  en: {
    title: 'Newest runs',
    none: 'It has not run since this node was started.',
    again: 'Look again',
    entries: { admin: 'by hand', external: 'sign-in', oauth: 'provider', integration: 'integration' } as Readonly<
      Record<string, string>
    >,
    took: (steps: number, ms: number) => `${steps} steps, ${ms} ms`,
  },
  ru: {
    title: 'Последние запуски',
    none: 'С запуска этого узла сценарий не выполнялся.',
    again: 'Обновить',
    entries: { admin: 'вручную', external: 'вход', oauth: 'провайдер', integration: 'интеграция' } as Readonly<
      Record<string, string>
    >,
    took: (steps: number, ms: number) => `шагов: ${steps}, ${ms} мс`,
  },
});

/** A run as it is kept: without its trace, with who began it. */
type KeptRun = RunAnswer & { readonly entry: string; readonly dt: string };

/** `path`: of the script in the interface. */
export const RecentRuns = ({ path }: { path: string }) => {
  const t = useTexts();
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="form-group" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.title}</summary>
      {isOpen ? <Runs path={`${path}/runs`} /> : null}
    </details>
  );
};

const Runs = ({ path }: { path: string }) => {
  const t = useTexts();
  const { api } = useConsole();
  const runs = useLoaded((signal) => api.json<KeptRun[]>(path, { signal }), [api, path]);
  if (runs.error) return <FaultText error={runs.error} />;
  if (!runs.data) return <Loading />;
  return (
    <div className="stack">
      {runs.data.length === 0 ? <p className="faint">{t.none}</p> : null}
      <ul className="recent-runs">
        {runs.data.map((run) => (
          <li key={run.run}>
            <OneRun {...run} />
          </li>
        ))}
      </ul>
      <div className="row">
        <button type="button" className="button quiet small" disabled={runs.isLoading} onClick={runs.reload}>
          {t.again}
        </button>
      </div>
    </div>
  );
};

const OneRun = ({ ended, entry, dt, steps, took_ms, error, log }: KeptRun) => {
  const t = useTexts();
  const { language } = useLanguage();
  return (
    <>
      <div className="row">
        <EndingBadge ended={ended} />
        <span className="small">{formatInstant(dt, language)}</span>
        <span className="faint small">
          {t.entries[entry] ?? entry}, {t.took(steps, took_ms)}
        </span>
      </div>
      {error ? (
        <p className="field-error">
          {error.reason}: {error.message}
        </p>
      ) : null}
      {log.length > 0 ? <RunLog log={log} /> : null}
    </>
  );
};
