/** Which columns a table shows. */
import { CheckField } from '../../shared/form.tsx';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { defaultColumnsOf } from './columns.ts';
import { fieldName } from './fields-texts.ts';
import type { Leaf } from './schema.ts';

const useTexts = createTexts({
  en: { title: 'Columns', again: 'As at first' },
  ru: { title: 'Столбцы', again: 'Как сначала' },
});

type Props = {
  readonly leaves: readonly Leaf[];
  readonly chosen: readonly string[];
  readonly onChange: (paths: string[]) => void;
};

export const ColumnPicker = ({ leaves, chosen, onChange }: Props) => {
  const t = useTexts();
  const { language } = useLanguage();
  const toggle = (path: string, isShown: boolean): void =>
    onChange(isShown ? [...chosen, path] : chosen.filter((one) => one !== path));
  return (
    <section className="card stack panel" aria-label={t.title}>
      <div className="grid">
        {leaves.map(({ path }) => (
          <CheckField
            key={path}
            label={fieldName(path, language)}
            checked={chosen.includes(path)}
            disabled={chosen.length === 1 && chosen[0] === path}
            onChange={(isShown) => toggle(path, isShown)}
          />
        ))}
      </div>
      <div className="row">
        <button type="button" className="button quiet small" onClick={() => onChange(defaultColumnsOf(leaves))}>
          {t.again}
        </button>
      </div>
    </section>
  );
};
