/** An input for each column: what is entered is looked for when the keyboard rests. */
import { useEffect, useState } from 'react';
import { SelectField, TextField } from '../../shared/form.tsx';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { fieldName } from './fields-texts.ts';
import type { Leaf, ValueKind } from './schema.ts';
import { useValueTexts } from './value.tsx';

const useTexts = createTexts({
  en: {
    title: 'Filters',
    any: 'any',
    hint: 'Words find what contains them. =word is exactly that; a%, a|b, 1~5 and 2026-01-01~ work as in the interface.',
    clear: 'Clear',
  },
  ru: {
    title: 'Фильтры',
    any: 'любое',
    hint: 'Слова находят то, что их содержит. =слово ищет точно; a%, a|b, 1~5 и 2026-01-01~ работают как в интерфейсе.',
    clear: 'Сбросить',
  },
});

const HINTS: Readonly<Partial<Record<ValueKind, string>>> = { number: '1~5', instant: '2026-01-01~' };
const SETTLE_MS = 350;

type Values = Readonly<Record<string, string>>;
type Props = {
  readonly leaves: readonly Leaf[];
  readonly shown: readonly Leaf[];
  readonly filters: Values;
  readonly onChange: (filters: Values) => void;
};

export const Filters = ({ leaves, shown, filters, onChange }: Props) => {
  const t = useTexts();
  const [entered, setEntered] = useState(filters);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (JSON.stringify(entered) !== JSON.stringify(filters)) onChange(entered);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [entered, filters, onChange]);
  const set = (path: string, value: string): void => {
    const { [path]: _before, ...rest } = entered;
    setEntered(value === '' ? rest : { ...rest, [path]: value });
  };
  // What filters already stays in sight, whether its column is shown or not.
  const offered = leaves.filter(
    (leaf) => leaf.kind !== 'json' && (shown.includes(leaf) || filters[leaf.path] !== undefined),
  );
  return (
    <section className="card stack panel" aria-label={t.title}>
      <div className="grid">
        {offered.map((leaf) => (
          <OneFilter
            key={leaf.path}
            leaf={leaf}
            value={entered[leaf.path] ?? ''}
            onChange={(value) => set(leaf.path, value)}
          />
        ))}
      </div>
      <div className="row between">
        <p className="hint">{t.hint}</p>
        <button type="button" className="button quiet small" onClick={() => setEntered({})}>
          {t.clear}
        </button>
      </div>
    </section>
  );
};

type OneProps = { readonly leaf: Leaf; readonly value: string; readonly onChange: (value: string) => void };

const OneFilter = ({ leaf: { path, kind, schema }, value, onChange }: OneProps) => {
  const t = useTexts();
  const words = useValueTexts();
  const { language } = useLanguage();
  const label = fieldName(path, language);
  const any = { value: '', label: t.any };
  if (kind === 'flag') {
    const choices = [any, { value: 'true', label: words.yes }, { value: 'false', label: words.no }];
    return <SelectField label={label} value={value} onChange={onChange} choices={choices} />;
  }
  if (kind === 'choice') {
    const choices = [any, ...(schema.enum ?? []).map((one) => ({ value: String(one), label: String(one) }))];
    return <SelectField label={label} value={value} onChange={onChange} choices={choices} />;
  }
  return <TextField label={label} value={value} onChange={onChange} type="search" placeholder={HINTS[kind] ?? ''} />;
};
