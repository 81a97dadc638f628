/** Which part of a list is shown, and the ways to the others. */
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { formatNumber } from '../../shared/format.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { type ListState, SIZES } from './list-query.ts';

const useTexts = createTexts({
  en: {
    pages: 'Pages of the list',
    of: (from: string, to: string, count: string) => `${from}–${to} of ${count}`,
    none: 'None',
    before: 'Page before',
    next: 'Next page',
    size: 'Rows on a page',
  },
  ru: {
    pages: 'Страницы списка',
    of: (from: string, to: string, count: string) => `${from}–${to} из ${count}`,
    none: 'Нет записей',
    before: 'Предыдущая страница',
    next: 'Следующая страница',
    size: 'Строк на странице',
  },
});

type Props = {
  readonly state: Pick<ListState, 'offset' | 'size'>;
  readonly count: number | undefined;
  readonly shown: number;
  readonly onChange: (change: Partial<ListState>) => void;
};

export const Pager = ({ state: { offset, size }, count, shown, onChange }: Props) => {
  const t = useTexts();
  const { language } = useLanguage();
  const number = (value: number): string => formatNumber(value, language);
  return (
    <nav className="row between pager" aria-label={t.pages}>
      <output>
        {shown === 0
          ? t.none
          : t.of(number(offset + 1), number(offset + shown), count === undefined ? '…' : number(count))}
      </output>
      <div className="row">
        <select
          aria-label={t.size}
          value={size}
          onChange={(event) => onChange({ size: Number(event.target.value), offset: 0 })}
        >
          {SIZES.map((one) => (
            <option key={one} value={one}>
              {number(one)}
            </option>
          ))}
        </select>
        <button
          type="button"
          className="icon-button"
          aria-label={t.before}
          disabled={offset === 0}
          onClick={() => onChange({ offset: Math.max(0, offset - size) })}
        >
          <ChevronLeft aria-hidden />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label={t.next}
          disabled={count === undefined ? shown < size : offset + shown >= count}
          onClick={() => onChange({ offset: offset + size })}
        >
          <ChevronRight aria-hidden />
        </button>
      </div>
    </nav>
  );
};
