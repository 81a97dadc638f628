/** A local HTTP server that plays the catalog's host, and archives as good and bad hosts serve them. For tests. */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { crc32, gzipSync } from 'node:zlib';
import { createSilentLog } from '@parley/kit/log.ts';
import { type Header, pack } from 'tar-stream';
import { type CatalogModel, parseCatalog } from '../src/models/catalog.ts';
import { createDownloads, type DownloadOptions, type Downloads } from '../src/models/download.ts';
import { type Installed, openInstalled } from '../src/models/installed.ts';

/** `sherpa-onnx-thing/model.onnx` ("weights") and `tokens.txt`, as bzip2 makes it. */
export const TAR_BZ2 = Buffer.from(
  'QlpoOTFBWSZTWZiIlKkAAMb9gMuQBABAA/+FBAF2797ABQggAJIMqnqaPU8UNDyhp6mCZHqH6jQbUlGTT1NpHqD1MjagAaB+9fIWamgUrBkBDKJAoylJPsRGitwxUCEwhqzAcrmmRO8ehUtDwHMgJrg8CjbOnEyZyZPEAyD7Apo1RVnJQKGw+kzkv8cikSwxTaa3a0kw0AUNAyaiH4fZWdi07zmfsC48n8ZljgN/kggaC7kinChITERKVIA=',
  'base64',
);

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export type Member = Partial<Header> & { readonly name: string } & { readonly content?: string | Buffer };

const makeTar = async (members: readonly Member[]): Promise<Buffer> => {
  const archive = pack();
  for (const { content = '', ...header } of members) archive.entry(header, content);
  archive.finalize();
  return buffer(archive);
};

export const makeTarGz = async (members: readonly Member[]): Promise<Buffer> => gzipSync(await makeTar(members));

/** A zip of stored members; `mode` goes into the external attributes as Unix has it. */
export const makeZip = (members: readonly { name: string; content: Buffer; mode?: number }[]): Buffer => {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, mode = 0o100644 } of members) {
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(20, 4);
    head.writeUInt32LE(crc32(content), 14);
    head.writeUInt32LE(content.length, 18);
    head.writeUInt32LE(content.length, 22);
    head.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(0x0314, 4);
    entry.writeUInt16LE(20, 6);
    entry.writeUInt32LE(crc32(content), 16);
    entry.writeUInt32LE(content.length, 20);
    entry.writeUInt32LE(content.length, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE((mode << 16) >>> 0, 38);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, Buffer.from(name));
    parts.push(head, Buffer.from(name), content);
    offset += head.length + name.length + content.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
};

export type Host = AsyncDisposable & {
  readonly url: string;
  /** Requests so far, as `path` or `path bytes=…`. */
  readonly asked: readonly string[];
};

export const startHost = async (listener: RequestListener): Promise<Host> => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url}${request.headers.range === undefined ? '' : ` ${request.headers.range}`}`);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

/** Serves the bytes, whole or from where a Range asks. */
export const serve = (bytes: Buffer, request: IncomingMessage, response: ServerResponse): void => {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (from >= bytes.length) {
    response.writeHead(416).end();
    return;
  }
  const rest = bytes.subarray(from);
  const range = from > 0 ? { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {};
  response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length, ...range }).end(rest);
};

/** A catalog entry of a supporting model, which needs no engine to be installed. */
export const makeEntry = (source: Record<string, unknown>, more: Record<string, unknown> = {}): CatalogModel => {
  const entry = {
    id: 'thing',
    revision: '1',
    kind: 'vad',
    family: 'silero',
    languages: ['multi'],
    files: { model: 'model.onnx' },
    license: 'MIT',
    commercial_use: 'yes',
    source,
    ...more,
  };
  const [model] = parseCatalog(JSON.stringify({ models: [entry] }), (_index, message) => {
    throw new Error(message);
  });
  return model!;
};

export type Bench = AsyncDisposable & {
  readonly dataDir: string;
  readonly modelsDir: string;
  readonly installed: Installed;
  readonly downloads: Downloads;
  /** Names in the models folder, the hidden ones too; the folder of partial downloads only when something is in it. */
  left(): Promise<string[]>;
};

/** Downloads into a temporary folder, with no pauses and short limits. */
export const openBench = async (options: Partial<DownloadOptions> = {}): Promise<Bench> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-models-'));
  const modelsDir = join(dataDir, 'models');
  const log = createSilentLog();
  const installed = await openInstalled({ modelsDir, dataDir, log });
  const downloads = createDownloads({
    installed,
    allowDownload: true,
    strictLicense: false,
    mirrors: {},
    concurrency: 2,
    log,
    times: { connectMs: 5000, idleMs: 5000 },
    clock: { now: () => Date.now(), delay: async () => undefined },
    buildDebian: () => Promise.reject(new Error('no Debian here')),
    ...options,
  });
  return {
    dataDir,
    modelsDir,
    installed,
    downloads,
    left: async () => {
      const names = await readdir(modelsDir);
      const parts = await readdir(join(modelsDir, '.downloads')).catch(() => [] as string[]);
      return [...names.filter((name) => name !== '.downloads'), ...parts].sort();
    },
    [Symbol.asyncDispose]: async () => {
      await downloads[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
