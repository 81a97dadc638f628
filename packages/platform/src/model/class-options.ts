/** `opts` of a class: the known keys with their defaults and allowed words. */
import { cannotApply } from '../codes.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { anything, bool, type Field, integer, key, list, object, opts } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import type { Property } from './properties.ts';

export const STORAGE_MODES = ['abstract', 'category', 'history', 'transactionlog', 'runtime'];
export const INTEGRITY_MODES = ['sync_fast_read', 'sync_fast_notify', 'async'];
export const CACHE_MODES = ['none', 'temp', 'full'];
const EXPIRES_MODES = ['none', 'create', 'update', 'custom'];
const INTERVALS = ['day', 'week', 'month', 'year'];
const MAX_COUNT = 2_147_483_647;

const count = (): Field => integer({ min: 0, max: MAX_COUNT });

const MEMBERS: Readonly<Record<string, Field>> = {
  dms_group: object(),
  cache_limit: count(),
  cache_sec: count(),
  check_required_fill_defaults: bool(),
  expires_mode: key(),
  expires_ts_property: key(),
  expires_ttl_property: key(),
  expires_ttl: count(),
  lookup_properties: list(key(), { maxItems: 16, isUnique: true }),
  max_limit: count(),
  max_mask: list(anything({ maxBytes: 256 }), { maxItems: 500 }),
  max_size: count(),
  notify_transactions: bool(),
  partition_count: count(),
  partition_interval: key(),
  partition_property: key(),
  replication_factor: count(),
  storage_instance: key(),
  filestorage_instance: key(),
};

export const classOptions = (): Field => opts(MEMBERS);

export const CLASS_OPTION_DEFAULTS: Json = {
  title: '',
  comment: '',
  check_required_fill_defaults: false,
  expires_mode: 'none',
  lookup_properties: [],
  max_mask: [],
  storage_instance: 'auto',
  filestorage_instance: 'auto',
};

/** Throws 422 for words that are not known, properties that are not there, and storages that will not do. */
export const checkOptions = (options: Json, propertyNames: ReadonlySet<string>, domain: Domain): void => {
  checkWord(options, 'expires_mode', EXPIRES_MODES);
  checkWord(options, 'partition_interval', INTERVALS);
  const named = ['expires_ts_property', 'expires_ttl_property', 'partition_property'].map((name) => options[name]);
  const lookups = Array.isArray(options.lookup_properties) ? options.lookup_properties : [];
  for (const property of [...named, ...lookups]) {
    if (typeof property === 'string' && property !== '' && !propertyNames.has(property)) {
      throw cannotApply('opts', `names the property ${property}, which the class does not have`);
    }
  }
  checkStorage(options.storage_instance, 'opts.storage_instance', ['postgresql'], domain);
  checkStorage(options.filestorage_instance, 'opts.filestorage_instance', ['fs', 's3'], domain);
};

const checkWord = (options: Json, name: string, words: readonly string[]): void => {
  const value = options[name];
  if (value !== undefined && value !== '' && !(typeof value === 'string' && words.includes(value))) {
    throw cannotApply(`opts.${name}`, `must be one of ${words.join(', ')}`);
  }
};

const checkStorage = (instance: unknown, field: string, types: readonly string[], domain: Domain): void => {
  if (isOwnStorage(instance)) return;
  const [id] = domain.find('storage', 'instance', String(instance));
  const storage = id === undefined ? undefined : domain.get('storage', id);
  if (!storage) throw cannotApply(field, 'unknown storage');
  if (!types.includes(String(storage.type)))
    throw cannotApply(field, `must be a storage of type ${types.join(' or ')}`);
};

/** `auto` and nothing mean our own. */
export const isOwnStorage = (instance: unknown): boolean =>
  instance === undefined || instance === null || instance === '' || instance === 'auto';

export const optionsOf = (entity: Entity): Json => (isObject(entity.opts) ? entity.opts : {});

/** What defining a class needs to know of its rows, and do with them. */
export type RowsOfClasses = {
  /** Rows that the class has now. */
  countRows(domain: Domain, entity: Entity): Promise<number>;
  /** Rows whose value would not fit the property any more. */
  countMisfits(domain: Domain, entity: Entity, changed: readonly Property[]): Promise<number>;
  /** Removes all rows and files of the class. */
  dropRows(domain: Domain, entity: Entity): Promise<void>;
  /** 422 when the storage that shall hold the rows cannot be reached. */
  checkStorage(domain: Domain, instance: unknown): Promise<void>;
  /** The same for the storage that shall hold attached files. */
  checkFileStorage(domain: Domain, instance: unknown): Promise<void>;
  /** Lets the database answer conditions on these paths quickly; takes its time. */
  prepareIndexes(kind: string, paths: readonly string[]): void;
};
