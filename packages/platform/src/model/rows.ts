/** The items of a class as rows, wherever they lie. */
import type { Condition, Query, Row } from '@parley/kit/store/store.ts';
import type { Domain } from '../domains/types.ts';
import type { Json } from '../rest/json.ts';
import type { ModelClass } from './model-class.ts';

export type ItemRow = Row<Json>;

/** The rows of one class in one domain. */
export type Rows = {
  /** Whether queries are answered by a database; else `query` gives everything. */
  readonly isDatabase: boolean;
  get(id: string): Promise<ItemRow | undefined>;
  query(query: Query): Promise<ItemRow[]>;
  count(where: readonly Condition[]): Promise<number>;
  /** `expect`: the version there must be; 0 for none. Rejects with Conflict. */
  put(id: string, data: Json, expect: number): Promise<void>;
  drop(ids: readonly string[]): Promise<void>;
};

export type RowSource = AsyncDisposable & {
  open(domain: Domain, model: ModelClass): Promise<Rows>;
  /** The Store a storage key names; 422 when it cannot be reached. */
  check(domain: Domain, instance: unknown): Promise<void>;
};
