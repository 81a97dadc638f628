/** Any collection as a table: filters, order, columns, pages, and the dialogs that change it. The address keeps what is shown. */
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { useLoaded, useStored } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Empty, Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText } from '../faults.tsx';
import { nameOf } from '../names.ts';
import type { Collection } from './collections.ts';
import { ColumnPicker } from './column-picker.tsx';
import { columnsOf, defaultColumnsOf } from './columns.ts';
import { Filters } from './filters.tsx';
import type { Attached } from './item-dialog.tsx';
import { countQueryOf, type ListState, pageQueryOf, readListState, writeListState } from './list-query.ts';
import { Pager } from './pager.tsx';
import { Rows } from './rows.tsx';
import type { Json, Leaf } from './schema.ts';
import { type Panel, Toolbar } from './toolbar.tsx';

const ItemDialog = lazy(async () => ({ default: (await import('./item-dialog.tsx')).ItemDialog }));
const ImportDialog = lazy(async () => ({ default: (await import('./import-dialog.tsx')).ImportDialog }));

const useTexts = createTexts({
  en: { forbidden: 'Your roles do not let you see this list.' },
  ru: { forbidden: 'Ваши роли не разрешают смотреть этот список.' },
});

const isPaths = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

type Props = {
  readonly collection: Collection;
  /** The item that is open: its id, `new`, or nothing. */
  readonly openId: string | undefined;
  /** More buttons beside the title. */
  readonly aside?: ReactNode;
  /** In the dialog of an item, below its fields. */
  readonly attached?: Attached | undefined;
};

export const CollectionPage = ({ collection, openId, aside, attached }: Props) => {
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
  return <CollectionTable collection={collection} openId={openId} aside={aside} attached={attached} title={title} />;
};

/** What is in the address, and a way to change it. */
const useListState = (): [ListState, (change: Partial<ListState>) => void] => {
  const [params, setParams] = useSearchParams();
  const state = readListState(params);
  return [state, (change) => setParams(writeListState({ ...state, ...change }), { replace: true })];
};

/** The rows of the page and how many there are in all. */
const useRows = (collection: Collection, state: ListState, leaves: readonly Leaf[], shown: readonly Leaf[]) => {
  const { api } = useConsole();
  const { path, idField } = collection;
  const query = pageQueryOf(state, leaves, [idField, ...shown.map((leaf) => leaf.path)]);
  const rows = useLoaded((signal) => api.json<Json[]>(`${path}?${query}`, { signal }), [path, query]);
  const countQuery = countQueryOf(state, leaves);
  const count = useLoaded(
    (signal) => api.json<{ count: number }>(`${path}?${countQuery}`, { signal }),
    [path, countQuery],
  );
  const reload = (): void => {
    rows.reload();
    count.reload();
  };
  return { rows: rows.data, error: rows.error, count: count.data?.count, reload };
};

const CollectionTable = ({ collection, openId, aside, attached, title }: Props & { title: string }) => {
  const { may } = useConsole();
  const [, goTo] = useLocation();
  const [state, setState] = useListState();
  const leaves = columnsOf(collection);
  const [stored, setShown] = useStored(`parley-columns ${collection.name}`, defaultColumnsOf(leaves), isPaths);
  const shown = stored.flatMap((path) => leaves.find((leaf) => leaf.path === path) ?? []);
  const [panel, setPanel] = useState<Panel>();
  const [isImporting, setImporting] = useState(false);
  const { rows, error, count, reload } = useRows(collection, state, leaves, shown);
  const idOf = (row: Json): string => String(row[collection.idField]);
  // Rows that cannot be opened need not have an id of their own.
  const keyOf = (row: Json): string => (collection.change ? idOf(row) : JSON.stringify(row));
  const open = (row: Json): void => goTo(`/${collection.name}/${encodeURIComponent(idOf(row))}${location.search}`);
  const mayOpen = collection.change !== undefined && may('GET', `${collection.path}/x`);
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
      {error ? <FaultText error={error} /> : null}
      {rows === undefined && !error ? <Loading /> : null}
      {rows ? (
        <Rows
          title={title}
          shown={shown}
          rows={rows}
          state={state}
          setState={setState}
          count={count}
          keyOf={keyOf}
          {...(mayOpen ? { onOpen: open } : {})}
        />
      ) : null}
      {rows ? <Pager state={state} count={count} shown={rows.length} onChange={setState} /> : null}
      <Suspense>
        {openId === undefined ? null : (
          <ItemDialog
            key={openId}
            collection={collection}
            id={openId}
            onClose={() => goTo(`/${collection.name}${location.search}`)}
            onSaved={reload}
            {...(attached ? { attached } : {})}
          />
        )}
        {isImporting ? (
          <ImportDialog collection={collection} onClose={() => setImporting(false)} onImported={reload} />
        ) : null}
      </Suspense>
    </>
  );
};
