/** The archive file: written once from a folder, read as a stream, every byte of it checked. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract, pack } from 'tar-stream';
import { type BackupFile, MANIFEST, MANIFEST_SUM, type Manifest, parseManifest } from './manifest.ts';

const FILE_MODE = 0o600;
/** Of the manifest, which has a line for each file. */
const MAX_MANIFEST_BYTES = 1024 * 1024 * 1024;

export type ArchiveSource = { readonly path: string; readonly from: string };

/**
 * Writes the archive beside its place, syncs it and moves it there. `describe` makes the manifest out of what was
 * written. Rejects and leaves nothing when it cannot be written; an archive that is there already is not replaced.
 */
export const writeArchive = async (
  archive: string,
  sources: readonly ArchiveSource[],
  describe: (files: readonly BackupFile[]) => Manifest,
): Promise<Manifest> => {
  const draft = `${archive}.${process.pid}.part`;
  const tar = pack();
  const writing = pipeline(tar, createWriteStream(draft, { mode: FILE_MODE, flags: 'wx' }));
  writing.catch((thrown: Error) => tar.destroy(thrown));
  try {
    const files: BackupFile[] = [];
    for (const source of sources) files.push(await addFile(tar, source, writing));
    const manifest = describe(files);
    const content = `${JSON.stringify(manifest, undefined, 1)}\n`;
    tar.entry({ name: MANIFEST, mode: FILE_MODE }, content);
    tar.entry({ name: MANIFEST_SUM, mode: FILE_MODE }, `${createHash('sha256').update(content).digest('hex')}\n`);
    tar.finalize();
    await writing;
    await syncFile(draft);
    await refuseExisting(archive);
    await rename(draft, archive);
    await syncFile(dirname(archive));
    return manifest;
  } catch (thrown) {
    tar.destroy();
    await writing.catch(() => undefined);
    await rm(draft, { force: true });
    throw thrown;
  }
};

/** Throws an Error when there is something at the path. */
export const refuseExisting = async (path: string): Promise<void> => {
  if (await stat(path).catch(() => undefined)) throw new Error(`${path} is there already.`);
};

const syncFile = async (path: string): Promise<void> => {
  await using file = await open(path, 'r');
  await file.sync();
};

const addFile = async (
  tar: ReturnType<typeof pack>,
  { path, from }: ArchiveSource,
  writing: Promise<void>,
): Promise<BackupFile> => {
  const { size, mtime } = await stat(from);
  const hash = createHash('sha256');
  const entry = tar.entry({ name: path, size, mtime, mode: FILE_MODE });
  const content: AsyncIterable<Buffer> | readonly Buffer[] = size > 0 ? createReadStream(from, { end: size - 1 }) : [];
  for await (const chunk of content) {
    hash.update(chunk);
    // The archive's file may fail while this waits.
    if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), writing]);
  }
  entry.end(undefined);
  return { path, size, sha256: hash.digest('hex') };
};

/** Takes one file of an archive; it must read the stream to its end. */
export type TakeFile = (path: string, content: Readable) => Promise<void>;

/**
 * Reads the whole archive and gives each file to `take`. Resolves with the manifest when every byte is as the manifest
 * says; rejects with an Error in words otherwise, after files may have been taken.
 */
export const readArchive = async (archive: string, take: TakeFile): Promise<Manifest> => {
  const seen = new Map<string, BackupFile>();
  const texts = new Map<string, string>();
  const tar = extract();
  const reading = pipeline(createReadStream(archive), tar);
  reading.catch((thrown: Error) => tar.destroy(thrown));
  try {
    for await (const entry of tar) {
      const { name, type, size = 0 } = entry.header;
      if (type !== 'file' || !isInnerPath(name) || seen.has(name)) throw new Error(`holds ${type} ${name}`);
      if (name === MANIFEST || name === MANIFEST_SUM) {
        if (size > MAX_MANIFEST_BYTES) throw new Error(`${name} is too large`);
        texts.set(name, await text(Readable.from(entry)));
      } else seen.set(name, await takeHashed(name, entry as AsyncIterable<Buffer>, take));
    }
    await reading;
  } catch (cause) {
    await reading.catch(() => undefined);
    throw new Error(`${archive} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return check(archive, seen, texts);
};

const takeHashed = async (path: string, entry: AsyncIterable<Buffer>, take: TakeFile): Promise<BackupFile> => {
  const hash = createHash('sha256');
  let size = 0;
  const counted = async function* () {
    for await (const chunk of entry) {
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
  };
  await take(path, Readable.from(counted()));
  return { path, size, sha256: hash.digest('hex') };
};

const check = (archive: string, seen: Map<string, BackupFile>, texts: ReadonlyMap<string, string>): Manifest => {
  const content = texts.get(MANIFEST);
  const sum = texts.get(MANIFEST_SUM)?.trim();
  if (content === undefined || sum === undefined)
    throw new Error(`${archive} has no end: it was cut off, or is no backup.`);
  const manifest = parseManifest(content);
  if (createHash('sha256').update(content).digest('hex') !== sum)
    throw new Error(`${archive} is damaged: ${MANIFEST}.`);
  for (const { path, size, sha256 } of manifest.files) {
    const found = seen.get(path);
    if (found === undefined) throw new Error(`${archive} is damaged: ${path} is missing.`);
    if (found.size !== size || found.sha256 !== sha256) throw new Error(`${archive} is damaged: ${path} has changed.`);
    seen.delete(path);
  }
  const [extra] = seen.keys();
  if (extra !== undefined) throw new Error(`${archive} is damaged: ${extra} does not belong to it.`);
  return manifest;
};

const isInnerPath = (path: string): boolean =>
  path !== '' && !path.includes('\\') && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

/** Reads a file of an archive without keeping it. */
export const skipFile: TakeFile = async (_path, content) => {
  for await (const _chunk of content);
};

/** Where a file of the archive goes below a folder. */
export const placeBelow = (folder: string, path: string): string => join(folder, ...path.split('/'));
