/** What the rows of a snapshot keep outside: files and items of classes that name a storage of their domain. */
import { resolve } from 'node:path';
import type { StoreSnapshot } from '@parley/kit/store/snapshot.ts';
import { isInside } from './places.ts';
import type { Attached } from './references.ts';

export type StoredClass = {
  readonly domain: string;
  readonly id: string;
  readonly classname: string;
  /** Its attached files lie in our own folder of files. */
  readonly hasOwnFiles: boolean;
  /** Where they lie in words; undefined where that is below the data folder. */
  readonly filesAt: string | undefined;
  /** The same of its items; undefined for our own store. */
  readonly itemsAt: string | undefined;
};

type Entity = { readonly [key: string]: unknown };

const ROWS = "SELECT domain, kind, id, data FROM rows WHERE kind IN ('class', 'storage')";
const OWN: ReadonlySet<unknown> = new Set([undefined, null, '', 'auto']);

/** Every class of every domain. */
export const readClasses = async (snapshot: StoreSnapshot, dataDir: string): Promise<StoredClass[]> => {
  const classes: { domain: string; id: string; entity: Entity }[] = [];
  const storages = new Map<string, Entity>();
  for await (const [domain, kind, id, data] of snapshot.rows(ROWS)) {
    const entity = JSON.parse(String(data)) as Entity;
    if (kind === 'class') classes.push({ domain: String(domain), id: String(id), entity });
    else storages.set(`${domain}/${entity.instance}`, entity);
  }
  const placeOf = (domain: string, instance: unknown): string | undefined => {
    const storage = OWN.has(instance) ? undefined : storages.get(`${domain}/${instance}`);
    const { prefix } = (storage?.params ?? {}) as Entity;
    const isOurs = storage?.type === 'fs' && isInside(dataDir, resolve(dataDir, String(prefix ?? '')));
    return storage && !isOurs ? `the storage ${instance} (${storage.type})` : undefined;
  };
  return classes.map(({ domain, id, entity }) => {
    const options = (entity.opts ?? {}) as Entity;
    const filesAt = placeOf(domain, options.filestorage_instance);
    const itemsAt = placeOf(domain, options.storage_instance);
    const hasOwnFiles = OWN.has(options.filestorage_instance);
    return { domain, id, classname: String(entity.classname), hasOwnFiles, filesAt, itemsAt };
  });
};

/** Sentences for people about what is not in a backup: of each class what lies where. */
export const tellElsewhere = (classes: readonly StoredClass[], attached: readonly Attached[]): string[] =>
  classes.flatMap(({ domain, id, classname, filesAt, itemsAt }) => {
    const files = attached.filter((file) => file.domain === domain && file.classId === id);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const name = `${classname} (domain ${domain})`;
    // Of items elsewhere nobody here knows the files.
    const counted = `: ${files.length}, ${bytes} bytes`;
    return [
      ...(itemsAt === undefined ? [] : [`Items of ${name}, in ${itemsAt}.`]),
      ...(filesAt === undefined ? [] : [`Attached files of ${name}, in ${filesAt}${itemsAt ? '' : counted}.`]),
    ];
  });
