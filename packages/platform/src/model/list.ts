/**
 * Lists and counts of a class. What the database sees as we do goes into its query; everything else is matched here,
 * page by page, so that no list ever loads a whole class.
 */
import type { Condition, Query } from '@parley/kit/store/store.ts';
import type { Filter } from '../rest/filter.ts';
import type { Json } from '../rest/json.ts';
import type { ListQuery } from '../rest/query.ts';
import { EXPIRES_AT, expiryOf } from './expiry.ts';
import type { ModelClass } from './model-class.ts';
import type { ItemRow, Rows } from './rows.ts';

/** Rows of one page while matching here. */
const PAGE_ROWS = 1000;
/** Rows sorted here at once; an order the database cannot make is refused above it by cutting, never by failing. */
const MAX_SORTED_ROWS = 200_000;

type Narrowed = { readonly where: readonly Condition[]; readonly isComplete: boolean };

/** The conditions a database may check, expiry first. */
const narrow = (model: ModelClass, filter: Filter, now: string): Narrowed => {
  const pushed = filter.where.filter(({ path }) => model.pushable.has(path));
  return {
    where: [{ path: EXPIRES_AT, op: '>', value: now }, ...pushed],
    isComplete: filter.isComplete && pushed.length === filter.where.length,
  };
};

const orderOf = (model: ModelClass, { order }: ListQuery): Query['order'] | undefined => {
  const keys = order.keys.map(({ path, direction }) => ({ path: path.join('.'), direction }));
  return keys.every(({ path }) => model.pushable.has(path)) ? keys : undefined;
};

/** Every live row that the conditions leave, in pages by id. */
export const pagesOf = async function* (rows: Rows, where: readonly Condition[]): AsyncGenerator<ItemRow[]> {
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

const isLive = (model: ModelClass, data: Json, now: string): boolean =>
  String(data[EXPIRES_AT] ?? expiryOf(model, data)) > now;

/** Number of matches. */
export const countRows = async (model: ModelClass, rows: Rows, filter: Filter, now: string): Promise<number> => {
  const { where, isComplete } = narrow(model, filter, now);
  if (isComplete && rows.isDatabase) return rows.count(where);
  let count = 0;
  for await (const page of pagesOf(rows, where)) {
    for (const { data } of page) if (isLive(model, data, now) && filter.test(data)) count += 1;
  }
  return count;
};

/** The rows of a list, in order, between offset and limit. */
export const listRows = async (model: ModelClass, rows: Rows, query: ListQuery, now: string): Promise<ItemRow[]> => {
  const { where, isComplete } = narrow(model, query.filter, now);
  const order = orderOf(model, query);
  if (!rows.isDatabase || order === undefined) return sortHere(model, rows, query, where, now);
  const { offset, limit } = query;
  if (isComplete) return rows.query({ where, order, offset, limit });
  return matchInOrder(rows, query, { where, order });
};

/** The database orders, we match: pages until enough matched. */
const matchInOrder = async (
  rows: Rows,
  { filter, offset, limit }: ListQuery,
  pushed: Pick<Query, 'where' | 'order'>,
): Promise<ItemRow[]> => {
  const found: ItemRow[] = [];
  let toSkip = offset;
  for (let from = 0; found.length < limit; from += PAGE_ROWS) {
    const page = await rows.query({ ...pushed, offset: from, limit: PAGE_ROWS });
    for (const row of page) {
      if (!filter.test(row.data)) continue;
      if (toSkip > 0) toSkip -= 1;
      else if (found.length < limit) found.push(row);
    }
    if (page.length < PAGE_ROWS) break;
  }
  return found;
};

const sortHere = async (
  model: ModelClass,
  rows: Rows,
  { filter, order, offset, limit }: ListQuery,
  where: readonly Condition[],
  now: string,
): Promise<ItemRow[]> => {
  const found: ItemRow[] = [];
  for await (const page of pagesOf(rows, where)) {
    for (const row of page) if (isLive(model, row.data, now) && filter.test(row.data)) found.push(row);
    if (found.length >= MAX_SORTED_ROWS) break;
  }
  return found.sort((left, right) => order.compare(left.data, right.data)).slice(offset, offset + limit);
};
