/** The journal search of both drivers: conditions in, SQL out. */
import { checkText } from './ops.ts';
import { type Bind, checkCount } from './query-sql.ts';
import type { HistoryQuery, JournalEntry } from './store.ts';

const COLUMNS =
  'seq, dtutc, cmdtype, modifierid, modifiername, objtype, objid, objkey, fields, CAST(obj AS text), addr';
const MAX_VALUE_BYTES = 1024 * 1024;

export type HistoryDialect = {
  readonly journal: string;
  readonly noLimit: string;
  /** The condition on `objkey`; a driver adds what its index on long keys needs. */
  key(place: string): string;
};

/** A whole SELECT of journal entries. Both bounds of the time are inclusive. */
export const historySql = (dialect: HistoryDialect, domain: string, query: HistoryQuery, bind: Bind): string => {
  const all = [`domain = ${bind(checkText(domain, 'domain'))}`];
  const add = (sql: (place: string) => string, value: string | undefined, param: string): void => {
    if (value !== undefined) all.push(sql(bind(checkText(value, param, MAX_VALUE_BYTES))));
  };
  add((place) => `dtutc >= ${place}`, query.since, 'since');
  add((place) => `dtutc <= ${place}`, query.until, 'until');
  add((place) => `cmdtype = ${place}`, query.cmdtype, 'cmdtype');
  add((place) => `objtype = ${place}`, query.objtype, 'objtype');
  add((place) => `objid = ${place}`, query.objid, 'objid');
  add(dialect.key, query.objkey, 'objkey');
  if (query.after) {
    const { dtutc, seq } = query.after;
    all.push(`(dtutc, seq) < (${bind(checkText(dtutc, 'after'))}, ${bind(checkCount(seq, 'after'))})`);
  }
  const limit = query.limit === undefined ? dialect.noLimit : bind(checkCount(query.limit, 'limit'));
  const offset = query.offset === undefined ? '' : ` OFFSET ${bind(checkCount(query.offset, 'offset'))}`;
  return `SELECT ${COLUMNS} FROM ${dialect.journal} WHERE ${all.join(' AND ')} ORDER BY dtutc DESC, seq DESC LIMIT ${limit}${offset}`;
};

/** One line of that SELECT, as a list of columns. */
export const toHistoryEntry = (row: readonly unknown[]): JournalEntry & { seq: number } => {
  const [seq, dtutc, cmdtype, modifierid, modifiername, objtype, objid, objkey, fields, obj, addr] = row as [
    number | string,
    string,
    JournalEntry['cmdtype'],
    string,
    string,
    string,
    string | null,
    string | null,
    string | null,
    string,
    string | null,
  ];
  const names = { cmdtype, dtutc, modifierid, modifiername, objtype, objid, objkey, fields };
  return { seq: Number(seq), ...names, obj: JSON.parse(obj) as JournalEntry['obj'], addr };
};
