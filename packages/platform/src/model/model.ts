/** The data of classes, put together: where rows lie, items, files, what classes ask of their rows, the sweep of what expired. */
import { join, resolve } from 'node:path';
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { cannotApply, problem } from '../codes.ts';
import type { LoadedDomains } from '../domains/domains.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { isObject } from '../rest/json.ts';
import { pagesOf } from '../rest/list-rows.ts';
import type { RowsOfClasses } from './class-options.ts';
import { isOwnStorage } from './class-options.ts';
import { doesExpire, EXPIRES_AT } from './expiry.ts';
import { isBelowRoot } from './file-roots.ts';
import { createFileTurns, type FileTurns } from './file-turns.ts';
import { type Files, openFiles } from './files.ts';
import { createItems, type Items } from './items.ts';
import { createModelClasses, type ModelClass, type ModelClasses } from './model-class.ts';
import { fieldOf, type Property } from './properties.ts';
import { openRowSource } from './row-source.ts';
import type { RowSource } from './rows.ts';
import { openS3Files, reachesS3, s3ParamsOf, s3PlaceOf } from './s3-files.ts';

export type Model = AsyncDisposable & {
  readonly classes: ModelClasses;
  readonly source: RowSource;
  readonly items: Items;
  /** Files of the platform's own. */
  readonly files: Files;
  /** Where the files of a class lie. */
  filesOf(domain: Domain, model: ModelClass): Files;
  readonly turns: FileTurns;
  readonly maxFileBytes: number;
  /** For the resource that defines classes. */
  readonly ofClasses: RowsOfClasses;
  stamp(): string;
};

export type ModelParts = {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly log: Log;
  readonly clock: Clock;
  readonly dataDir: string;
  /** Folders in which a storage of type fs may lie. */
  readonly fileRoots: readonly string[];
  readonly maxFileBytes: number;
  domains(): LoadedDomains;
  stamp(after?: string): string;
};

const SWEEP_MS = 60_000;
const SWEEP_ROWS = 500;
const PAGE_ROWS = 1000;

export const openModel = (parts: ModelParts): Model => {
  const { store, secrets, log, stamp } = parts;
  const classes = createModelClasses();
  const source = openRowSource({ store, secrets, log, clock: parts.clock });
  const files = openFiles(join(parts.dataDir, 'files'));
  const filesOf = createFilesOf(parts, files);
  const turns = createFileTurns(store.driver === 'postgres');
  const sweeping = new AbortController();
  const sweeper = keepSweeping(parts, classes, { source, filesOf, turns }, sweeping.signal);
  return {
    classes,
    source,
    files,
    filesOf,
    turns,
    maxFileBytes: parts.maxFileBytes,
    items: createItems({ source, secrets, stamp }),
    stamp: () => stamp(),
    ofClasses: createClassesParts(parts, classes, source, filesOf),
    [Symbol.asyncDispose]: async () => {
      sweeping.abort();
      await sweeper;
      await source[Symbol.asyncDispose]();
    },
  };
};

const createClassesParts = (
  { store, log, secrets }: ModelParts,
  classes: ModelClasses,
  source: RowSource,
  filesOf: FilesOf,
): RowsOfClasses => {
  const rowsOf = (domain: Domain, entity: Entity) => source.open(domain, classes.of(domain, entity));
  return {
    countRows: async (domain, entity) => (await rowsOf(domain, entity)).count([]),
    countMisfits: async (domain, entity, changed) => {
      let misfits = 0;
      for await (const page of pagesOf(await rowsOf(domain, entity), [])) {
        misfits += page.filter(({ data }) => changed.some((property) => !fits(property, data[property.name]))).length;
      }
      return misfits;
    },
    dropRows: async (domain, entity) => {
      const rows = await rowsOf(domain, entity);
      for (
        let page = await rows.query({ limit: PAGE_ROWS });
        page.length > 0;
        page = await rows.query({ limit: PAGE_ROWS })
      ) {
        await rows.drop(page.map(({ id }) => id));
      }
      const model = classes.of(domain, entity);
      if (!hasFiles(model)) return;
      await filesOf(domain, model).remove({ domain: domain.name, classId: model.id });
    },
    checkStorage: (domain, instance) => source.check(domain, instance),
    checkFileStorage: async (domain, instance) => {
      const params = isOwnStorage(instance) ? undefined : s3ParamsOf(domain, String(instance));
      if (!params) return;
      const place = s3PlaceOf(params, secrets);
      if (place && (await reachesS3(place))) return;
      throw cannotApply('opts.filestorage_instance', 'the storage cannot be reached');
    },
    prepareIndexes: (kind, paths) => {
      for (const path of paths) {
        store
          .ensureIndex(kind, path)
          .catch((error: unknown) => log.warn({ kind, path, err: error }, 'no index was made'));
      }
    },
  };
};

const fits = (property: Property, value: unknown): boolean => {
  if (value === undefined || value === null) return true;
  try {
    fieldOf(property).check(value, property.name);
    return true;
  } catch {
    return false;
  }
};

const keepSweeping = async (
  parts: ModelParts,
  classes: ModelClasses,
  holders: FileHolders,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      await parts.clock.delay(SWEEP_MS, signal);
      const domains = parts.domains();
      for (const name of domains.names()) {
        const domain = domains.loaded(name);
        if (domain) await sweepDomain(domain, classes, holders, parts.stamp());
      }
    } catch (thrown) {
      if (!signal.aborted) parts.log.warn({ err: thrown }, 'expired items were not swept');
    }
  }
};

/** Removes what expired, a page a class; the next sweep takes the rest. */
const sweepDomain = async (domain: Domain, classes: ModelClasses, holders: FileHolders, now: string): Promise<void> => {
  for (const entity of domain.all('class')) {
    const model = classes.of(domain, entity);
    if (!doesExpire(model)) continue;
    const rows = await holders.source.open(domain, model);
    const page = await rows.query({ where: [{ path: EXPIRES_AT, op: '<=', value: now }], limit: SWEEP_ROWS });
    const over = page.filter(({ data }) => String(data[EXPIRES_AT]) <= now);
    if (over.length === 0) continue;
    await rows.drop(over.map(({ id }) => id));
    await removeFiles(
      holders,
      domain,
      model,
      over.map(({ id }) => id),
    );
  }
};

const hasFiles = ({ properties }: ModelClass): boolean =>
  properties.some(({ data_type }) => data_type === 'attachment');

type FileHolders = Pick<Model, 'source' | 'filesOf' | 'turns'>;

/** Files of items that are gone; one that is there again by now keeps them, and the sweep takes what it does not name. */
export const removeFiles = async (
  { source, filesOf, turns }: FileHolders,
  domain: Domain,
  model: ModelClass,
  ids: readonly string[],
): Promise<void> => {
  if (!hasFiles(model)) return;
  const rows = await source.open(domain, model);
  for (const id of ids) {
    const item = { domain: domain.name, classId: model.id, id };
    await turns.take(item, async () => {
      if (!(await rows.get(id))) await filesOf(domain, model).remove(item);
    });
  }
};

type FilesOf = Model['filesOf'];

/** The data folder's own, or the folder or bucket of the storage that the class names. */
const createFilesOf = ({ dataDir, fileRoots, secrets }: ModelParts, own: Files): FilesOf => {
  return (domain, { options }) => {
    const instance = options.filestorage_instance;
    if (isOwnStorage(instance)) return own;
    const s3 = s3ParamsOf(domain, String(instance));
    const place = s3 && s3PlaceOf(s3, secrets);
    if (place) return openS3Files(place, join(dataDir, 'spool'));
    const [id] = domain.find('storage', 'instance', String(instance));
    const storage = id === undefined ? undefined : domain.get('storage', id);
    const params = storage?.type === 'fs' && isObject(storage.params) ? storage.params : undefined;
    const prefix = typeof params?.prefix === 'string' ? params.prefix : '';
    if (!params || !isBelowRoot(prefix, fileRoots)) {
      throw problem('unavailable', { message: 'The file storage of this class is gone' });
    }
    return openFiles(resolve(dataDir, prefix));
  };
};

/** Removes the rows and files of every class of a domain. */
export const clearModelRows = async ({ ofClasses }: Model, domain: Domain): Promise<void> => {
  for (const entity of domain.all('class')) {
    if (entity.storage_mode !== 'abstract') await ofClasses.dropRows(domain, entity);
  }
};
