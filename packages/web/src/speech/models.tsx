/** Models: what is installed and in memory, and what the catalog has. */
import { useState } from 'react';
import { createTexts } from '../shared/i18n.tsx';
import { PageTitle } from '../shared/layout.tsx';
import { Fault, Loading } from '../shared/parts.tsx';
import { CatalogList } from './catalog-list.tsx';
import { InstalledList } from './installed-list.tsx';
import { useModelsTexts } from './models-texts.ts';
import { useCatalog, useModels } from './studio.tsx';

const useTexts = createTexts({ en: { views: 'What to show' }, ru: { views: 'Что показать' } });

export const ModelsPage = () => {
  const t = useModelsTexts();
  const own = useTexts();
  const [view, setView] = useState<'installed' | 'catalog'>('installed');
  const models = useModels();
  const catalog = useCatalog();
  const { data, error, reload } = view === 'installed' ? models : catalog;
  const changed = (): void => {
    models.reload();
    catalog.reload();
  };
  return (
    <>
      <PageTitle
        aside={
          <fieldset className="segmented">
            <legend className="unseen">{own.views}</legend>
            {(['installed', 'catalog'] as const).map((one) => (
              <button key={one} type="button" aria-pressed={view === one} onClick={() => setView(one)}>
                {t[one]}
              </button>
            ))}
          </fieldset>
        }
      >
        {t.title}
      </PageTitle>
      <div className="stack">
        {error ? <Fault error={error} onRetry={reload} /> : null}
        {data === undefined && !error ? <Loading /> : null}
        {view === 'installed' && models.data ? <InstalledList models={models.data} onChanged={models.reload} /> : null}
        {view === 'catalog' && catalog.data ? <CatalogList entries={catalog.data} onChanged={changed} /> : null}
      </div>
    </>
  );
};
