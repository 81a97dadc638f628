/**
 * Lists and counts of rows that lie in a database. What it sees as we do goes into its query; everything else is
 * matched here, page by page, so that no list ever loads a whole collection.
 */
import type { Condition, Query } from '@parley/kit/store/store.ts';
import type { Filter } from './filter.ts';
import type { Json } from './json.ts';
import type { ListQuery } from './query.ts';
import { createTop } from './top.ts';

/** Rows of one page while matching here. */
const PAGE_ROWS = 1000;
const PAGE_GROWTH = 4;
const MAX_PAGE_ROWS = 16_000;

export type ListedRow = { readonly id: string; readonly data: Json };

/** Where the rows of a list come from. */
export type ListSource<R extends ListedRow> = {
  /** Whether queries are answered by a database; else `query` gives everything. */
  readonly isDatabase: boolean;
  /** Fields whose conditions and order the database sees as we do. */
  readonly pushable: ReadonlySet<string>;
  /** What every row must fulfil, here and there. */
  readonly always: readonly Condition[];
  isLive(data: Json): boolean;
  query(query: Query): Promise<R[]>;
  count(where: readonly Condition[]): Promise<number>;
};

type Narrowed = { readonly where: readonly Condition[]; readonly isComplete: boolean };

/** The conditions a database may check. */
const narrow = <R extends ListedRow>({ always, pushable }: ListSource<R>, filter: Filter): Narrowed => {
  const pushed = filter.where.filter(({ path }) => pushable.has(path));
  return { where: [...always, ...pushed], isComplete: filter.isComplete && pushed.length === filter.where.length };
};

const orderOf = ({ pushable }: { pushable: ReadonlySet<string> }, { order }: ListQuery): Query['order'] | undefined => {
  const keys = order.keys.map(({ path, direction }) => ({ path: path.join('.'), direction }));
  return keys.every(({ path }) => pushable.has(path)) ? keys : undefined;
};

/** Every row that the conditions leave, in pages by id. */
export const pagesOf = async function* <R extends ListedRow>(
  rows: Pick<ListSource<R>, 'isDatabase' | 'query'>,
  where: readonly Condition[],
): AsyncGenerator<R[]> {
  if (!rows.isDatabase) {
    yield await rows.query({});
    return;
  }
  let afterId: string | undefined;
  while (true) {
    const page = await rows.query({ where, limit: PAGE_ROWS, ...(afterId === undefined ? {} : { afterId }) });
    yield page;
    if (page.length < PAGE_ROWS) return;
    afterId = page.at(-1)!.id;
  }
};

/** Number of matches. */
export const countRows = async <R extends ListedRow>(rows: ListSource<R>, filter: Filter): Promise<number> => {
  const { where, isComplete } = narrow(rows, filter);
  if (isComplete && rows.isDatabase) return rows.count(where);
  let count = 0;
  for await (const page of pagesOf(rows, where)) {
    for (const { data } of page) if (rows.isLive(data) && filter.test(data)) count += 1;
  }
  return count;
};

/** The rows of a list, in order, between offset and limit. */
export const listRows = async <R extends ListedRow>(rows: ListSource<R>, query: ListQuery): Promise<R[]> => {
  const { where, isComplete } = narrow(rows, query.filter);
  const order = orderOf(rows, query);
  if (!rows.isDatabase || order === undefined) return sortHere(rows, query, where);
  const { offset, limit } = query;
  if (isComplete) return rows.query({ where, order, offset, limit });
  return matchInOrder(rows, query, { where, order });
};

/** The database orders, we match: pages until enough matched. */
const matchInOrder = async <R extends ListedRow>(
  rows: ListSource<R>,
  { filter, offset, limit }: ListQuery,
  pushed: Pick<Query, 'where' | 'order'>,
): Promise<R[]> => {
  const found: R[] = [];
  let toSkip = offset;
  let from = 0;
  // The database may sort everything anew for each page, so that pages grow.
  for (let size = PAGE_ROWS; found.length < limit; size = Math.min(size * PAGE_GROWTH, MAX_PAGE_ROWS)) {
    const page = await rows.query({ ...pushed, offset: from, limit: size });
    from += size;
    for (const row of page) {
      if (!filter.test(row.data)) continue;
      if (toSkip > 0) toSkip -= 1;
      else if (found.length < limit) found.push(row);
    }
    if (page.length < size) break;
  }
  return found;
};

/** We order, holding no more than what may be answered. */
const sortHere = async <R extends ListedRow>(
  rows: ListSource<R>,
  { filter, order, offset, limit }: ListQuery,
  where: readonly Condition[],
): Promise<R[]> => {
  const top = createTop<R>((left, right) => order.compare(left.data, right.data), offset + limit);
  for await (const page of pagesOf(rows, where)) {
    for (const row of page) if (rows.isLive(row.data) && filter.test(row.data)) top.add(row);
  }
  return top.take().slice(offset);
};
