/** Conditions of the journal, as the address of the page keeps them and as `journal/changes` is asked. Pure. */
import type { Tone } from '../../shared/parts.tsx';
import type { Collection } from '../data/collections.ts';
import { SIZES, toCondition } from '../data/list-query.ts';
import type { Json } from '../data/schema.ts';

export const COMMANDS = ['create', 'update', 'delete'] as const;
export type Command = (typeof COMMANDS)[number];
export const TONES: Readonly<Record<Command, Tone>> = { create: 'good', update: 'accent', delete: 'bad' };

export type Entry = {
  readonly seq: number;
  readonly cmdtype: Command;
  /** When, UTC with microseconds. */
  readonly dtutc: string;
  readonly modifierid: string;
  readonly modifiername: string;
  readonly objtype: string;
  readonly objid?: string;
  readonly objkey?: string;
  readonly fields?: string;
  readonly addr?: string;
  readonly obj?: Json;
};

export type Conditions = {
  /** Days: `2026-11-21`; empty for ever. */
  readonly since: string;
  readonly until: string;
  readonly cmdtype: string;
  /** Path of a collection. */
  readonly objtype: string;
  readonly objid: string;
  readonly who: string;
  readonly offset: number;
  readonly size: number;
};

const PATH = '/rest/v1/journal/changes';
const MASK = 'seq,cmdtype,dtutc,modifierid,modifiername,objtype,objid,objkey,fields,addr';
/** The journal is never asked for as a whole; this begins before everything. */
const EVER = '1970-01-01';
const DAYS_AT_FIRST = 7;
const ONE_DAY_MS = 86_400_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const aWeekAgo = (): string => new Date(Date.now() - DAYS_AT_FIRST * ONE_DAY_MS).toISOString().slice(0, 10);

export const readConditions = (params: URLSearchParams): Conditions => {
  const text = (name: string): string => params.get(name) ?? '';
  const isOfOne = text('objtype') !== '' && text('objid') !== '';
  const since = params.get('since') ?? (isOfOne ? 'ever' : aWeekAgo());
  const offset = Number(params.get('offset'));
  return {
    since: since === 'ever' ? '' : since,
    until: text('until'),
    cmdtype: text('cmdtype'),
    objtype: text('objtype'),
    objid: text('objid'),
    who: text('who'),
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    size: SIZES.find((size) => size === Number(params.get('size'))) ?? SIZES[1],
  };
};

/** Addresses of the entries and of their count. A kind alone is a filter; with an id or key it is a condition. */
export const journalQueryOf = (
  { since, until, cmdtype, objtype, objid, who, offset, size }: Conditions,
  collections: readonly Collection[],
): { readonly rows: string; readonly count: string } => {
  const named = objid.trim();
  const isOfOne = objtype !== '' && named !== '' && collections.some(({ name }) => name === objtype);
  const conditions = {
    dtstart: since === '' ? EVER : since,
    ...(until === '' ? {} : { dtstop: until }),
    ...(cmdtype === '' ? {} : { cmdtype }),
    ...(isOfOne ? { objtype, [UUID.test(named) ? 'objid' : 'objkey']: named } : {}),
  };
  const filter = {
    ...(objtype === '' || isOfOne ? {} : { objtype: kindOf(objtype) }),
    ...(who.trim() === '' ? {} : { modifiername: toCondition('line', who) }),
  };
  const params = new URLSearchParams({ params: JSON.stringify(conditions) });
  if (Object.keys(filter).length > 0) params.set('filter', JSON.stringify(filter));
  const count = `${PATH}?${params}&limit=0`;
  params.set('mask', MASK);
  params.set('limit', String(size));
  if (offset > 0) params.set('offset', String(offset));
  return { rows: `${PATH}?${params}`, count };
};

/** What the journal calls the items of a collection: the last word of its path, one of them. */
const kindOf = (collection: string): string =>
  collection === 'design/classes' ? 'class' : collection.slice(collection.lastIndexOf('/') + 1).replace(/s$/, '');

/** The address of an entry with its object and of the one before it, of the same object. */
export const pairQueryOf = ({ dtutc, objtype, objid, objkey }: Entry): string => {
  const of = objid === undefined ? { objkey } : { objid };
  const params = JSON.stringify({ objtype, ...of, dtstop: dtutc });
  return `${PATH}?${new URLSearchParams({ params, mask: `${MASK},obj`, limit: '20' })}`;
};
