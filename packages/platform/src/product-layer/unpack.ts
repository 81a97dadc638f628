/** From an archive to a checked folder, or to its manifest alone. */
import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { membersOf } from './archive.ts';
import { refuse } from './fault.ts';
import { MANIFEST_WITHIN_BYTES, MANIFEST_WITHIN_MEMBERS, MAX_MANIFEST_BYTES } from './limits.ts';
import { MANIFEST_FILE, type Manifest, parseManifest } from './manifest.ts';

/** A manifest with the SHA-256 of its text in hex. */
export type ReadManifest = { readonly manifest: Manifest; readonly sha256: string };

type Packed = { readonly folder: string; readonly file: string; readonly sizeBytes: number };

const readText = async (content: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > MAX_MANIFEST_BYTES) refuse(`${MANIFEST_FILE} is larger than ${MAX_MANIFEST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const toManifest = (text: string): ReadManifest => ({
  manifest: parseManifest(text),
  sha256: createHash('sha256').update(text).digest('hex'),
});

/** The manifest, which must come early in the archive. Throws LayerRefused. */
export const readManifest = async ({ folder, file, sizeBytes }: Packed): Promise<ReadManifest> => {
  let bytes = 0;
  for await (const { path, content, index } of membersOf(folder, file, sizeBytes)) {
    if (index > MANIFEST_WITHIN_MEMBERS) {
      return refuse(`${MANIFEST_FILE} does not come within the first ${MANIFEST_WITHIN_MEMBERS} members`);
    }
    if (path === MANIFEST_FILE) return toManifest(await readText(content));
    for await (const chunk of content) {
      bytes += chunk.length;
      if (bytes > MANIFEST_WITHIN_BYTES) {
        return refuse(`${MANIFEST_FILE} does not come within the first ${MANIFEST_WITHIN_BYTES} bytes`);
      }
    }
  }
  return refuse(`the archive holds no ${MANIFEST_FILE}`);
};

/** Unpacks into a folder that is there and empty; every file must be in the manifest with its hash. Throws LayerRefused. */
export const unpack = async (packed: Packed, into: string, signal: AbortSignal): Promise<ReadManifest & Weight> => {
  const hashes = new Map<string, string>();
  let found: ReadManifest | undefined;
  let bytes = 0;
  for await (const { path, content } of membersOf(packed.folder, packed.file, packed.sizeBytes)) {
    if (path === MANIFEST_FILE) {
      found = toManifest(await readText(content));
      continue;
    }
    if (found && !found.manifest.files.has(path)) refuse(`${path} is not named in ${MANIFEST_FILE}`);
    const target = join(into, path);
    await mkdir(dirname(target), { recursive: true });
    const kept = await keep(content, target, signal);
    bytes += kept.bytes;
    hashes.set(path, kept.sha256);
  }
  if (!found) return refuse(`the archive holds no ${MANIFEST_FILE}`);
  checkFiles(found.manifest.files, hashes);
  return { ...found, files: hashes.size, bytes };
};

/** Writes a file that is not there yet; its bytes and their SHA-256 in hex. */
const keep = async (
  content: AsyncIterable<Buffer>,
  target: string,
  signal: AbortSignal,
): Promise<{ bytes: number; sha256: string }> => {
  const hash = createHash('sha256');
  const file = await open(target, 'wx', 0o644);
  let bytes = 0;
  try {
    for await (const chunk of content) {
      signal.throwIfAborted();
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
};

type Weight = { readonly files: number; readonly bytes: number };

const checkFiles = (wanted: ReadonlyMap<string, string>, hashes: ReadonlyMap<string, string>): void => {
  for (const path of hashes.keys()) if (!wanted.has(path)) refuse(`${path} is not named in ${MANIFEST_FILE}`);
  for (const [path, sha256] of wanted) {
    const is = hashes.get(path);
    if (is === undefined) refuse(`${path} is missing from the archive`);
    if (is !== sha256) refuse(`${path} does not have the sha256 that ${MANIFEST_FILE} names`);
  }
};
