/** What can be done with a collection as a whole: create, filter, choose columns, export, import. */
import { Columns3, Download, Filter, Plus, Upload } from 'lucide-react';
import { useLocation } from 'wouter';
import { createTexts } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';
import type { Collection } from './collections.ts';
import { saveExport } from './export.ts';
import type { ListState } from './list-query.ts';
import type { Leaf } from './schema.ts';

const useTexts = createTexts({
  en: {
    create: 'Create',
    setKey: 'Set a known key…',
    filter: 'Filter',
    columns: 'Columns',
    exportAll: 'Export',
    importAll: 'Import',
  },
  ru: {
    create: 'Создать',
    setKey: 'Задать известный ключ…',
    filter: 'Фильтр',
    columns: 'Столбцы',
    exportAll: 'Экспорт',
    importAll: 'Импорт',
  },
});

/** What opens between the buttons and the table. */
export type Panel = 'filter' | 'columns';

type ToolbarProps = {
  readonly collection: Collection;
  readonly leaves: readonly Leaf[];
  readonly state: ListState;
  readonly panel: Panel | undefined;
  readonly setPanel: (panel: Panel | undefined) => void;
  readonly onImport: () => void;
};

export const Toolbar = ({ collection, leaves, state, panel, setPanel, onImport }: ToolbarProps) => {
  const t = useTexts();
  const { api, may } = useConsole();
  const [, goTo] = useLocation();
  const [error, isBusy, run] = useRun();
  const mayCreate = collection.create !== undefined && may('POST', collection.path);
  const toggle = (one: Panel): void => setPanel(panel === one ? undefined : one);
  const mayChange = collection.change !== undefined && may('PATCH', `${collection.path}/x`);
  const keys = mayChange ? Object.keys(collection.change?.properties?.value?.['x-by-key'] ?? {}) : [];
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
        {keys.length > 0 ? (
          <select
            className="fit"
            aria-label={t.setKey}
            value=""
            onChange={(event) => goTo(`/${collection.name}/${event.target.value}${location.search}`)}
          >
            <option value="">{t.setKey}</option>
            {keys.map((key) => (
              <option key={key}>{key}</option>
            ))}
          </select>
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
