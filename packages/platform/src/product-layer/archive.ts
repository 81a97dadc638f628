/** The archives of layers: found by prefix, hashed, and read member by member. Trusts no member's name. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { extract as tarExtract } from 'tar-stream';
import { type Entry, openPromise as openZip } from 'yauzl';
import { LayerRefused, refuse } from './fault.ts';
import {
  MAX_ARCHIVE_BYTES,
  MAX_DEPTH,
  MAX_ENTRIES,
  MAX_NAME_LENGTH,
  MAX_RATIO,
  MAX_UNPACKED_BYTES,
  RATIO_FREE_BYTES,
} from './limits.ts';

export type Digests = {
  /** In hex. */
  readonly md5: string;
  /** In hex; what is signed. */
  readonly sha512: string;
  readonly sizeBytes: number;
};

/** A file of an archive. `path`: within it, with `/`; never leads out of it. */
export type Member = {
  readonly path: string;
  readonly content: AsyncIterable<Buffer>;
  /** Counts files from 1, folders too. */
  readonly index: number;
};

const ARCHIVE = /\.(?:tar\.gz|tgz|zip)$/;
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;
const S_IFDIR = 0o040000;

/** Compares by code points, as the choice of an archive is defined; UTF-16 units would order some signs otherwise. */
const compareCodePoints = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left, 'utf8'), Buffer.from(right, 'utf8'));

/** Name of the archive with this prefix that is the greatest by code points; undefined when there is none. */
export const findArchive = async (folder: string, prefix: string): Promise<string | undefined> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile() && entry.name.startsWith(prefix) && ARCHIVE.test(entry.name))
    .map(({ name }) => name)
    .sort(compareCodePoints)
    .at(-1);
};

/** Reads the whole archive once. Throws LayerRefused when it is too large or gone. */
export const digestArchive = async (path: string, signal?: AbortSignal): Promise<Digests> => {
  const { size } = await stat(path).catch(() => refuse('the archive is gone'));
  if (size > MAX_ARCHIVE_BYTES) refuse(`the archive is larger than ${MAX_ARCHIVE_BYTES} bytes`);
  const md5 = createHash('md5');
  const sha512 = createHash('sha512');
  for await (const chunk of createReadStream(path, signal ? { signal } : {})) {
    md5.update(chunk as Buffer);
    sha512.update(chunk as Buffer);
  }
  return { md5: md5.digest('hex'), sha512: sha512.digest('hex'), sizeBytes: size };
};

/**
 * The files of an archive in order. Whoever reads them takes each content to its end before the next. Throws LayerRefused
 * for members that are neither files nor folders, names that lead elsewhere or come twice, and too many members or bytes.
 */
export const membersOf = async function* (folder: string, file: string, packedBytes: number): AsyncGenerator<Member> {
  const budget = createBudget(packedBytes);
  try {
    yield* file.endsWith('.zip') ? zipMembers(join(folder, file), budget) : tarMembers(join(folder, file), budget);
  } catch (thrown) {
    if (thrown instanceof LayerRefused) throw thrown;
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (code === 'ABORT_ERR' || (code !== undefined && /^E[A-Z]{2,}$/.test(code))) throw thrown;
    refuse(`the archive cannot be read: ${message.slice(0, 200)}`);
  }
};

type Budget = { member(name: string): string; index(): number; count(chunk: Buffer): void };

const createBudget = (packedBytes: number): Budget => {
  const seen = new Set<string>();
  const mostBytes = Math.min(MAX_UNPACKED_BYTES, Math.max(RATIO_FREE_BYTES, packedBytes * MAX_RATIO));
  let entries = 0;
  let bytes = 0;
  return {
    member: (name) => {
      entries += 1;
      if (entries > MAX_ENTRIES) refuse(`the archive holds more than ${MAX_ENTRIES} members`);
      const path = checkName(name);
      if (path !== '' && seen.has(path)) refuse(`the archive holds ${quoted(name)} twice`);
      seen.add(path);
      return path;
    },
    index: () => entries,
    count: (chunk) => {
      bytes += chunk.length;
      if (bytes > mostBytes) refuse(`the archive unpacks to more than ${mostBytes} bytes`);
    },
  };
};

const quoted = (name: string): string => JSON.stringify(name.slice(0, 80));

const isControl = (sign: string): boolean => sign < ' ' || sign === '\u007f';

/** The path inside the layer, without `./`; empty for the layer itself. */
export const checkName = (name: string): string => {
  if (name.startsWith('/') || name.includes('\\') || [...name].some(isControl) || /^[A-Za-z]:/.test(name)) {
    refuse(`the archive holds a member outside its folder: ${quoted(name)}`);
  }
  const path = name.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '');
  if (path === '' || path === '.') return '';
  const words = path.split('/');
  if (words.some((word) => word === '' || word === '.' || word === '..')) {
    refuse(`the archive holds a member outside its folder: ${quoted(name)}`);
  }
  if (path.length > MAX_NAME_LENGTH || words.length > MAX_DEPTH) {
    refuse(`the archive holds a member with too long a path: ${quoted(name)}`);
  }
  return path;
};

/** What is read is counted before anybody keeps it. */
const counted = async function* (source: AsyncIterable<Buffer>, { count }: Budget): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    count(chunk);
    yield chunk;
  }
};

const tarMembers = async function* (path: string, budget: Budget): AsyncGenerator<Member> {
  const extract = tarExtract();
  const source = createReadStream(path);
  const gunzip = createGunzip();
  const fail = (error: Error): void => {
    extract.destroy(error);
  };
  source.on('error', fail);
  gunzip.on('error', fail);
  source.pipe(gunzip).pipe(extract as unknown as NodeJS.WritableStream);
  // Its own way to be left early would wait for an end that does not come when an entry was given up half-way.
  const entries = extract[Symbol.asyncIterator]();
  try {
    for (let next = await entries.next(); !next.done; next = await entries.next()) {
      const entry = next.value;
      const { name, type } = entry.header;
      const inner = budget.member(name);
      if (type === 'directory') {
        entry.resume();
      } else if (type === 'file' && inner !== '') {
        yield { path: inner, content: counted(entry as AsyncIterable<Buffer>, budget), index: budget.index() };
      } else {
        refuse(`the archive holds a ${type ?? 'nameless member'}: ${quoted(name)}`);
      }
    }
  } finally {
    source.destroy();
    gunzip.destroy();
    extract.destroy();
  }
};

const zipMembers = async function* (path: string, budget: Budget): AsyncGenerator<Member> {
  const zip = await openZip(path, { lazyEntries: true, autoClose: false });
  try {
    if (zip.entryCount > MAX_ENTRIES) refuse(`the archive holds more than ${MAX_ENTRIES} members`);
    for await (const entry of zip.eachEntry()) {
      const inner = budget.member(entry.fileName);
      checkKind(entry);
      if (entry.fileName.endsWith('/')) continue;
      if (inner === '') refuse('the archive holds a nameless member');
      const content = await zip.openReadStreamPromise(entry);
      yield { path: inner, content: counted(content, budget), index: budget.index() };
    }
  } finally {
    zip.close();
  }
};

const checkKind = (entry: Entry): void => {
  const kind = (entry.externalFileAttributes >>> 16) & S_IFMT;
  if (kind !== 0 && kind !== S_IFREG && kind !== S_IFDIR) {
    refuse(`the archive holds a link or device: ${quoted(entry.fileName)}`);
  }
  if (entry.isEncrypted()) refuse('the archive is encrypted');
};
