/** Worker side of unpack.ts: reads tar, tar.gz, tar.bz2 or zip and writes its plain files. Trusts no member's name. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { createGunzip } from 'node:zlib';
import { extract as tarExtract } from 'tar-stream';
import unbzip2 from 'unbzip2-stream';
import { openPromise as openZip } from 'yauzl';
import { isInnerPath } from './manifest.ts';
import type { UnpackJob, UnpackReport } from './unpack.ts';

const MAX_NAME_LENGTH = 300;
const MAX_DEPTH = 12;
const PROGRESS_STEP_BYTES = 4 * 2 ** 20;
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;
const S_IFDIR = 0o040000;

class Refusal extends Error {
  override name = 'Refusal';
}

type Budget = { readonly count: () => void; readonly add: (bytes: number) => void; readonly total: () => number };

const createBudget = (job: UnpackJob, report: (message: UnpackReport) => void): Budget => {
  let entries = 0;
  let bytes = 0;
  let told = 0;
  return {
    count: () => {
      entries += 1;
      if (entries > job.maxEntries) throw new Refusal(`The archive has more than ${job.maxEntries} members.`);
    },
    add: (more) => {
      bytes += more;
      if (bytes > job.maxBytes) throw new Refusal('The archive unpacks to far more than a model holds.');
      if (bytes - told >= PROGRESS_STEP_BYTES) {
        told = bytes;
        report({ type: 'progress', bytes });
      }
    },
    total: () => bytes,
  };
};

/** The member's path inside the folder, without `./`; throws Refusal for what would lead out of it. */
const checkName = (name: string): string => {
  const path = name.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '');
  const told = JSON.stringify(name.slice(0, 80));
  if (path === '' || path === '.') return '';
  if (!isInnerPath(path)) throw new Refusal(`The archive holds a member outside its folder: ${told}.`);
  if (path.length > MAX_NAME_LENGTH || path.split('/').length > MAX_DEPTH) {
    throw new Refusal(`The archive holds a member with too long a path: ${told}.`);
  }
  return path;
};

/** Counts what passes; the count can throw. */
const counted = (budget: Budget): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
      try {
        budget.add(chunk.length);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });

/** Never overwrites: a name that comes twice is an attack or a mistake. No execute bits. */
const writeMember = async (into: string, path: string, source: Readable, budget: Budget): Promise<void> => {
  const target = join(into, path);
  await mkdir(dirname(target), { recursive: true });
  await pipeline(source, counted(budget), createWriteStream(target, { flags: 'wx', mode: 0o644 }));
};

const unpackTar = async (job: UnpackJob, budget: Budget): Promise<void> => {
  const extract = tarExtract();
  const source = createReadStream(job.archive);
  const decoded =
    job.kind === 'tar.gz' ? source.pipe(createGunzip()) : job.kind === 'tar.bz2' ? wrapBzip2(source) : source;
  source.on('error', (error) => extract.destroy(error));
  decoded.on('error', (error: Error) => extract.destroy(new Error(`not readable as ${job.kind} (${error.message})`)));
  decoded.pipe(extract);
  for await (const entry of extract) {
    budget.count();
    const { name, type } = entry.header;
    const path = checkName(name);
    if (type === 'directory') {
      await mkdir(join(job.into, path), { recursive: true });
      entry.resume();
    } else if (type === 'file' && path !== '') {
      await writeMember(job.into, path, Readable.from(entry), budget);
    } else {
      throw new Refusal(`The archive holds a ${type ?? 'nameless member'}: ${JSON.stringify(name.slice(0, 80))}.`);
    }
  }
};

/** unbzip2-stream is an old-style stream; `wrap` gives it back-pressure and an end. */
const wrapBzip2 = (source: Readable): Readable => new Readable().wrap(source.pipe(unbzip2()));

const unpackZip = async (job: UnpackJob, budget: Budget): Promise<void> => {
  const zip = await openZip(job.archive, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of zip.eachEntry()) {
      budget.count();
      const path = checkName(entry.fileName);
      const kind = (entry.externalFileAttributes >>> 16) & S_IFMT;
      if (kind !== 0 && kind !== S_IFREG && kind !== S_IFDIR) {
        throw new Refusal(`The archive holds a link or device: ${JSON.stringify(entry.fileName.slice(0, 80))}.`);
      }
      if (entry.isEncrypted()) throw new Error('it is encrypted');
      if (entry.fileName.endsWith('/')) await mkdir(join(job.into, path), { recursive: true });
      else await writeMember(job.into, path, await zip.openReadStreamPromise(entry), budget);
    }
  } finally {
    zip.close();
  }
};

/** yauzl checks names before we do; its refusals are the same refusal. */
const isNameRefusal = (message: string): boolean =>
  /^(?:absolute path|invalid relative path|invalid characters)/.test(message);

const reportOf = (error: unknown): UnpackReport => {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof Refusal) return { type: 'fault', code: 'hostile_archive', message };
  if (code === 'EEXIST') return { type: 'fault', code: 'hostile_archive', message: 'The archive holds a name twice.' };
  if (isNameRefusal(message))
    return { type: 'fault', code: 'hostile_archive', message: `The archive is refused: ${message.slice(0, 120)}.` };
  // System errors (ENOSPC …) have a short upper-case code; zlib's and the decoders' own do not count as such.
  const system = typeof code === 'string' && /^E[A-Z]{2,}$/.test(code) ? code : undefined;
  return { type: 'failed', code: system, message: message.slice(0, 200) };
};

const run = async (job: UnpackJob, report: (message: UnpackReport) => void): Promise<void> => {
  const budget = createBudget(job, report);
  try {
    await (job.kind === 'zip' ? unpackZip(job, budget) : unpackTar(job, budget));
    report({ type: 'done', bytes: budget.total() });
  } catch (error) {
    report(reportOf(error));
  }
};

if (parentPort) {
  const port = parentPort;
  await run(workerData as UnpackJob, (message) => port.postMessage(message));
}
