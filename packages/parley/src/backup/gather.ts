/**
 * Gathers the files of a running installation. Files that are written once and then only removed (uploads, attached
 * files) are linked, which keeps them whatever happens to their names; others are copied. Gathering again adds what
 * came since.
 */
import { copyFile, link, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** What is not whole yet goes by such names, or by hidden ones. */
const DRAFT = /\.(?:part|tmp)$/;
const SPOOL_NAME = '.place';
const MADE_ANEW: ReadonlySet<string> = new Set([
  'compile-cache',
  'samples',
  'spool/uploads',
  'spool/copies',
  'speech/apt',
]);
const MODEL_MANIFEST = 'model.json';

/** What is done with a path below the folder; a folder that is not skipped is looked into. */
export type GatherRule = (path: string, isFolder: boolean) => 'skip' | 'copy' | 'link';

/** Brings what is below `from` and not yet below `to`. A folder that is not there holds nothing. */
export const gather = async (from: string, to: string, rule: GatherRule, below = ''): Promise<void> => {
  const entries = await readdir(join(from, below), { withFileTypes: true }).catch(ignoreMissing);
  for (const entry of entries ?? []) {
    const path = join(below, entry.name);
    const what = rule(path, entry.isDirectory());
    if (what === 'skip') continue;
    if (entry.isDirectory()) await gather(from, to, rule, path);
    else if (entry.isFile()) await bring(join(from, path), join(to, path), what === 'link');
    // Libraries of a model are links to others beside them.
    else if (await leadsToFile(join(from, path))) await bring(join(from, path), join(to, path), false);
  }
};

const leadsToFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isFile() === true;

const ignoreMissing = (thrown: unknown): undefined => {
  const { code = '' } = thrown as NodeJS.ErrnoException;
  if (!['ENOENT', 'ENOTDIR'].includes(code)) throw thrown;
};

/** A file that goes away meanwhile is left out. */
const bring = async (from: string, to: string, isWrittenOnce: boolean): Promise<void> => {
  if (await stat(to).catch(ignoreMissing)) return;
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    if (isWrittenOnce) await link(from, to);
    else await copyFile(from, to);
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    if (!isWrittenOnce || !['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP'].includes(code)) throw thrown;
    // A copy that was cut short must not pass for the file.
    await copyFile(from, `${to}.part`).catch(ignoreMissing);
    await copyFile(`${to}.part`, to).catch(ignoreMissing);
    await rm(`${to}.part`, { force: true });
  }
};

/** Below the data folder: all but rows (they have a snapshot), models, and what is made anew by itself. */
export const dataRule =
  (modelsBelow: string | undefined, withModels: boolean): GatherRule =>
  (path, isFolder) => {
    const [head = ''] = path.split('/');
    if (isDraft(path, isFolder) || MADE_ANEW.has(path) || /\.sqlite(?:-\w+)?$/.test(head)) return 'skip';
    if (modelsBelow !== undefined && path.startsWith(`${modelsBelow}/`)) {
      return modelRule(withModels)(path.slice(modelsBelow.length + 1), isFolder);
    }
    return head === 'files' || head === 'spool' ? 'link' : 'copy';
  };

/** Of models their manifest, which says what to fetch again; or everything. */
export const modelRule =
  (withModels: boolean): GatherRule =>
  (path, isFolder) => {
    if (isDraft(path, isFolder)) return 'skip';
    if (withModels) return 'link';
    const parts = path.split('/');
    return isFolder ? (parts.length === 1 ? 'copy' : 'skip') : parts[1] === MODEL_MANIFEST ? 'copy' : 'skip';
  };

/** All uploads; the folder's own name is kept in a hidden file. */
export const spoolRule: GatherRule = (path, isFolder) =>
  isDraft(path, isFolder) && path !== SPOOL_NAME ? 'skip' : 'link';

const isDraft = (path: string, isFolder: boolean): boolean =>
  basename(path).startsWith('.') || (!isFolder && DRAFT.test(path));
