/** All jobs the key may see: live states, filters, cancel, again with another model. */
import type { JobRecord } from '@parley/speech/core/job-record.ts';
import { X } from 'lucide-react';
import { useCallback, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import type { Api } from '../shared/api.ts';
import { useNotify } from '../shared/dialog.tsx';
import { SelectField, TextField } from '../shared/form.tsx';
import { formatClock, formatInstant } from '../shared/format.ts';
import { useInterval } from '../shared/hooks.ts';
import { createTexts, useLanguage } from '../shared/i18n.tsx';
import { PageTitle } from '../shared/layout.tsx';
import { Fault, Loading } from '../shared/parts.tsx';
import { type Column, Table } from '../shared/table.tsx';
import { isOver } from './job-hub.ts';
import { RetryButton } from './retry.tsx';
import { JobProgress, STATUSES, StatusBadge, useStatusTexts } from './status.tsx';
import { useModels, useStudio } from './studio.tsx';

const useTexts = createTexts({
  en: {
    title: 'Jobs',
    filters: 'Filters',
    file: 'Recording',
    state: 'State',
    model: 'Model',
    length: 'Length',
    created: 'Created',
    actions: 'Actions',
    source: 'From',
    sources: { api: 'Interface', ui: 'Studio' },
    since: 'Since',
    any: 'All',
    untitled: 'Recording',
    cancel: (name: string) => `Cancel ${name}`,
    more: 'Show more',
    none: 'No jobs here yet.',
  },
  ru: {
    title: 'Задания',
    filters: 'Фильтры',
    file: 'Запись',
    state: 'Состояние',
    model: 'Модель',
    length: 'Длина',
    created: 'Создано',
    actions: 'Действия',
    source: 'Откуда',
    sources: { api: 'Интерфейс', ui: 'Студия' },
    since: 'Начиная с',
    any: 'Все',
    untitled: 'Запись',
    cancel: (name: string) => `Отменить ${name}`,
    more: 'Показать ещё',
    none: 'Заданий пока нет.',
  },
});

type Filters = { readonly status: string; readonly model: string; readonly source: string; readonly since: string };
const NO_FILTERS: Filters = { status: '', model: '', source: '', since: '' };
type Page = { readonly data: readonly JobRecord[]; readonly next_cursor: string | null; readonly has_more: boolean };

const PAGE_JOBS = 50;
/** How often the newest jobs are asked for again, and how seldom when none of them moves. */
const LIVE_MS = 2000;
const QUIET_MS = 10_000;

const readPage = (api: Api, filters: Filters, cursor: string, signal?: AbortSignal): Promise<Page> => {
  const query = new URLSearchParams({ limit: String(PAGE_JOBS) });
  if (cursor !== '') query.set('cursor', cursor);
  for (const name of ['status', 'model', 'source'] as const) if (filters[name] !== '') query.set(name, filters[name]);
  if (filters.since !== '') query.set('since', new Date(`${filters.since}T00:00:00`).toISOString());
  return api.json(`/api/v1/jobs?${query}`, { signal });
};

type Listed = {
  readonly jobs: readonly JobRecord[];
  readonly cursor: string;
  readonly error?: Error;
  readonly isLoading: boolean;
};

/** The newest jobs, kept current, and older pages behind them. */
const useJobs = (filters: Filters) => {
  const { api } = useStudio();
  const [state, setState] = useState<Listed>({ jobs: [], cursor: '', isLoading: true });
  const fail = useCallback(
    (thrown: unknown) =>
      setState((before) => ({
        ...before,
        isLoading: false,
        error: thrown instanceof Error ? thrown : new Error(String(thrown)),
      })),
    [],
  );
  const refresh = useCallback(
    (isFirst: boolean, signal?: AbortSignal) => {
      readPage(api, filters, '', signal).then(
        (page) => {
          if (!signal?.aborted) setState((before) => (isFirst ? firstPage(page) : withNewest(before, page)));
        },
        (thrown: unknown) => signal?.aborted || fail(thrown),
      );
    },
    [api, filters, fail],
  );
  useEffect(() => {
    const controller = new AbortController();
    setState({ jobs: [], cursor: '', isLoading: true });
    refresh(true, controller.signal);
    return () => controller.abort();
  }, [refresh]);
  useInterval(() => refresh(false), state.jobs.some((job) => !isOver(job)) ? LIVE_MS : QUIET_MS, !state.isLoading);
  const more = (): void => {
    readPage(api, filters, state.cursor).then(
      (page) =>
        setState((before) => ({ ...before, jobs: [...before.jobs, ...page.data], cursor: page.next_cursor ?? '' })),
      fail,
    );
  };
  return { ...state, more, refresh: () => refresh(false) };
};

const firstPage = (page: Page): Listed => ({ jobs: page.data, cursor: page.next_cursor ?? '', isLoading: false });

/** Jobs are listed newest first: what is older than the fresh page stays as it was. */
const withNewest = (before: Listed, page: Page): Listed => {
  const oldest = page.data.at(-1);
  const fresh = new Set(page.data.map(({ id }) => id));
  const rest =
    oldest && page.has_more
      ? before.jobs.filter((job) => !fresh.has(job.id) && job.created_at <= oldest.created_at)
      : [];
  return {
    jobs: [...page.data, ...rest],
    cursor: rest.length > 0 ? before.cursor : (page.next_cursor ?? ''),
    isLoading: false,
  };
};

export const JobsPage = () => {
  const t = useTexts();
  const [, navigate] = useLocation();
  const [filters, setFilters] = useState(NO_FILTERS);
  const { jobs, cursor, error, isLoading, more, refresh } = useJobs(filters);
  const columns = useColumns(refresh);
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <div className="stack">
        <FilterBar filters={filters} onChange={setFilters} />
        {error ? <Fault error={error} onRetry={refresh} /> : null}
        {isLoading ? (
          <Loading />
        ) : (
          <Table
            label={t.title}
            columns={columns}
            rows={jobs}
            stacks
            keyOf={({ id }) => id}
            onOpen={({ id }) => navigate(`/jobs/${id}`)}
            empty={t.none}
          />
        )}
        {cursor === '' ? null : (
          <div className="row center">
            <button type="button" className="button quiet" onClick={more}>
              {t.more}
            </button>
          </div>
        )}
      </div>
    </>
  );
};

const useColumns = (refresh: () => void): Column<JobRecord>[] => {
  const t = useTexts();
  const { language } = useLanguage();
  return [
    { key: 'file', label: t.file, render: (job) => <span className="clip">{job.filename ?? t.untitled}</span> },
    {
      key: 'status',
      label: t.state,
      render: (job) => (isOver(job) ? <StatusBadge status={job.status} /> : <JobProgress job={job} />),
    },
    { key: 'model', label: t.model, render: (job) => <span className="faint">{job.model_id}</span> },
    {
      key: 'length',
      label: t.length,
      number: true,
      render: (job) => (job.audio_seconds === undefined ? '' : formatClock(job.audio_seconds)),
    },
    {
      key: 'created',
      label: t.created,
      render: (job) => <span className="faint">{formatInstant(job.created_at, language)}</span>,
    },
    { key: 'source', label: t.source, render: (job) => <span className="faint">{t.sources[job.source]}</span> },
    { key: 'actions', label: t.actions, bare: true, render: (job) => <JobButton job={job} onDone={refresh} /> },
  ];
};

const JobButton = ({ job, onDone }: { job: JobRecord; onDone: () => void }) => {
  const t = useTexts();
  const { api } = useStudio();
  const notify = useNotify();
  if (isOver(job)) return <RetryButton job={job} compact />;
  const cancel = (): void => {
    api
      .request(`/api/v1/jobs/${job.id}`, { method: 'DELETE' })
      .then(onDone, (thrown: Error) => notify({ kind: 'bad', text: thrown.message }));
  };
  return (
    <button type="button" className="icon-button" aria-label={t.cancel(job.filename ?? job.id)} onClick={cancel}>
      <X aria-hidden />
    </button>
  );
};

const FilterBar = ({ filters, onChange }: { filters: Filters; onChange: (filters: Filters) => void }) => {
  const t = useTexts();
  const statusTexts = useStatusTexts();
  const models = useModels();
  const all = { value: '', label: t.any };
  const set = (name: keyof Filters) => (value: string) => onChange({ ...filters, [name]: value });
  return (
    <section className="card grid filters" aria-label={t.filters}>
      <SelectField
        label={t.state}
        value={filters.status}
        choices={[all, ...STATUSES.map((value) => ({ value, label: statusTexts.status[value] }))]}
        onChange={set('status')}
      />
      <SelectField
        label={t.model}
        value={filters.model}
        choices={[
          all,
          ...(models.data ?? [])
            .filter((one) => one.kind === 'asr')
            .map((one) => ({ value: one.id, label: one.display_name })),
        ]}
        onChange={set('model')}
      />
      <SelectField
        label={t.source}
        value={filters.source}
        choices={[all, { value: 'ui', label: t.sources.ui }, { value: 'api', label: t.sources.api }]}
        onChange={set('source')}
      />
      <TextField label={t.since} type="date" value={filters.since} onChange={set('since')} />
    </section>
  );
};
