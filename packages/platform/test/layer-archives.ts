/** Archives of layers as a vendor packs them, and as an attacker would. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { createLayerKey, type LayerKey, signLayer } from '../src/product-layer/signature.ts';
import type { Client } from './start-test-platform.ts';

export const VENDOR: LayerKey = createLayerKey();

export type Member = { readonly name: string; readonly bytes?: Buffer | string } & Partial<Omit<Header, 'name'>>;

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

/** The manifest with the hashes of these files, and the files. */
export const membersOf = (manifest: object, files: Readonly<Record<string, string>> = {}): Member[] => {
  const listed = Object.entries(files).map(([path, text]) => ({ path, sha256: sha256(text) }));
  const text = JSON.stringify({ name: 'shop', version: '1.0.0', files: listed, ...manifest });
  return [{ name: 'layer.json', bytes: text }, ...Object.entries(files).map(([name, bytes]) => ({ name, bytes }))];
};

export const toTar = async (members: readonly Member[]): Promise<Buffer> => {
  const tar = pack();
  for (const { bytes = '', ...header } of members) tar.entry(header, bytes);
  tar.finalize();
  return gzipSync(await buffer(tar as unknown as NodeJS.ReadableStream));
};

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;

/** A tar.gz of these and many empty folders (ustar headers, POSIX.1-1988). */
export const toTarOfFolders = async (members: readonly Member[], count: number): Promise<Buffer> => {
  const headers = Buffer.alloc(count * 512 + 1024);
  for (let n = 0; n < count; n++) {
    const header = headers.subarray(n * 512, n * 512 + 512);
    header.write(`d${n}/`, 0);
    header.write(`${octal(0o755, 7)}${octal(0, 7)}${octal(0, 7)}${octal(0, 11)}${octal(0, 11)}`, 100);
    header.write('        5', 148);
    header.write('ustar\u000000', 257);
    header.write(
      `${octal(
        header.reduce((sum, byte) => sum + byte, 0),
        6,
      )} `,
      148,
    );
  }
  const first = gunzipSync(await toTar(members)).subarray(0, -1024);
  return gzipSync(Buffer.concat([first, headers]), { level: 1 });
};

/** A zip of stored members (APPNOTE.TXT 4.3). `mode`: Unix mode with its kind. */
export const toZip = (members: readonly Member[]): Buffer => {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes = '', mode = 0o100644 } of members) {
    const data = Buffer.from(bytes);
    const title = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(title.length, 22);
    const local = Buffer.concat([Buffer.from('504b0304', 'hex'), common, title, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((mode << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    // Version made by: 3 is Unix.
    centrals.push(Buffer.concat([Buffer.from('504b01021403', 'hex'), common, tail, title]));
    locals.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.write('504b0506', 'hex');
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, central, end]);
};

/** Writes an archive and, with a key, its signature. */
export const put = async (
  folder: string,
  file: string,
  bytes: Buffer,
  key: LayerKey | null = VENDOR,
): Promise<void> => {
  await writeFile(join(folder, file), bytes);
  const sha512 = createHash('sha512').update(bytes).digest('hex');
  if (key) await writeFile(join(folder, `${file}.sig`), signLayer(file, sha512, key.privateKey));
};

// biome-ignore lint/suspicious/noExplicitAny: what came back is what the test looks into
type Item = any;

/** Orders, and answers the attempt when it is through. */
export const order = async (client: Client, body: object): Promise<Item> => {
  const { status, body: registered, text } = await client.call('POST', 'domain/product_layer', { body });
  if (status !== 200) throw new Error(`order answered ${status} ${text}`);
  const query = `filter=${encodeURIComponent(JSON.stringify({ kind: 'attempt', prefix: registered.prefix }))}`;
  while (true) {
    const [attempt] = (await client.call('GET', `domain/product_layer?${query}`)).body;
    if (attempt.order >= registered.order && attempt.status !== 'registered') return attempt;
  }
};
