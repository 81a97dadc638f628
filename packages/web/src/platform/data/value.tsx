/** A value of the platform in a cell. */
import { formatNumber } from '../../shared/format.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import type { ValueKind } from './schema.ts';

export const useValueTexts = createTexts({
  en: { yes: 'yes', no: 'no' },
  ru: { yes: 'да', no: 'нет' },
});

const MAX_SHOWN = 120;

const cut = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

type Props = { readonly value: unknown; readonly kind: ValueKind; readonly toInstant: (instant: string) => string };

export const Value = ({ value, kind, toInstant }: Props) => {
  const t = useValueTexts();
  const { language } = useLanguage();
  if (value === undefined || value === null || value === '') return null;
  if (typeof value === 'boolean') return value ? t.yes : t.no;
  if (typeof value === 'number') return formatNumber(value, language, 3);
  if (kind === 'instant' && typeof value === 'string') return toInstant(value);
  if (Array.isArray(value) && kind === 'list') return cut(value.join(', '));
  if (typeof value === 'string') return cut(value);
  return <span className="mono">{cut(JSON.stringify(value))}</span>;
};
