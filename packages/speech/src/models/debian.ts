/**
 * A model folder made of Debian packages: PocketSphinx's US English model and, where the system lacks them, its
 * libraries with what they depend on. What the system has installed is used.
 */
import { cp, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Log } from '@parley/kit/log.ts';
import { APT_SYSTEM, type Apt, type AptSystem, exists, openApt } from './apt.ts';
import type { DebianSource } from './catalog.ts';
import { DownloadFault } from './fault.ts';
import { ID_PATTERN, type Manifest, parseManifest } from './manifest.ts';

export type DebianOptions = {
  readonly dataDir: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Elsewhere only in tests. */
  readonly system?: AptSystem & { readonly modelDir: string };
};

const MODEL_PACKAGE = 'pocketsphinx-en-us';
const LIBRARY_PACKAGE = 'libpocketsphinx3';
/** Another programming interface: it cannot stand in. */
const NEWER_LIBRARY_PACKAGE = 'libpocketsphinx5';
const SYSTEM_MODEL_DIR = '/usr/share/pocketsphinx/model/en-us';
const MAX_PACKAGES = 40;
const SHARED_LIBRARY = /\.so(?:\.\d+)*$/;

/** Throws DownloadFault unsupported_system for an entry of another package: what lies where in it is not known. */
export const requireKnownPackage = ({ id, source }: { readonly id: string; readonly source: DebianSource }): void => {
  if (id === MODEL_PACKAGE && source.debian_package === MODEL_PACKAGE) return;
  const words = `Of Debian's packages only ${MODEL_PACKAGE} is known here, as the model of that id.`;
  throw new DownloadFault('unsupported_system', words);
};

/** Folder of our own lists and cache. */
export const aptDirOf = (dataDir: string): string => join(dataDir, 'speech', 'apt');

/** A Debian version as a revision: `1:0.8+5prealpha+1-15` → `0.8-5prealpha-1-15`. */
export const toRevision = (version: string): string => {
  const revision = version
    .replace(/^\d+:/, '')
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, 64);
  return ID_PATTERN.test(revision) ? revision : 'debian';
};

/** Every folder below `root` that holds a shared library, `blas/` and `lapack/` included. */
const libraryFolders = async (root: string): Promise<string[]> => {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return [
    ...new Set(entries.filter((entry) => SHARED_LIBRARY.test(entry.name)).map((entry) => entry.parentPath)),
  ].sort();
};

const manifestOf = (
  version: string,
  modelPath: string,
  libraryPaths: readonly string[],
  packages: readonly string[],
): Manifest =>
  parseManifest({
    id: MODEL_PACKAGE,
    revision: toRevision(version),
    display_name: 'PocketSphinx US English',
    kind: 'asr',
    engine: 'pocketsphinx',
    family: 'pocketsphinx',
    languages: ['en'],
    sample_rate: 16_000,
    files: { hmm: `${modelPath}/en-us`, dict: `${modelPath}/cmudict-en-us.dict`, lm: `${modelPath}/en-us.lm.bin` },
    library_paths: libraryPaths,
    license: 'BSD-2-Clause',
    commercial_use: 'yes',
    capabilities: { word_timestamps: true, confidence: true },
    resources: { approx_rss_mb: 260 },
    source: { debian_package: MODEL_PACKAGE, version, packages },
    notes: 'From the Debian or Ubuntu archive, signature checked by apt.',
  });

/** The packages to fetch beside the model, or a fault that says why there can be none. */
const libraryPackages = async (apt: Apt): Promise<readonly string[]> => {
  const policy = await apt.policy([LIBRARY_PACKAGE, NEWER_LIBRARY_PACKAGE]);
  if (policy.get(LIBRARY_PACKAGE)?.candidate === undefined) {
    const newer = policy.get(NEWER_LIBRARY_PACKAGE)?.candidate;
    throw new DownloadFault(
      'unsupported_system',
      newer === undefined
        ? `The package archive has no ${LIBRARY_PACKAGE}.`
        : `The package archive has PocketSphinx ${newer}, whose programming interface differs; ${LIBRARY_PACKAGE} is needed.`,
    );
  }
  const missing = await apt.missing([LIBRARY_PACKAGE]);
  if (missing.length > MAX_PACKAGES) {
    throw new DownloadFault('unsupported_system', `${LIBRARY_PACKAGE} would bring ${missing.length} packages.`);
  }
  return missing;
};

/** Everything is installed on the system already: no archive has to be asked. */
const fromSystem = async (dir: string, modelDir: string): Promise<Manifest | undefined> => {
  const folders = ['/usr/lib', '/usr/local/lib'];
  const triplets = (await Promise.all(folders.map((folder) => readdir(folder).catch(() => [] as string[])))).flat();
  const places = folders.flatMap((folder) => [
    folder,
    ...triplets.filter((name) => name.endsWith('-gnu')).map((name) => join(folder, name)),
  ]);
  const found = await Promise.all(places.map((place) => exists(join(place, 'libpocketsphinx.so.3'))));
  if (!found.includes(true) || !(await exists(join(modelDir, 'en-us.lm.bin')))) return undefined;
  await cp(modelDir, join(dir, 'en-us'), { recursive: true, dereference: true });
  return manifestOf('system', 'en-us', [], []);
};

/**
 * Fills the empty folder `dir` with the model and the libraries the system lacks; resolves with its manifest (not yet
 * written). Throws DownloadFault: unsupported_system, unreachable, not_found.
 */
export const buildDebianModel = async (dir: string, options: DebianOptions): Promise<Manifest> => {
  const system = options.system ?? { ...APT_SYSTEM, modelDir: SYSTEM_MODEL_DIR };
  const ready = options.system ? undefined : await fromSystem(dir, system.modelDir);
  if (ready) return ready;
  await using apt = await openApt([MODEL_PACKAGE], { ...options, system, dir: aptDirOf(options.dataDir) });
  const libraries = await libraryPackages(apt);
  const packages = [MODEL_PACKAGE, ...libraries];
  const version = (await apt.policy([MODEL_PACKAGE])).get(MODEL_PACKAGE)?.candidate ?? 'debian';
  options.log.info({ packages }, 'fetching Debian packages');
  const root = join(dir, 'root');
  await apt.unpack(packages, root);
  const modelPath = relative(dir, join(root, SYSTEM_MODEL_DIR));
  if (!(await exists(join(dir, modelPath, 'en-us.lm.bin')))) {
    throw new DownloadFault(
      'model_unusable',
      `${MODEL_PACKAGE} ${version} does not hold the model where it used to be.`,
    );
  }
  const folders = (await libraryFolders(root)).map((folder) => relative(dir, folder));
  return manifestOf(version, modelPath, folders, packages);
};
