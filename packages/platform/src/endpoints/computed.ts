/** What the endpoints of computed collections share: fields by which their items can be filtered, ordered and masked. */

import type { Engine } from '../rest/engine.ts';
import type { Comparison } from '../rest/field.ts';
import type { FilterField } from '../rest/filter-budget.ts';
import { type ListQuery, parseListQuery, type RawQuery } from '../rest/query.ts';

export type ComputedFields = Readonly<Record<string, Comparison>>;

const resolverOf =
  (fields: ComputedFields) =>
  (name: string): FilterField | undefined => {
    const [head = '', ...rest] = name.split('.');
    const compares = Object.hasOwn(fields, head) ? fields[head] : undefined;
    if (compares === undefined || rest.includes('')) return undefined;
    if (rest.length === 0) return { path: [head], compares };
    return compares === 'object' || compares === 'any' ? { path: [head, ...rest], compares: 'any' } : undefined;
  };

/** List parameters over items with these fields; `id` closes the order. */
export const parseComputedQuery = (
  engine: Engine,
  query: RawQuery,
  fields: ComputedFields,
  idField: string,
): ListQuery =>
  parseListQuery(query, {
    resolve: resolverOf(fields),
    fieldOf: (name) => name,
    idField,
    limits: engine.limits,
    patterns: engine.patterns,
  });
