/** Lists and counts of a class: those of its rows that have not expired. */
import type { Filter } from '../rest/filter.ts';
import { countRows as countIn, type ListSource, listRows as listIn } from '../rest/list-rows.ts';
import type { ListQuery } from '../rest/query.ts';
import { EXPIRES_AT, expiryOf } from './expiry.ts';
import type { ModelClass } from './model-class.ts';
import type { ItemRow, Rows } from './rows.ts';

const liveRows = (model: ModelClass, rows: Rows, now: string): ListSource<ItemRow> => ({
  isDatabase: rows.isDatabase,
  pushable: model.pushable,
  always: [{ path: EXPIRES_AT, op: '>', value: now }],
  isLive: (data) => String(data[EXPIRES_AT] ?? expiryOf(model, data)) > now,
  query: rows.query,
  count: rows.count,
});

/** Number of matches. `now`: a stamp. */
export const countRows = (model: ModelClass, rows: Rows, filter: Filter, now: string): Promise<number> =>
  countIn(liveRows(model, rows, now), filter);

/** The rows of a list, in order, between offset and limit. */
export const listRows = (model: ModelClass, rows: Rows, query: ListQuery, now: string): Promise<ItemRow[]> =>
  listIn(liveRows(model, rows, now), query);
