/** Search conditions of the change journal: `params` as JSON, checked, and turned into a query of the Store. */
import type { HistoryQuery } from '@parley/kit/store/store.ts';
import { badRequest, problem } from '../codes.ts';
import { toDay, toInstant } from '../rest/ranges.ts';

export type JournalConditions = {
  readonly search: Omit<HistoryQuery, 'offset' | 'limit'>;
  /** Applied before the outer ones. */
  readonly offset: number;
  readonly limit: number | undefined;
};

const REQUIRED = [['dtstart'], ['dtstop'], ['cmdtype'], ['objtype', 'objid'], ['objtype', 'objkey']];
const COMMANDS = ['create', 'update', 'delete'] as const;
const MAX_SECONDS = 10_000_000_000;

const unsuitable = (reason: string): Error =>
  problem('bad_request', { message: `params: ${reason}`, details: { field: 'params', reason, required: REQUIRED } });

/** Throws 400 that names what would do. `objtypeOf` knows kinds and the paths of their collections. */
export const parseConditions = (
  source: string | undefined,
  objtypeOf: (name: string) => string | undefined,
): JournalConditions => {
  const params = readParams(source);
  const since = readTime(params, 'dtstart', false);
  const until = readTime(params, 'dtstop', true);
  if (since !== undefined && until !== undefined && since > until) throw unsuitable('dtstart is after dtstop');
  const cmdtype = readText(params, 'cmdtype');
  if (cmdtype !== undefined && !COMMANDS.some((command) => command === cmdtype))
    throw unsuitable('cmdtype is not known');
  const search = {
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(cmdtype === undefined ? {} : { cmdtype: cmdtype as (typeof COMMANDS)[number] }),
    ...readObject(params, objtypeOf),
  };
  if (Object.keys(search).length === 0) throw unsuitable('at least one condition is required');
  return { search, offset: readCount(params, 'offset') ?? 0, limit: readCount(params, 'limit') };
};

type Params = Readonly<Record<string, unknown>>;

const readParams = (source: string | undefined): Params => {
  if (source === undefined || source.trim() === '') throw unsuitable('at least one condition is required');
  let parsed: unknown;
  try {
    parsed = JSON.parse(source);
  } catch {
    throw badRequest('params', 'is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw badRequest('params', 'must be an object');
  return parsed as Params;
};

const readText = (params: Params, name: string): string | undefined => {
  const value = params[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' && typeof value !== 'number') throw badRequest(`params.${name}`, 'must be text');
  const text = String(value);
  if (text.includes('\0') || !text.isWellFormed() || text.length > 1024)
    throw badRequest(`params.${name}`, 'cannot be searched for');
  return text;
};

const readObject = (params: Params, objtypeOf: (name: string) => string | undefined) => {
  const [objtype, objid, objkey] = ['objtype', 'objid', 'objkey'].map((name) => readText(params, name));
  if (objtype === undefined && objid === undefined && objkey === undefined) return {};
  if (objtype === undefined) throw unsuitable('objid and objkey need objtype');
  if ((objid === undefined) === (objkey === undefined))
    throw unsuitable('objtype goes with exactly one of objid and objkey');
  const kind = objtypeOf(objtype);
  if (kind === undefined) throw unsuitable('objtype is not known');
  return { objtype: kind, ...(objid === undefined ? { objkey: objkey! } : { objid: objid.toLowerCase() }) };
};

/** RFC 3339, a date with or without a clock (UTC), or seconds or milliseconds since 1970. */
const readTime = (params: Params, name: string, isEnd: boolean): string | undefined => {
  const source = readText(params, name);
  if (source === undefined) return undefined;
  if (/^\d{1,13}(\.\d+)?$/.test(source)) {
    const number = Number(source);
    const millis = number < MAX_SECONDS ? number * 1000 : number;
    return toInstant(new Date(millis).toISOString());
  }
  const day = toDay(source);
  const instant = day === undefined ? toInstant(source) : `${day}T${isEnd ? '23:59:59.999999' : '00:00:00.000000'}Z`;
  if (instant === undefined) throw badRequest(`params.${name}`, 'is no time (RFC 3339)');
  return instant;
};

const readCount = (params: Params, name: string): number | undefined => {
  const source = readText(params, name);
  if (source === undefined) return undefined;
  if (!/^\d{1,9}$/.test(source)) throw badRequest(`params.${name}`, 'must be a whole number from 0');
  return Number(source);
};
