/** Conditions on JSON documents in PostgreSQL's own words (query-sql.ts says what they mean). */
import { createHash } from 'node:crypto';
import type { HistoryDialect } from './history-sql.ts';
import type { Dialect, ScalarType } from './query-sql.ts';

/** An index row has its limit; of long text only the beginning is indexed, and the rest compared. */
const INDEXED_CHARACTERS = 128;

const jsonPath = (parts: readonly string[]): string => `'{${parts.join(',')}}'`;

const typeAt = (parts: readonly string[]): string => `json_typeof(data #> ${jsonPath(parts)})`;

const extract = (parts: readonly string[]): string => `(data #>> ${jsonPath(parts)})`;

const TYPES: Readonly<Record<ScalarType, { name: string; cast: string }>> = {
  text: { name: 'string', cast: 'text' },
  number: { name: 'number', cast: 'float8' },
  boolean: { name: 'boolean', cast: 'boolean' },
};

/** The value as its type, NULL when it has another one; CASE keeps the cast from meeting what it cannot read. */
const typed = (parts: readonly string[], type: ScalarType): string => {
  const { name, cast } = TYPES[type];
  const collation = type === 'text' ? ' COLLATE "C"' : '';
  return `(CASE WHEN ${typeAt(parts)} = '${name}' THEN ${extract(parts)}::${cast} END${collation})`;
};

const beginning = (sql: string): string => `left(${sql}, ${INDEXED_CHARACTERS})`;

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** `indexedKinds`: kinds with indexes of their own, which are used only when the kind stands in the SQL. */
export const createPostgresDialect = (indexedKinds: ReadonlySet<string>): Dialect => ({
  rows: 'parley.rows',
  noLimit: 'ALL',
  compare: (parts, type, op, value, bind) => {
    const place = `${bind(value)}::${TYPES[type].cast}`;
    const condition = `${typed(parts, type)} ${op} ${place}`;
    return type === 'text' && op === '='
      ? `(${condition} AND ${beginning(typed(parts, type))} = ${beginning(place)})`
      : condition;
  },
  isAny: (parts, type, values, bind) => {
    const place = bind(values);
    const condition = `${typed(parts, type)} = ANY (${place}::${TYPES[type].cast}[])`;
    if (type !== 'text') return condition;
    const beginnings = `ARRAY(SELECT ${beginning('x')} FROM unnest(${place}::text[]) x)`;
    return `(${condition} AND ${beginning(typed(parts, type))} = ANY (${beginnings}))`;
  },
  order: (parts) => [
    `CASE ${typeAt(parts)} WHEN 'boolean' THEN 1 WHEN 'number' THEN 2 WHEN 'string' THEN 3 ELSE 4 END`,
    typed(parts, 'boolean'),
    typed(parts, 'number'),
    typed(parts, 'text'),
  ],
  kind: (kind, bind) => (indexedKinds.has(kind) ? `kind = ${literal(kind)}` : `kind = ${bind(kind)}`),
});

export const POSTGRES_HISTORY: HistoryDialect = {
  journal: 'parley.journal',
  noLimit: 'ALL',
  key: (place) => `(objkey = ${place} AND ${beginning('objkey')} = ${beginning(`${place}::text`)})`,
};

/** The statements that make the indexes of one path of one kind: one for text, one for numbers. */
export const createIndexSql = (kind: string, parts: readonly string[]): string[] => {
  const name = createHash('sha256')
    .update(`${kind}\0${parts.join('.')}`)
    .digest('hex')
    .slice(0, 24);
  return [
    ['t', beginning(typed(parts, 'text'))],
    ['n', typed(parts, 'number')],
  ].map(
    ([mark, sql]) =>
      `CREATE INDEX IF NOT EXISTS rows_${name}_${mark} ON parley.rows (domain, (${sql}), id) WHERE kind = ${literal(kind)}`,
  );
};
