/** Conditions on JSON documents in SQLite's own words (query-sql.ts says what they mean). */
import { createHash } from 'node:crypto';
import type { HistoryDialect } from './history-sql.ts';
import type { Dialect, ScalarType } from './query-sql.ts';

const TYPES: Readonly<Record<ScalarType, string>> = {
  text: "= 'text'",
  number: "IN ('integer', 'real')",
  boolean: "IN ('true', 'false')",
};

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const jsonPath = (parts: readonly string[]): string => `'$${parts.map((part) => `."${part}"`).join('')}'`;

const extract = (parts: readonly string[]): string => `json_extract(data, ${jsonPath(parts)})`;

const typeAt = (parts: readonly string[]): string => `json_type(data, ${jsonPath(parts)})`;

/** A number goes through SQLite's JSON reader like the document's own, so that both are rounded alike. */
const place = (type: ScalarType, bound: string): string => (type === 'number' ? `json_extract(${bound}, '$')` : bound);

const toBound = (value: string | boolean): string | number => (typeof value === 'boolean' ? Number(value) : value);

/** `indexedKinds`: kinds with indexes of their own, which SQLite uses only when the kind stands in the SQL. */
export const createSqliteDialect = (indexedKinds: ReadonlySet<string>): Dialect => ({
  rows: 'rows',
  noLimit: '-1',
  compare: (parts, type, op, value, bind) =>
    `(${extract(parts)} ${op} ${place(type, bind(toBound(value)))} AND ${typeAt(parts)} ${TYPES[type]})`,
  isAny: (parts, type, values, bind) => {
    const places = values.map((value) => place(type, bind(toBound(value))));
    return `(${extract(parts)} IN (${places.join(', ')}) AND ${typeAt(parts)} ${TYPES[type]})`;
  },
  order: (parts) => {
    const type = typeAt(parts);
    return [
      `CASE ${type} WHEN 'true' THEN 1 WHEN 'false' THEN 1 WHEN 'integer' THEN 2 WHEN 'real' THEN 2 WHEN 'text' THEN 3 ELSE 4 END`,
      `CASE WHEN ${type} IN ('true', 'false', 'integer', 'real', 'text') THEN ${extract(parts)} END`,
    ];
  },
  kind: (kind, bind) => (indexedKinds.has(kind) ? `kind = ${literal(kind)}` : `kind = ${bind(kind)}`),
});

export const SQLITE_HISTORY: HistoryDialect = {
  journal: 'journal',
  noLimit: '-1',
  key: (place) => `objkey = ${place}`,
};

/** The statement that makes the index of one path of one kind. */
export const createIndexSql = (kind: string, parts: readonly string[]): string => {
  const name = createHash('sha256')
    .update(`${kind}\0${parts.join('.')}`)
    .digest('hex')
    .slice(0, 24);
  return `CREATE INDEX IF NOT EXISTS rows_${name} ON rows (domain, ${extract(parts)}, id) WHERE kind = ${literal(kind)}`;
};
