/** When an item of a class expires. The moment is kept beside the item, so that a query can leave out what is over. */
import { isObject, type Json } from '../rest/json.ts';
import type { ModelClass } from './model-class.ts';

/** Member of a row that holds the moment; never shown. */
export const EXPIRES_AT = '_expires';
/** Later than any other. */
const NEVER = '9999-12-31T23:59:59.999999Z';

const stampOf = (item: Json, name: 'ct' | 'lwt'): string | undefined => {
  const value = isObject(item.ext) ? item.ext[name] : undefined;
  return typeof value === 'string' ? value : undefined;
};

const later = (stamp: string | undefined, seconds: number): string => {
  const millis = Date.parse(stamp ?? '') + seconds * 1000;
  if (Number.isNaN(millis) || millis >= Date.parse(NEVER)) return NEVER;
  return new Date(millis).toISOString().replace('Z', '000Z');
};

/** Seconds an item lives: its own property first, then the class's. */
const ttlOf = ({ options }: ModelClass, item: Json): number | undefined => {
  const named = typeof options.expires_ttl_property === 'string' ? item[options.expires_ttl_property] : undefined;
  const ttl = named ?? options.expires_ttl;
  return typeof ttl === 'number' && ttl >= 0 ? ttl : undefined;
};

/** RFC 3339 with six digits; `NEVER` for what does not expire. */
export const expiryOf = (model: ModelClass, item: Json): string => {
  const { options } = model;
  if (options.expires_mode === 'custom') {
    const moment = typeof options.expires_ts_property === 'string' ? item[options.expires_ts_property] : undefined;
    return typeof moment === 'string' && moment !== '' ? moment : NEVER;
  }
  const ttl = ttlOf(model, item);
  if (ttl === undefined) return NEVER;
  if (options.expires_mode === 'create') return later(stampOf(item, 'ct'), ttl);
  return options.expires_mode === 'update' ? later(stampOf(item, 'lwt'), ttl) : NEVER;
};

export const doesExpire = ({ options }: ModelClass): boolean =>
  options.expires_mode !== undefined && options.expires_mode !== 'none' && options.expires_mode !== '';
