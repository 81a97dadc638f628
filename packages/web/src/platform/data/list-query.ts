/** What a table shows, as the address of the page keeps it and as the list of the platform is asked for it. Pure. */
import type { Sort } from '../../shared/table.tsx';
import type { Leaf } from './schema.ts';

export type ListState = {
  /** What was entered, by field. */
  readonly filters: Readonly<Record<string, string>>;
  readonly sort: Sort | undefined;
  readonly offset: number;
  readonly size: number;
};

/** Rows of a page; the last is the most that a list gives (`platform.list.max_limit`). */
export const SIZES = [50, 100, 500, 1000, 10_000] as const;
const DEFAULT_SIZE = 100;
const FILTER = 'f.';

export const readListState = (params: URLSearchParams): ListState => {
  const filters: Record<string, string> = {};
  for (const [name, value] of params) {
    if (name.startsWith(FILTER) && value !== '') filters[name.slice(FILTER.length)] = value;
  }
  const sort = params.get('sort') ?? '';
  const size = Number(params.get('size'));
  const offset = Number(params.get('offset'));
  return {
    filters,
    sort: sort === '' ? undefined : { key: sort.replace(/^-/, ''), descending: sort.startsWith('-') },
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    size: SIZES.find((one) => one === size) ?? DEFAULT_SIZE,
  };
};

export const writeListState = ({ filters, sort, offset, size }: ListState): URLSearchParams => {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value !== '') params.set(FILTER + name, value);
  if (sort) params.set('sort', (sort.descending ? '-' : '') + sort.key);
  if (offset > 0) params.set('offset', String(offset));
  if (size !== DEFAULT_SIZE) params.set('size', String(size));
  return params;
};

/**
 * One condition as the platform knows it. Plain words look for text that contains them, upper and lower case alike; `=x` is
 * exactly x; signs of the platform's own (`%`, `|`, `/reg/`, ranges `1~5`) go as they are.
 */
export const toCondition = (kind: Leaf['kind'], entered: string): unknown => {
  const text = entered.trim();
  if (kind === 'flag') return text === 'true';
  if (kind === 'list') return [contains(text)];
  if (kind === 'number' || kind === 'instant' || kind === 'choice') return text;
  return contains(text);
};

const contains = (text: string): string => {
  if (text.startsWith('=')) return text.slice(1).replaceAll(/[\\%]/g, String.raw`\$&`);
  if (/[%|]|^\/reg\//.test(text)) return text;
  return `/reg/i/${text.replaceAll(/[.*+?^${}()[\]\\]/g, String.raw`\$&`)}`;
};

/** The part of a query that says which items: filter and order. */
export const selectionOf = ({ filters, sort }: ListState, leaves: readonly Leaf[]): URLSearchParams => {
  const params = new URLSearchParams();
  const conditions = leaves.flatMap(({ path, kind, isRest }) => {
    const entered = isRest ? undefined : filters[path];
    return entered === undefined || entered.trim() === '' ? [] : [[path, toCondition(kind, entered)] as const];
  });
  if (conditions.length > 0) params.set('filter', JSON.stringify(Object.fromEntries(conditions)));
  if (sort) params.set('order', JSON.stringify([{ [sort.key]: sort.descending ? 'desc' : 'asc' }]));
  return params;
};

/** The query of one page with these columns. */
export const pageQueryOf = (state: ListState, leaves: readonly Leaf[], mask: readonly string[]): string => {
  const params = selectionOf(state, leaves);
  params.set('mask', mask.join());
  if (state.offset > 0) params.set('offset', String(state.offset));
  params.set('limit', String(state.size));
  return params.toString();
};

/** The query of how many there are. */
export const countQueryOf = (state: ListState, leaves: readonly Leaf[]): string => {
  const params = selectionOf({ ...state, sort: undefined }, leaves);
  params.set('limit', '0');
  return params.toString();
};
