/**
 * Conditions and order on JSON paths as SQL, the same meaning in both databases. Values are always bound; a path is
 * written into the SQL (an expression index needs that) after its grammar was checked.
 *
 * Meaning: a condition holds only for a value of the same type as its own (text, number, boolean). Text compares by
 * code point, numbers by value, false before true. In an order, booleans come before numbers before text before
 * everything else (null, lists, objects, absent), all of which counts as absent.
 */
import { checkText, unstorable } from './ops.ts';
import type { Condition, Query, Scalar } from './store.ts';

const PATH = /^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*$/;
const MAX_PATH_CHARACTERS = 500;
/** Values of one `in`. */
const MAX_IN_VALUES = 10_000;
const MAX_CONDITIONS = 1000;
const MAX_VALUE_BYTES = 1024 * 1024;

export type ScalarType = 'text' | 'number' | 'boolean';
type Operator = Exclude<Condition['op'], 'in'>;
type Bound = string | number | boolean | readonly (string | boolean)[];
/** Keeps a value and answers its place in the SQL. */
export type Bind = (value: Bound) => string;

/** What differs between the databases. Numbers are bound as their JSON text, so that both sides are read alike. */
export type Dialect = {
  compare(parts: readonly string[], type: ScalarType, op: Operator, value: string | boolean, bind: Bind): string;
  isAny(parts: readonly string[], type: ScalarType, values: readonly (string | boolean)[], bind: Bind): string;
  /** Expressions to order by, each given the direction. */
  order(parts: readonly string[]): readonly string[];
  /** The table of rows. */
  readonly rows: string;
  /** What LIMIT takes for "all". */
  readonly noLimit: string;
  /** How the kind is compared; a driver writes the kinds that have indexes of their own into the SQL. */
  kind(kind: string, bind: Bind): string;
};

/** The parts of a path. Throws a Problem when it is not one. */
export const toPathParts = (path: string): string[] => {
  if (typeof path !== 'string' || path.length > MAX_PATH_CHARACTERS || !PATH.test(path)) {
    throw unstorable('path', 'A path is made of names joined by dots.');
  }
  return path.split('.');
};

const toTyped = (value: Scalar): { type: ScalarType; value: string | boolean } => {
  if (typeof value === 'boolean') return { type: 'boolean', value };
  if (typeof value === 'string') return { type: 'text', value: checkText(value, 'value', MAX_VALUE_BYTES) };
  if (!Number.isFinite(value)) throw unstorable('value', 'A number to compare with must be finite.');
  return { type: 'number', value: JSON.stringify(value) };
};

const conditionSql = (dialect: Dialect, condition: Condition, bind: Bind): string => {
  const parts = toPathParts(condition.path);
  if (condition.op !== 'in') {
    const { type, value } = toTyped(condition.value);
    return dialect.compare(parts, type, condition.op, value, bind);
  }
  if (condition.values.length > MAX_IN_VALUES) {
    throw unstorable('values', `At most ${MAX_IN_VALUES} values can be compared at once.`);
  }
  const byType = Map.groupBy(condition.values.map(toTyped), (each) => each.type);
  const options = [...byType].map(([type, typed]) =>
    dialect.isAny(
      parts,
      type,
      typed.map((each) => each.value),
      bind,
    ),
  );
  return options.length === 0 ? '1 = 0' : `(${options.join(' OR ')})`;
};

/** Everything after WHERE that picks the rows. */
export const whereSql = (
  dialect: Dialect,
  domain: string,
  kind: string,
  where: readonly Condition[] | undefined,
  bind: Bind,
): string => {
  if ((where?.length ?? 0) > MAX_CONDITIONS) {
    throw unstorable('where', `At most ${MAX_CONDITIONS} conditions can be combined.`);
  }
  const all = [`domain = ${bind(checkText(domain, 'domain'))}`, dialect.kind(checkText(kind, 'kind'), bind)];
  for (const condition of where ?? []) all.push(conditionSql(dialect, condition, bind));
  return all.join(' AND ');
};

/** A count of rows: whole and not negative. */
export const checkCount = (value: number, param: string): number => {
  if (!Number.isSafeInteger(value) || value < 0) throw unstorable(param, `${param} must be a whole number from 0.`);
  return value;
};

/** A whole SELECT of id, version, data. */
export const selectSql = (dialect: Dialect, domain: string, kind: string, query: Query, bind: Bind): string => {
  const direction = query.idDirection === 'desc' ? 'DESC' : 'ASC';
  let where = whereSql(dialect, domain, kind, query.where, bind);
  if (query.afterId !== undefined) {
    if (query.order && query.order.length > 0) throw unstorable('afterId', 'afterId does not go with an order.');
    where += ` AND id ${direction === 'ASC' ? '>' : '<'} ${bind(checkText(query.afterId, 'afterId', MAX_VALUE_BYTES))}`;
  }
  const order = (query.order ?? []).flatMap((each) =>
    dialect.order(toPathParts(each.path)).map((sql) => `${sql} ${each.direction === 'desc' ? 'DESC' : 'ASC'}`),
  );
  order.push(`id ${direction}`);
  const limit = query.limit === undefined ? dialect.noLimit : bind(checkCount(query.limit, 'limit'));
  const offset = query.offset === undefined ? '' : ` OFFSET ${bind(checkCount(query.offset, 'offset'))}`;
  return `SELECT id, version, data FROM ${dialect.rows} WHERE ${where} ORDER BY ${order.join(', ')} LIMIT ${limit}${offset}`;
};
