/** List parameters, checked and compiled: filter, order, mask, offset, limit, flat, countonly, export. */
import { badRequest } from '../codes.ts';
import { compileFilter, type Filter, MATCH_ALL, type ResolveField } from './filter.ts';
import { checkShape } from './json.ts';
import { type Mask, parseMask } from './mask.ts';
import { type Order, parseOrder } from './order.ts';
import type { PatternCache } from './regex.ts';

/** A query string, taken apart; a name given twice is a list. */
export type RawQuery = Readonly<Record<string, unknown>>;

export type ListQuery = {
  readonly filter: Filter;
  readonly order: Order;
  /** Undefined where the parameter is absent or empty. */
  readonly mask: Mask | undefined;
  readonly offset: number;
  readonly limit: number;
  /** The limit was above what is allowed and was lowered to it. */
  readonly isClamped: boolean;
  /** `limit=0` or `countonly=true`. */
  readonly isCount: boolean;
  readonly isFlat: boolean;
  readonly isExport: boolean;
};

export type QueryLimits = { readonly defaultLimit: number; readonly maxLimit: number };

const MAX_FILTER_BYTES = 8192;

/** A parameter as text; the last of several wins; undefined when absent. */
export const readText = (query: RawQuery, name: string): string | undefined => {
  const given = query[name];
  const value = Array.isArray(given) ? given.at(-1) : given;
  return typeof value === 'string' ? value : undefined;
};

/** true false 1 0 yes no, in any case; absent or empty is false. */
export const readFlag = (query: RawQuery, name: string): boolean => {
  const word = (readText(query, name) ?? '').trim().toLowerCase();
  if (word === '' || word === 'false' || word === '0' || word === 'no') return false;
  if (word === 'true' || word === '1' || word === 'yes') return true;
  throw badRequest(name, 'must be true or false');
};

/** A whole number from 0; undefined when absent or empty. */
const readCount = (query: RawQuery, name: string): number | undefined => {
  const word = (readText(query, name) ?? '').trim();
  if (word === '') return undefined;
  const number = Number(word);
  if (!/^\d+$/.test(word) || !Number.isSafeInteger(number)) throw badRequest(name, 'must be a whole number from 0');
  return number;
};

/** The `filter` parameter as JSON. */
const readFilter = (query: RawQuery, resolve: ResolveField, cache: PatternCache): Filter => {
  const source = readText(query, 'filter');
  if (source === undefined || source.trim() === '') return MATCH_ALL;
  if (Buffer.byteLength(source) > MAX_FILTER_BYTES)
    throw badRequest('filter', `must be at most ${MAX_FILTER_BYTES} bytes`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(source);
  } catch {
    throw badRequest('filter', 'is not JSON');
  }
  checkShape(parsed);
  return compileFilter(parsed, resolve, cache);
};

export type QueryParts = {
  readonly resolve: ResolveField;
  readonly fieldOf: (name: string) => string;
  readonly idField: string;
  readonly limits: QueryLimits;
  readonly patterns: PatternCache;
};

/** All list parameters. Throws 400 naming the parameter at fault. */
export const parseListQuery = (query: RawQuery, parts: QueryParts): ListQuery => {
  const { resolve, limits } = parts;
  const asked = readCount(query, 'limit');
  return {
    filter: readFilter(query, resolve, parts.patterns),
    order: parseOrder(readText(query, 'order'), resolve, parts.idField),
    mask: parseMask(readText(query, 'mask'), parts.fieldOf),
    offset: readCount(query, 'offset') ?? 0,
    limit: Math.min(asked ?? limits.defaultLimit, limits.maxLimit),
    isClamped: asked !== undefined && asked > limits.maxLimit,
    isCount: asked === 0 || readFlag(query, 'countonly'),
    isFlat: readFlag(query, 'flat'),
    isExport: readFlag(query, 'export'),
  };
};
