/**
 * Node's compile cache: what was stripped of types and compiled once is loaded as it is ever after, which spares each
 * thread the stripper (some 20 MiB) and most of a start. It is code that will run, so it lies only where nobody else
 * can write: beside the installed packages where the installation made it and is ours, else in the data folder.
 */
import { statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeWritableFolder } from './folder.ts';

/** Where `tools/warm-compile-cache.ts` leaves what it made, from the root of the installation. */
export const INSTALLED_CACHE = fileURLToPath(
  new URL('../../../node_modules/.cache/parley/compile-cache', import.meta.url),
);

const OTHERS_MAY_WRITE = 0o022;

/** True for a folder that belongs to the user of this process and that nobody else may write to. */
const isOwn = (folder: string): boolean => {
  const facts = statSync(folder, { throwIfNoEntry: false });
  if (!facts?.isDirectory() || process.getuid === undefined) return false;
  return facts.uid === process.getuid() && (facts.mode & OTHERS_MAY_WRITE) === 0;
};

/** The folder of the cache. `installed`: used when it is there and only ours to write. */
export const placeOfCache = (dataDir: string, installed = INSTALLED_CACHE): string =>
  isOwn(installed) ? installed : join(dataDir, 'compile-cache');

/** Turns the cache on for this process. `dataDir`: made, with access for us alone, when it is not there. */
export const useCompileCache = async (dataDir: string): Promise<void> => {
  await makeWritableFolder('data_dir', dataDir);
  enableCompileCache(placeOfCache(dataDir));
};
