/** The rows of a collection in a table. */
import { useMemo } from 'react';
import { instantFormatter } from '../../shared/format.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { type Column, Table } from '../../shared/table.tsx';
import { fieldName } from './fields-texts.ts';
import type { ListState } from './list-query.ts';
import { type Json, type Leaf, valueAt } from './schema.ts';
import { Value } from './value.tsx';

const useTexts = createTexts({
  en: {
    none: 'There is nothing here yet.',
    noneFound: 'Nothing fits these filters.',
    clear: 'Clear the filters',
  },
  ru: {
    none: 'Здесь пока ничего нет.',
    noneFound: 'Ничего не подходит под фильтр.',
    clear: 'Сбросить фильтр',
  },
});

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

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

export const Rows = ({ title, shown, rows, state, setState, count, keyOf, onOpen }: RowsProps) => {
  const t = useTexts();
  const { language } = useLanguage();
  const toInstant = useMemo(() => instantFormatter(language), [language]);
  const columns = shown.map(
    ({ path, kind }, at): Column<Json> => ({
      key: path,
      label: fieldName(path, language),
      render: (row) => {
        const value = valueAt(row, path);
        // The first opens the row: it must never be empty.
        return at === 0 && isEmpty(value) ? (
          <span className="mono">{keyOf(row)}</span>
        ) : (
          <Value value={value} kind={kind} toInstant={toInstant} />
        );
      },
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
