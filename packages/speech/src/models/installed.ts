/**
 * Models on disk: one folder `{models_dir}/{id}@{revision}` each, with a `model.json`. A folder that cannot be used is
 * listed with its problem. A model that killed its engine process twice at load is quarantined; the reason is kept in
 * the data folder until the folder is replaced.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { createToken } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import { isAlive } from './lock.ts';
import { ID_PATTERN, MANIFEST_FILE, type Manifest, ManifestFault, readManifest } from './manifest.ts';

export type InstalledModel = {
  readonly id: string;
  readonly revision: string;
  /** Absolute folder. */
  readonly dir: string;
  readonly sizeBytes: number;
  /** ISO 8601, UTC. */
  readonly installedAt: string;
  /** Missing when `problem` says that `model.json` is missing or wrong. */
  readonly manifest?: Manifest;
  /** Why it cannot be used, in words for an operator. */
  readonly problem?: string;
};

/** An installed model with nothing known against it. */
export type UsableModel = InstalledModel & { readonly manifest: Manifest };

export type Installed = {
  /** Looks at the folder again if something in it changed. Cheap enough to call for every request. */
  refresh(): Promise<void>;
  /** As of the last refresh, newest revision of each id first. */
  list(): readonly InstalledModel[];
  /** The named revision, else the newest usable one, else the newest broken one. */
  find(id: string, revision?: string): InstalledModel | undefined;
  revisions(id: string): readonly string[];
  /** Remembers over restarts that this model must not be loaded. */
  quarantine(id: string, revision: string, reason: string): Promise<void>;
  /** Removes one revision from the disk. */
  remove(id: string, revision: string): Promise<void>;
  readonly modelsDir: string;
};

type InstalledOptions = { readonly modelsDir: string; readonly dataDir: string; readonly log: Log };
type Quarantine = Readonly<Record<string, { readonly reason: string; readonly installed_at: string }>>;

const MAX_MODEL_FOLDERS = 1000;
const MAX_FILES_PER_MODEL = 20_000;

export const isUsable = (model: InstalledModel | undefined): model is UsableModel =>
  model !== undefined && model.manifest !== undefined && model.problem === undefined;

export const folderNameOf = (id: string, revision: string): string => `${id}@${revision}`;

/** Newest first: revisions are dates or versions, so numbers inside them count as numbers. */
const compareRevisions = (a: string, b: string): number =>
  b.localeCompare(a, 'en', { numeric: true, sensitivity: 'base' });

/** A file that is written but does not count yet: what needs room on the disk is done. */
export type StagedFile = { keep(): Promise<void>; drop(): Promise<void> };

/** Writes a small JSON file beside its place. */
export const stageJsonFile = async (path: string, value: unknown): Promise<StagedFile> => {
  const staging = `${path}.${createToken(6)}.tmp`;
  const drop = (): Promise<void> => rm(staging, { force: true });
  try {
    await writeFile(staging, `${JSON.stringify(value, undefined, 2)}\n`);
  } catch (thrown) {
    await drop().catch(() => undefined);
    throw thrown;
  }
  return { keep: () => rename(staging, path), drop };
};

/** Writes a small JSON file so that a reader sees the old or the new one, never half. */
export const writeJsonFile = async (path: string, value: unknown): Promise<void> => {
  await (await stageJsonFile(path, value)).keep();
};

const readQuarantine = async (path: string): Promise<Quarantine> => {
  const text = await readFile(path, 'utf8').catch(() => '{}');
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Quarantine) : {};
  } catch {
    return {};
  }
};

/** Bytes of all files below a folder. */
const sizeOf = async (dir: string): Promise<number> => {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).slice(0, MAX_FILES_PER_MODEL);
  const sizes = await Promise.all(files.map((file) => stat(join(file.parentPath, file.name)).then((at) => at.size)));
  return sizes.reduce((sum, size) => sum + size, 0);
};

const checkFiles = async (dir: string, manifest: Manifest): Promise<string | undefined> => {
  for (const [role, path] of [
    ...Object.entries(manifest.files),
    ...manifest.library_paths.map((at) => ['', at] as const),
  ]) {
    const found = await stat(join(dir, path)).catch(() => undefined);
    if (!found) return `the ${role || 'library folder'}${role && ' file'} ${path} is missing`;
    if (found.isFile() && found.size === 0) return `the ${role} file ${path} is empty`;
  }
  return undefined;
};

const readModel = async (modelsDir: string, name: string): Promise<InstalledModel> => {
  const dir = join(modelsDir, name);
  const at = name.lastIndexOf('@');
  const [id, revision] = at > 0 ? [name.slice(0, at), name.slice(at + 1)] : [name, ''];
  const described = await stat(join(dir, MANIFEST_FILE)).catch(() => stat(dir));
  const base = { id, revision, dir, sizeBytes: await sizeOf(dir), installedAt: described.mtime.toISOString() };
  if (!ID_PATTERN.test(id) || !ID_PATTERN.test(revision)) {
    return { ...base, problem: 'the folder must be named {id}@{revision}' };
  }
  try {
    const manifest = await readManifest(dir);
    if (manifest.id !== id || manifest.revision !== revision) {
      return { ...base, problem: `${MANIFEST_FILE} says ${manifest.id}@${manifest.revision}` };
    }
    const problem = await checkFiles(dir, manifest);
    return { ...base, manifest, ...(problem !== undefined && { problem }) };
  } catch (error) {
    if (error instanceof ManifestFault) return { ...base, problem: error.message };
    throw error;
  }
};

/** What changes whenever a model is put in, taken out or re-described. */
const signatureOf = async (modelsDir: string, names: readonly string[]): Promise<string> => {
  const times = await Promise.all(
    names.map(async (name) => {
      const described = await stat(join(modelsDir, name, MANIFEST_FILE)).catch(() => undefined);
      return `${name}:${described?.mtimeMs ?? 0}:${described?.ino ?? 0}`;
    }),
  );
  return times.join('|');
};

const foldersIn = async (modelsDir: string): Promise<string[]> => {
  const entries = await readdir(modelsDir, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .sort()
    .slice(0, MAX_MODEL_FOLDERS);
};

/**
 * Clears what an installation left that was killed in the middle (place.ts). One that had just set the old folder aside
 * gets it back.
 */
const tidy = async (modelsDir: string): Promise<void> => {
  for (const name of await readdir(modelsDir)) {
    const [, kind, pid, folder = ''] = /^\.(staging|old)-(\d+)-(.+)$/.exec(name) ?? [];
    if (kind === undefined || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
    const missing = !(await stat(join(modelsDir, folder)).catch(() => undefined));
    if (kind === 'old' && missing) await rename(join(modelsDir, name), join(modelsDir, folder));
    else await rm(join(modelsDir, name), { recursive: true, force: true });
  }
};

/** Opens the folder of models, making it when it is not there, and looks at it once. */
export const openInstalled = async (options: InstalledOptions): Promise<Installed> => {
  const { modelsDir, log } = options;
  const quarantinePath = join(options.dataDir, 'speech', 'quarantine.json');
  let models: readonly InstalledModel[] = [];
  let signature: string | undefined;
  let quarantined: Quarantine = await readQuarantine(quarantinePath);
  let refreshing: Promise<void> | undefined;

  const withQuarantine = (model: InstalledModel): InstalledModel => {
    const entry = quarantined[folderNameOf(model.id, model.revision)];
    return entry && entry.installed_at === model.installedAt ? { ...model, problem: entry.reason } : model;
  };
  const scan = async (): Promise<void> => {
    const names = await foldersIn(modelsDir);
    const seen = await signatureOf(modelsDir, names);
    if (seen === signature) return;
    const read = await Promise.allSettled(names.map((name) => readModel(modelsDir, name)));
    models = read
      .flatMap((result) => (result.status === 'fulfilled' ? [withQuarantine(result.value)] : []))
      .sort((a, b) => a.id.localeCompare(b.id, 'en') || compareRevisions(a.revision, b.revision));
    signature = seen;
    const broken = models.filter((model) => model.problem !== undefined);
    log.info({ models: models.length, unusable: broken.length }, 'looked at the installed models');
    for (const model of broken)
      log.warn({ model: relative(modelsDir, model.dir), problem: model.problem }, 'unusable model');
  };
  const refresh = (): Promise<void> => {
    refreshing ??= scan().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  };
  const find = (id: string, revision?: string): InstalledModel | undefined => {
    const found = models.filter((model) => model.id === id && (revision === undefined || model.revision === revision));
    return found.find(isUsable) ?? found[0];
  };
  const quarantine = async (id: string, revision: string, reason: string): Promise<void> => {
    const model = find(id, revision);
    if (!model) return;
    quarantined = { ...quarantined, [folderNameOf(id, revision)]: { reason, installed_at: model.installedAt } };
    models = models.map(withQuarantine);
    log.error({ model: id, revision, problem: reason }, 'model quarantined');
    await mkdir(join(options.dataDir, 'speech'), { recursive: true });
    await writeJsonFile(quarantinePath, quarantined);
  };
  const remove = async (id: string, revision: string): Promise<void> => {
    const model = find(id, revision);
    if (!model) return;
    await rm(model.dir, { recursive: true, force: true });
    await refresh();
  };

  await mkdir(modelsDir, { recursive: true });
  await tidy(modelsDir);
  await refresh();
  return {
    refresh,
    list: () => models,
    find,
    revisions: (id) => models.filter((model) => model.id === id).map((model) => model.revision),
    quarantine,
    remove,
    modelsDir,
  };
};
