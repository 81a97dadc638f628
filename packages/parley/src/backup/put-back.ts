/**
 * Puts a backup back into an empty installation. The whole archive is read and checked before anything is written; what
 * is written lies beside its place until all of it is there.
 */
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeWritableFolder } from '@parley/kit/folder.ts';
import { isPostgres } from '@parley/kit/store/open.ts';
import { restoreStore } from '@parley/kit/store/open-snapshot.ts';
import { placeBelow, readArchive, skipFile } from './archive.ts';
import type { Manifest, SavedStore } from './manifest.ts';
import type { Places } from './places.ts';

const SETTINGS_FILE = 'restored-parley.yaml';
/** Of a file system that is mounted there. */
const NOT_COUNTED: ReadonlySet<string> = new Set(['lost+found']);

/** Reads the whole archive. Rejects with an Error in words when a byte is not as it was, or it is a newer program's. */
export const verifyBackup = (archive: string): Promise<Manifest> => readArchive(archive, skipFile);

/** Resolves with the manifest. Rejects with an Error in words, and changes nothing, when it cannot be put back. */
export const putBack = async (places: Places, archive: string): Promise<Manifest> => {
  const manifest = await verifyBackup(archive);
  await refuseFilled(places);
  const stores = manifest.stores.map((saved) => ({ saved, place: placeOf(saved, places) }));
  await makeWritableFolder('data_dir', places.dataDir);
  const staging = join(places.dataDir, `.restore-${randomUUID()}`);
  await mkdir(staging, { mode: 0o700 });
  try {
    await readArchive(archive, async (path, content) => {
      const to = placeBelow(staging, path);
      await mkdir(dirname(to), { recursive: true, mode: 0o700 });
      await pipeline(content, createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }));
    });
    for (const { saved, place } of stores) {
      const folder = join(staging, 'stores', saved.name);
      await restoreStore(saved.driver, folder, place, saved.schema);
    }
    await moveChildren(join(staging, 'data'), places.dataDir);
    for (const { name, path } of places.outside) {
      await moveChildren(join(staging, name), name === 'keys' ? dirname(path) : path);
    }
    await rename(join(staging, 'parley.yaml'), join(places.dataDir, SETTINGS_FILE)).catch(ignoreMissing);
    return manifest;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
};

const ignoreMissing = (thrown: unknown): undefined => {
  if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
};

/** Everything must be free before the first byte is written. */
const refuseFilled = async ({ dataDir, outside, stores }: Places): Promise<void> => {
  for (const folder of [dataDir, ...outside.filter(({ name }) => name !== 'keys').map(({ path }) => path)]) {
    const names = (await readdir(folder).catch(ignoreMissing)) ?? [];
    if (names.some((name) => !NOT_COUNTED.has(name))) throw new Error(`${folder} is not empty.`);
  }
  const files = [
    ...outside.filter(({ name }) => name === 'keys').map(({ path }) => path),
    ...stores.map(({ place }) => place).filter((place) => !isPostgres(place)),
  ];
  for (const file of files) {
    if (await stat(file).catch(ignoreMissing)) throw new Error(`${file} is there already.`);
  }
};

/** Where the settings want the rows that were saved. */
const placeOf = ({ name, driver }: SavedStore, { stores }: Places): string => {
  const found = stores.find((store) => store.name === name);
  if (driver === 'postgres') {
    if (found && isPostgres(found.place)) return found.place;
    throw new Error('Its rows are of PostgreSQL: set PARLEY_STORAGE_URL to an empty database.');
  }
  if (found && !isPostgres(found.place)) return found.place;
  throw new Error('Its rows are of SQLite: restore it without PARLEY_STORAGE_URL, or with the one it was taken with.');
};

const moveChildren = async (from: string, to: string): Promise<void> => {
  const names = (await readdir(from).catch(ignoreMissing)) ?? [];
  if (names.length > 0) await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of names) await move(join(from, name), join(to, name));
};

const move = async (from: string, to: string): Promise<void> => {
  try {
    await rename(from, to);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EXDEV') throw thrown;
    await cp(from, to, { recursive: true, errorOnExist: true, force: false });
  }
};
