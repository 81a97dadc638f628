/**
 * Models that can be had: data/catalog.json, plus an own catalog by URL or file whose entries stand before ours. An
 * entry is pinned by size and SHA-256, or names a Debian package whose signature apt checks.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Log } from '@parley/kit/log.ts';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { CatalogEntry } from '../core/types.ts';
import { applyMirrors, fetchText, type ProxyEnv } from './fetch-file.ts';
import { isInnerPath, type Manifest, parseManifest } from './manifest.ts';
import { ARCHIVE_KINDS, type ArchiveKind } from './unpack.ts';

const BUILT_IN = new URL('../../data/catalog.json', import.meta.url);
const MAX_CATALOG_BYTES = 4 * 2 ** 20;
const MAX_ENTRIES = 2000;
const FETCH_TIMEOUT_MS = 15_000;

/** Where the bytes of an entry come from. `size_bytes` 0 is unknown. */
export type PinnedSource = {
  readonly url: string;
  readonly sha256: string;
  readonly size_bytes: number;
  readonly archive: ArchiveKind;
};
export type DebianSource = { readonly debian_package: string; readonly archive: 'deb' };

/** One entry without what only a running service knows of it. */
export type CatalogModel = Omit<CatalogEntry, 'state' | 'source'> & {
  readonly source: PinnedSource | DebianSource;
  /** Part of the small set a first start may take. */
  readonly recommended: boolean;
  /** What is written as `model.json` when it is installed. */
  readonly manifest: Manifest;
};

export type Catalog = {
  entries(): readonly CatalogModel[];
  /** The named revision, else the newest entry of that id. */
  find(id: string, revision?: string): CatalogModel | undefined;
  /** Why the own catalog could not be read, if it could not; the built-in one serves meanwhile. */
  readonly problem: string | undefined;
};

export type CatalogOptions = {
  /** URL or file; empty is only the built-in catalog. */
  readonly catalogUrl: string;
  readonly mirrors: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly proxyEnv?: ProxyEnv;
};

const Source = Type.Union([
  Type.Object({
    url: Type.String({ pattern: '^https?://[^\\s]{1,2000}$' }),
    sha256: Type.String({ pattern: '^[0-9a-fA-F]{64}$' }),
    size_bytes: Type.Optional(Type.Integer({ minimum: 0 })),
    archive: Type.Enum([...ARCHIVE_KINDS]),
  }),
  Type.Object({
    debian_package: Type.String({ pattern: '^[a-z0-9][a-z0-9+.-]{1,80}$' }),
    archive: Type.Literal('deb'),
  }),
]);
const Entry = Type.Object({
  license: Type.String({ minLength: 1, maxLength: 200 }),
  source: Source,
  verified: Type.Optional(Type.Boolean()),
  recommended: Type.Optional(Type.Boolean()),
  features: Type.Optional(Type.Object({ sample_rate: Type.Optional(Type.Integer()), dim: Type.Integer() })),
});
const checkEntry = Compile(Entry);
const checkFile = Compile(Type.Object({ models: Type.Array(Type.Unknown(), { maxItems: MAX_ENTRIES }) }));

const toCatalogModel = (value: unknown): CatalogModel => {
  if (!checkEntry.Check(value)) {
    throw new Error('an entry needs a licence and a source with url, sha256 and archive, or a Debian package');
  }
  const manifest = parseManifest(value);
  const { source, features } = value;
  if ('url' in source && source.archive === 'none' && !isInnerPath(manifest.files.model ?? '')) {
    throw new Error('a bare file needs files.model');
  }
  const { engine: _engine, model_type: _type, demonstration: _demo, library_paths: _paths, ...shown } = manifest;
  return {
    ...shown,
    word_timestamps: manifest.capabilities.word_timestamps,
    verified: value.verified ?? false,
    recommended: value.recommended ?? false,
    source: 'url' in source ? { ...source, size_bytes: source.size_bytes ?? 0 } : source,
    ...(features && { features: { sample_rate: features.sample_rate ?? manifest.sample_rate, dim: features.dim } }),
    manifest,
  } as CatalogModel;
};

/** Checks a catalog's text. An entry that is wrong is left out and named to `onFault`; a wrong file throws. */
export const parseCatalog = (text: string, onFault: (index: number, message: string) => void): CatalogModel[] => {
  const value: unknown = JSON.parse(text);
  if (!checkFile.Check(value)) throw new Error('the catalog is not an object with a list "models"');
  return value.models.flatMap((entry, index) => {
    try {
      return [toCatalogModel(entry)];
    } catch (error) {
      onFault(index, (error as Error).message);
      return [];
    }
  });
};

const readOwn = async (options: CatalogOptions): Promise<string> => {
  const { catalogUrl } = options;
  if (!/^https?:\/\//.test(catalogUrl)) {
    return readFile(catalogUrl.startsWith('file:') ? fileURLToPath(catalogUrl) : catalogUrl, 'utf8');
  }
  return fetchText({
    url: applyMirrors(catalogUrl, options.mirrors),
    maxBytes: MAX_CATALOG_BYTES,
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)]),
    ...(options.proxyEnv && { proxyEnv: options.proxyEnv }),
  });
};

/** Reads the catalogs. An own catalog that cannot be read is a logged problem, never a failed start. */
export const openCatalog = async (options: CatalogOptions): Promise<Catalog> => {
  const { log } = options;
  const onFault = (index: number, message: string): void => log.warn({ index, message }, 'catalog entry left out');
  const builtIn = parseCatalog(await readFile(BUILT_IN, 'utf8'), onFault);
  let own: CatalogModel[] = [];
  let problem: string | undefined;
  if (options.catalogUrl !== '') {
    try {
      own = parseCatalog(await readOwn(options), onFault);
    } catch (error) {
      problem = `The catalog at registry.catalog_url cannot be read: ${(error as Error).message}.`;
      log.warn({ problem }, 'own catalog not read');
    }
  }
  const taken = new Set(own.map((entry) => `${entry.id}@${entry.revision}`));
  const all = [...own, ...builtIn.filter((entry) => !taken.has(`${entry.id}@${entry.revision}`))];
  const newestFirst = all.toSorted((a, b) => b.revision.localeCompare(a.revision, 'en', { numeric: true }));
  return {
    entries: () => all,
    find: (id, revision) =>
      newestFirst.find((entry) => entry.id === id && (revision === undefined || entry.revision === revision)),
    problem,
  };
};
