/** `parley backup` and `parley restore`: an installation in one file, taken while it runs. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Manifest } from '../backup/manifest.ts';
import { readPlaces } from '../backup/places.ts';
import { putBack, verifyBackup } from '../backup/put-back.ts';
import { takeBackup } from '../backup/take.ts';
import type { Command, Output } from '../command.ts';

const PREFIX = 'parley-';
const ENDING = '.tar';

const onlyPath = (positionals: readonly string[], command: string): string => {
  const [only, ...others] = positionals;
  if (only === undefined || others.length > 0) throw new Error(`${command} needs the name of a file or a folder.`);
  return resolve(only);
};

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true;

export const backupCommand: Command = {
  name: 'backup',
  usage: 'FILE|DIR [--models] [--verify]',
  summary: 'everything that must not be lost, in one file, while it runs',
  run: async (args, { line, out, signal }) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { models: { type: 'boolean', default: false }, verify: { type: 'boolean', default: false } },
    });
    const path = onlyPath(positionals, 'backup');
    // Sorted by name they are sorted by time.
    const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const archive = (await isFolder(path)) ? join(path, `${PREFIX}${stamp}${ENDING}`) : path;
    const manifest = await takeBackup(readPlaces(line), archive, { withModels: values.models, signal });
    if (values.verify) await verifyBackup(archive);
    out.write(`${archive}\n`);
    describe(manifest, out);
    return 0;
  },
};

export const restoreCommand: Command = {
  name: 'restore',
  usage: 'FILE|DIR [--verify]',
  summary: 'puts a backup (of a folder the newest) into an empty installation, or only checks it',
  run: async (args, { line, out }) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { verify: { type: 'boolean', default: false } },
    });
    const path = onlyPath(positionals, 'restore');
    const archive = (await isFolder(path)) ? await newestIn(path) : path;
    const manifest = values.verify ? await verifyBackup(archive) : await putBack(readPlaces(line), archive);
    out.write(values.verify ? `${archive} is whole.\n` : `Restored ${archive}.\n`);
    describe(manifest, out);
    return 0;
  },
};

const newestIn = async (folder: string): Promise<string> => {
  const names = (await readdir(folder)).filter((name) => name.startsWith(PREFIX) && name.endsWith(ENDING));
  const newest = names.sort().at(-1);
  if (newest === undefined) throw new Error(`${folder} holds no ${PREFIX}…${ENDING}.`);
  return join(folder, newest);
};

const describe = (manifest: Manifest, out: Output): void => {
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  const stores = manifest.stores.map(({ name, driver }) => `${name} (${driver})`).join(', ');
  out.write(`Taken ${manifest.taken_at}: ${manifest.files.length} files, ${bytes} bytes, rows of ${stores}.\n`);
  if (!manifest.with_models) out.write('Models are not in it, only what to fetch: npm start -- models pull ID.\n');
  for (const sentence of manifest.elsewhere) out.write(`Not in it: ${sentence}\n`);
  for (const path of manifest.missing) out.write(`Was gone before it could be copied: ${path}\n`);
};
