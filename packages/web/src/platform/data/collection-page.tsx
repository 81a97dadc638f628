/** Any collection as a table: filters, order, columns, pages, and the dialogs that change it. The address keeps what is shown. */
import { Columns3, Download, Filter, Plus, Upload } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { useLoaded, useStored } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Empty, Loading } from '../../shared/parts.tsx';
import { type Column, Table } from '../../shared/table.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { nameOf } from '../names.ts';
import type { Collection } from './collections.ts';
import { ColumnPicker } from './column-picker.tsx';
import { columnsOf, defaultColumnsOf } from './columns.ts';
import { saveExport } from './export.ts';
import { fieldName } from './fields-texts.ts';
import { Filters } from './filters.tsx';
import { countQueryOf, type ListState, pageQueryOf, readListState, writeListState } from './list-query.ts';
import { Pager } from './pager.tsx';
import { type Json, type Leaf, valueAt } from './schema.ts';
import { Value } from './value.tsx';

const ItemDialog = lazy(async () => ({ default: (await import('./item-dialog.tsx')).ItemDialog }));
const ImportDialog = lazy(async () => ({ default: (await import('./import-dialog.tsx')).ImportDialog }));

const useTexts = createTexts({
  en: {
    create: 'Create',
    filter: 'Filter',
    columns: 'Columns',
    exportAll: 'Export',
    importAll: 'Import',
    none: 'There is nothing here yet.',
    noneFound: 'Nothing fits these filters.',
    clear: 'Clear the filters',
    forbidden: 'Your roles do not let you see this list.',
  },
  ru: {
    create: 'Создать',
    filter: 'Фильтр',
    columns: 'Столбцы',
    exportAll: 'Экспорт',
    importAll: 'Импорт',
    none: 'Здесь пока ничего нет.',
    noneFound: 'Ничего не подходит под фильтр.',
    clear: 'Сбросить фильтр',
    forbidden: 'Ваши роли не разрешают смотреть этот список.',
  },
});

const isPaths = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

type Props = {
  readonly collection: Collection;
  /** The item that is open: its id, `new`, or nothing. */
  readonly openId: string | undefined;
  /** More buttons beside the title. */
  readonly aside?: ReactNode;
};

export const CollectionPage = ({ collection, openId, aside }: Props) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { may } = useConsole();
  const title = nameOf(collection.name, language);
  if (!may('GET', collection.path)) {
    return (
      <>
        <PageTitle>{title}</PageTitle>
        <Empty title={t.forbidden} />
      </>
    );
  }
  return <CollectionTable collection={collection} openId={openId} aside={aside} title={title} />;
};

/** What is in the address, and a way to change it. */
const useListState = (): [ListState, (change: Partial<ListState>) => void] => {
  const [params, setParams] = useSearchParams();
  const state = readListState(params);
  return [state, (change) => setParams(writeListState({ ...state, ...change }), { replace: true })];
};

type Panel = 'filter' | 'columns';

const CollectionTable = ({ collection, openId, aside, title }: Props & { title: string }) => {
  const { api, may } = useConsole();
  const [, goTo] = useLocation();
  const [state, setState] = useListState();
  const leaves = columnsOf(collection);
  const [stored, setShown] = useStored(`parley-columns ${collection.name}`, defaultColumnsOf(leaves), isPaths);
  const shown = leaves
    .filter(({ path }) => stored.includes(path))
    .sort((a, b) => stored.indexOf(a.path) - stored.indexOf(b.path));
  const [panel, setPanel] = useState<Panel>();
  const [isImporting, setImporting] = useState(false);
  const query = pageQueryOf(state, leaves, [collection.idField, ...shown.map(({ path }) => path)]);
  const rows = useLoaded(
    (signal) => api.json<Json[]>(`${collection.path}?${query}`, { signal }),
    [collection.path, query],
  );
  const countQuery = countQueryOf(state, leaves);
  const count = useLoaded(
    (signal) => api.json<{ count: number }>(`${collection.path}?${countQuery}`, { signal }),
    [collection.path, countQuery],
  );
  const reload = (): void => {
    rows.reload();
    count.reload();
  };
  const close = (): void => goTo(`/${collection.name}${location.search}`);
  const idOf = (row: Json): string => String(row[collection.idField]);
  return (
    <>
      <PageTitle aside={aside}>{title}</PageTitle>
      <Toolbar
        collection={collection}
        leaves={leaves}
        state={state}
        panel={panel}
        setPanel={setPanel}
        onImport={() => setImporting(true)}
      />
      {panel === 'filter' ? (
        <Filters
          leaves={leaves}
          shown={shown}
          filters={state.filters}
          onChange={(filters) => setState({ filters, offset: 0 })}
        />
      ) : null}
      {panel === 'columns' ? <ColumnPicker leaves={leaves} chosen={stored} onChange={setShown} /> : null}
      {rows.error ? <FaultText error={rows.error} /> : null}
      {rows.data === undefined ? (
        rows.error ? null : (
          <Loading />
        )
      ) : (
        <Rows
          title={title}
          shown={shown}
          rows={rows.data}
          state={state}
          setState={setState}
          count={count.data?.count}
          keyOf={idOf}
          {...(may('GET', `${collection.path}/${'x'}`) && collection.change
            ? { onOpen: (row: Json) => goTo(`/${collection.name}/${encodeURIComponent(idOf(row))}${location.search}`) }
            : {})}
        />
      )}
      <Pager state={state} count={count.data?.count} shown={rows.data?.length ?? 0} onChange={setState} />
      <Suspense>
        {openId === undefined ? null : (
          <ItemDialog key={openId} collection={collection} id={openId} onClose={close} onSaved={reload} />
        )}
        {isImporting ? (
          <ImportDialog collection={collection} onClose={() => setImporting(false)} onImported={reload} />
        ) : null}
      </Suspense>
    </>
  );
};

type ToolbarProps = {
  readonly collection: Collection;
  readonly leaves: readonly Leaf[];
  readonly state: ListState;
  readonly panel: Panel | undefined;
  readonly setPanel: (panel: Panel | undefined) => void;
  readonly onImport: () => void;
};

const Toolbar = ({ collection, leaves, state, panel, setPanel, onImport }: ToolbarProps) => {
  const t = useTexts();
  const { api, may } = useConsole();
  const [, goTo] = useLocation();
  const [error, isBusy, run] = useRun();
  const mayCreate = collection.create !== undefined && may('POST', collection.path);
  const toggle = (one: Panel): void => setPanel(panel === one ? undefined : one);
  const filterCount = Object.keys(state.filters).length;
  return (
    <>
      <div className="row toolbar">
        {mayCreate ? (
          <button type="button" className="button" onClick={() => goTo(`/${collection.name}/new${location.search}`)}>
            <Plus aria-hidden /> {t.create}
          </button>
        ) : null}
        <button
          type="button"
          className="button quiet"
          aria-expanded={panel === 'filter'}
          onClick={() => toggle('filter')}
        >
          <Filter aria-hidden /> {t.filter}
          {filterCount > 0 ? ` (${filterCount})` : ''}
        </button>
        <button
          type="button"
          className="button quiet"
          aria-expanded={panel === 'columns'}
          onClick={() => toggle('columns')}
        >
          <Columns3 aria-hidden /> {t.columns}
        </button>
        {collection.canExport ? (
          <button
            type="button"
            className="button quiet"
            disabled={isBusy}
            onClick={() => void run(() => saveExport(api, collection, state, leaves))}
          >
            <Download aria-hidden /> {t.exportAll}
          </button>
        ) : null}
        {mayCreate && collection.canExport ? (
          <button type="button" className="button quiet" onClick={onImport}>
            <Upload aria-hidden /> {t.importAll}
          </button>
        ) : null}
      </div>
      {error ? <FaultText error={error} /> : null}
    </>
  );
};

type RowsProps = {
  readonly title: string;
  readonly shown: readonly Leaf[];
  readonly rows: readonly Json[];
  readonly state: ListState;
  readonly setState: (change: Partial<ListState>) => void;
  readonly count: number | undefined;
  readonly keyOf: (row: Json) => string;
  readonly onOpen?: (row: Json) => void;
};

const Rows = ({ title, shown, rows, state, setState, count, keyOf, onOpen }: RowsProps) => {
  const t = useTexts();
  const { language } = useLanguage();
  const columns = shown.map(
    ({ path, kind }): Column<Json> => ({
      key: path,
      label: fieldName(path, language),
      render: (row) => <Value value={valueAt(row, path)} kind={kind} />,
      sortable: kind !== 'json',
      number: kind === 'number',
    }),
  );
  const isFiltered = Object.keys(state.filters).length > 0;
  return (
    <Table
      label={title}
      columns={columns}
      rows={rows}
      keyOf={keyOf}
      sort={state.sort}
      onSort={(sort) => setState({ sort, offset: 0 })}
      stacks
      {...(count === undefined ? {} : { rowCount: count })}
      {...(onOpen ? { onOpen } : {})}
      empty={
        isFiltered ? (
          <>
            <p>{t.noneFound}</p>
            <button type="button" className="button quiet" onClick={() => setState({ filters: {}, offset: 0 })}>
              {t.clear}
            </button>
          </>
        ) : (
          t.none
        )
      }
    />
  );
};
