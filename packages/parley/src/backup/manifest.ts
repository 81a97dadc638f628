/**
 * What a backup says of itself. An archive is a tar file: `data/…` (the data folder), `stores/NAME/…` (rows), `spool/…`,
 * `models/…` and `keys/…` where they lie outside the data folder, `parley.yaml`, then `manifest.json` with the size and
 * the SHA-256 of every file before it, last `manifest.sha256`.
 */
import { POSTGRES_SCHEMA } from '@parley/kit/store/postgres-schema.ts';
import { SQLITE_SCHEMA } from '@parley/kit/store/sqlite-schema.ts';
import type { Store } from '@parley/kit/store/store.ts';

export const MANIFEST = 'manifest.json';
export const MANIFEST_SUM = 'manifest.sha256';
const FORMAT = 'parley-backup';
/** Grows when an older program could no longer restore what a newer one wrote. */
const VERSION = 1;

export type BackupFile = { readonly path: string; readonly size: number; readonly sha256: string };

export type SavedStore = {
  readonly name: string;
  readonly driver: Store['driver'];
  readonly schema: number;
  /** The newest sequence number of each domain: the point the backup stands for. */
  readonly seqs: Readonly<Record<string, number>>;
};

export type Manifest = {
  readonly format: typeof FORMAT;
  readonly version: number;
  /** RFC 3339, when the rows were as they are in it. */
  readonly taken_at: string;
  readonly stores: readonly SavedStore[];
  readonly with_models: boolean;
  /** Sentences about what is not in it. */
  readonly elsewhere: readonly string[];
  /** Files that rows name and that were gone before they could be copied. */
  readonly missing: readonly string[];
  readonly files: readonly BackupFile[];
};

export const createManifest = (parts: Omit<Manifest, 'format' | 'version'>): Manifest => ({
  format: FORMAT,
  version: VERSION,
  ...parts,
});

/** Reads a manifest and throws an Error in words for one that this program cannot restore. */
export const parseManifest = (text: string): Manifest => {
  let manifest: Manifest;
  try {
    manifest = JSON.parse(text) as Manifest;
  } catch (cause) {
    throw new Error('The manifest of the archive cannot be read.', { cause });
  }
  if (manifest?.format !== FORMAT || !Array.isArray(manifest.files) || !Array.isArray(manifest.stores)) {
    throw new Error('This is no backup of Parley.');
  }
  if (manifest.version > VERSION) {
    throw new Error(`The archive was written by a newer version (format ${manifest.version}, here ${VERSION}).`);
  }
  for (const { name, driver, schema } of manifest.stores) {
    const known = driver === 'postgres' ? POSTGRES_SCHEMA : SQLITE_SCHEMA;
    if (schema > known) {
      throw new Error(`The rows of ${name} were written by a newer version (schema ${schema}, here ${known}).`);
    }
  }
  return manifest;
};
