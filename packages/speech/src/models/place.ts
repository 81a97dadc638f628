/** Puts a finished model folder in its place: built beside it, described, then one rename. Nothing half-done is seen. */
import { cp, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asStorageFault, DownloadFault } from './fault.ts';
import { folderNameOf, type Installed, isUsable, type UsableModel } from './installed.ts';
import { MANIFEST_FILE, type Manifest } from './manifest.ts';

/** Runs `build` with an empty folder on the models' file system, which is gone afterwards. */
export const withStaging = async (
  modelsDir: string,
  name: string,
  run: (dir: string) => Promise<UsableModel>,
): Promise<UsableModel> => {
  const staging = join(modelsDir, `.staging-${process.pid}-${name}`);
  try {
    await rm(staging, { recursive: true, force: true });
    await mkdir(staging, { recursive: true });
    return await run(staging);
  } catch (error) {
    throw asStorageFault(error);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
};

/** Checks that every file of the manifest is there and writes `model.json`. Throws DownloadFault `model_unusable`. */
export const writeManifest = async (dir: string, manifest: Manifest): Promise<void> => {
  for (const [role, path] of Object.entries(manifest.files)) {
    if (!(await stat(join(dir, path)).catch(() => undefined))) {
      throw new DownloadFault('model_unusable', `The ${role} file ${path} is missing.`);
    }
  }
  await writeFile(join(dir, MANIFEST_FILE), `${JSON.stringify(manifest, undefined, 2)}\n`);
};

/** Renames a described folder to `{id}@{revision}`; what was there goes only when the new one is complete. */
export const place = async (from: string, manifest: Manifest, installed: Installed): Promise<UsableModel> => {
  const { modelsDir } = installed;
  const name = folderNameOf(manifest.id, manifest.revision);
  const old = join(modelsDir, `.old-${process.pid}-${name}`);
  const had = await rename(join(modelsDir, name), old).then(
    () => true,
    () => false,
  );
  await rename(from, join(modelsDir, name));
  if (had) await rm(old, { recursive: true, force: true });
  await installed.refresh();
  const model = installed.find(manifest.id, manifest.revision);
  if (!isUsable(model)) throw new DownloadFault('model_unusable', model?.problem ?? 'The model folder is gone.');
  return model;
};

/** Installs a copy of a folder under a manifest. `probe` may reject before anything is seen. */
export const installFolder = (
  source: string,
  manifest: Manifest,
  installed: Installed,
  probe?: (manifest: Manifest, dir: string) => Promise<void>,
): Promise<UsableModel> =>
  withStaging(installed.modelsDir, folderNameOf(manifest.id, manifest.revision), async (staging) => {
    // Links become files: what a model folder points to may go away.
    await cp(source, staging, { recursive: true, dereference: true });
    await writeManifest(staging, manifest);
    await probe?.(manifest, staging);
    return place(staging, manifest, installed);
  });
