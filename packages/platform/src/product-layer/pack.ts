/** The maker's side of a layer: a folder with `layer.json` into a signed archive. The same folder gives the same bytes. */
import { createHash, type JsonWebKey } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack as tarPack } from 'tar-stream';
import { digestArchive } from './archive.ts';
import { MANIFEST_FILE, parseManifest } from './manifest.ts';
import { SIGNATURE_SUFFIX, signLayer } from './signature.ts';

export type Packed = { readonly archive: string; readonly signature: string; readonly md5: string };

/** A time for every member, so that the bytes do not depend on when a file was touched. */
const EPOCH = new Date(0);

/**
 * Writes `<name>-<version>.tar.gz` and its `.sig` into a folder. `files` of the manifest are filled in. Throws an Error with
 * one sentence when the folder is no layer or the archive is there already.
 */
export const packLayer = async (folder: string, key: JsonWebKey, into: string): Promise<Packed> => {
  const files = await filesIn(folder);
  const read = JSON.parse(await readFile(join(folder, MANIFEST_FILE), 'utf8')) as Record<string, unknown>;
  const contents = await Promise.all(files.map(async (path) => ({ path, bytes: await readFile(join(folder, path)) })));
  const listed = contents.map(({ path, bytes }) => ({
    path,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }));
  const manifest = `${JSON.stringify({ ...read, files: listed }, null, 2)}\n`;
  const { name, version } = parseManifest(manifest);
  const archive = join(into, `${name}-${version}.tar.gz`);
  const tar = tarPack();
  // The manifest comes first, where it is found without reading the rest.
  for (const { path, bytes } of [{ path: MANIFEST_FILE, bytes: Buffer.from(manifest) }, ...contents]) {
    tar.entry({ name: path, mode: 0o644, mtime: EPOCH }, bytes);
  }
  tar.finalize();
  await pipeline(tar as unknown as NodeJS.ReadableStream, createGzip(), createWriteStream(archive, { flags: 'wx' }));
  const { md5, sha512 } = await digestArchive(archive);
  const signature = `${archive}${SIGNATURE_SUFFIX}`;
  try {
    await writeFile(signature, signLayer(basename(archive), sha512, key));
  } catch (thrown) {
    await rm(archive, { force: true });
    throw thrown;
  }
  return { archive, signature, md5 };
};

/** Every file below, sorted, but the manifest and what begins with a dot. */
const filesIn = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const link = entries.find((entry) => !entry.isFile() && !entry.isDirectory());
  if (link) throw new Error(`${link.name}: a layer holds files and folders only.`);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, '/').length))
    .filter((path) => path !== MANIFEST_FILE && !path.split('/').some((word) => word.startsWith('.')))
    .sort();
};
