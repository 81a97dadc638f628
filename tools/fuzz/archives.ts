/** Archives: of models, unpacked in a thread, and of layers, with the manifests in them. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import { membersOf } from '@parley/platform/product-layer/archive.ts';
import { LayerRefused } from '@parley/platform/product-layer/fault.ts';
import { parseManifest } from '@parley/platform/product-layer/manifest.ts';
import { DownloadFault } from '@parley/speech/models/fault.ts';
import { unpackArchive } from '@parley/speech/models/unpack.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

const TAR_BLOCK = 512;
const NAMES = ['a', 'b/c', '../x', '/x', './a', 'a/../../b'];
/** File, folder, hard link, symbolic link, pipe, device, long name of GNU, extended header. */
const TAR_TYPES = ['0', '0', '0', '5', '1', '2', '6', '3', 'L', 'x'];

/** A member of a ustar archive (POSIX.1-1988): a head with its sum, and the content in whole blocks. */
const memberOf = (name: string, type: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(TAR_BLOCK);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;
  head.write(name, 0, 100);
  head.write(octal(0o644, 8) + octal(0, 8) + octal(0, 8) + octal(content.length, 12) + octal(0, 12), 100);
  head.write(`        ${type}/etc/passwd`, 148);
  head.write('ustar\0' + '00', 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${octal(sum, 7)} `, 148);
  return Buffer.concat([head, content, Buffer.alloc((TAR_BLOCK - (content.length % TAR_BLOCK)) % TAR_BLOCK)]);
};

const tarOf = (random: Random): Buffer => {
  const members = random.list(5, () => {
    const name = random.chance(0.7) ? random.pick(NAMES) : random.text();
    return memberOf(name, random.pick(TAR_TYPES), Buffer.from(random.text()));
  });
  return Buffer.concat([...members, Buffer.alloc(random.chance(0.9) ? 2 * TAR_BLOCK : 0)]);
};

/** A member of a zip without compression (APPNOTE 4.3): its own head with the content, and its line of the directory. */
const zipMember = (name: string, mode: number, content: Buffer, at: number): { local: Buffer; central: Buffer } => {
  const bytes = Buffer.from(name);
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt32LE(crc32(content), 10);
  common.writeUInt32LE(content.length, 14);
  common.writeUInt32LE(content.length, 18);
  common.writeUInt16LE(bytes.length, 22);
  const place = Buffer.alloc(14);
  place.writeUInt32LE((mode << 16) >>> 0, 6);
  place.writeUInt32LE(at, 10);
  return {
    local: Buffer.concat([Buffer.from('PK\x03\x04'), common, bytes, content]),
    central: Buffer.concat([Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, place, bytes]),
  };
};

const FILE_MODES = [0o100644, 0o100644, 0, 0o120777, 0o040755, 0o010644];

const zipOf = (random: Random): Buffer => {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let at = 0;
  for (const name of random.list(5, () => (random.chance(0.7) ? random.pick(NAMES) : random.text()))) {
    const { local, central } = zipMember(name, random.pick(FILE_MODES), Buffer.from(random.text()), at);
    locals.push(local);
    centrals.push(central);
    at += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(centrals.length, 8);
  end.writeUInt16LE(centrals.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...locals, directory, end]);
};

/** A folder, a file in it and a file, as tar.bz2; there is no packer of bzip2 at hand. */
const BZIP2 = Buffer.from(
  'QlpoOTFBWSZTWaoGNoIAALL7hMmAAMBAAe+AACHmRp5gAACASCAAkg2ompMjTQA9CaNH6oEUVPJNBoaaA0NGh+yDXnwuKNT1Ar5tUGsKpfhOBq2jRndGlsG9' +
    'hEJQgJcmXPwUKqh0x742oU3stg0ZzAfecVRUHM77Kq4ixJyC5Q1rIxmpX1rGqydvmKLUVLz2SQZsSfZJ5/twhL+LuSKcKEhVAxtBAA==',
  'base64',
);

type Packed = { readonly kind: 'tar' | 'tar.gz' | 'tar.bz2' | 'zip'; readonly bytes: Buffer };

const packedOf = (random: Random): Packed => {
  const kind = random.pick(['tar', 'tar.gz', 'tar.bz2', 'zip', 'zip'] as const);
  const made = { tar: tarOf, 'tar.gz': (from: Random) => gzipSync(tarOf(from)), 'tar.bz2': () => BZIP2, zip: zipOf };
  return { kind, bytes: made[kind](random) };
};

export const archives: Target = {
  name: 'archive',
  weight: 0.03,
  open: () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
    const archive = join(folder, 'archive');
    const into = join(folder, 'into');
    return {
      run: async (random) => {
        const { kind, bytes } = packedOf(random);
        writeFileSync(archive, random.chance(0.5) ? bytes : random.mutate(bytes));
        mkdirSync(into);
        try {
          await unpackArchive(
            archive,
            into,
            random.chance(0.9) ? kind : random.pick(['zip', 'tar.bz2', 'tar'] as const),
            {
              signal: new AbortController().signal,
            },
          );
        } finally {
          rmSync(into, { recursive: true });
          const left = readdirSync(folder).filter((name) => name !== 'archive');
          // biome-ignore lint/correctness/noUnsafeFinally: what is left outside is worse than a refusal
          if (left.length > 0) throw new Error(`written outside: ${left.join()}`);
        }
      },
      isRefusal: (thrown) => thrown instanceof DownloadFault,
      [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }),
    };
  },
};

const LAYER_WORDS = [
  'name',
  'version',
  'files',
  'roles',
  'svcscripts',
  'classes',
  'webapps',
  'service',
  'module',
  'port',
  'a',
  'a.js',
  'file',
  'path',
  'sha256',
];
const LAYER = {
  name: 'a',
  version: '1',
  files: [{ path: 'a.js', sha256: 'f'.repeat(64) }],
  service: { module: 'a.js', port: 1 },
};

const manifestOf = (random: Random): string => {
  const changes = random.list(3, () => [random.pick(LAYER_WORDS.slice(0, 8)), random.json(LAYER_WORDS)]);
  const text = JSON.stringify({ ...LAYER, ...Object.fromEntries(changes) });
  return random.chance(0.8) ? text : random.mutateText(text);
};

const layerOf = (random: Random): { file: string; bytes: Buffer } => {
  const isZip = random.chance(0.5);
  const tar = tarOf(random);
  const whole = isZip ? zipOf(random) : gzipSync(random.chance(0.5) ? tar : random.mutate(tar));
  return { file: isZip ? 'a.zip' : 'a.tar.gz', bytes: random.chance(0.6) ? whole : random.mutate(whole) };
};

export const layers: Target = {
  name: 'layer',
  weight: 0.5,
  open: () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
    return {
      run: async (random) => {
        if (random.chance(0.5)) return void parseManifest(manifestOf(random));
        const { file, bytes } = layerOf(random);
        writeFileSync(join(folder, file), bytes);
        for await (const { content } of membersOf(folder, file, bytes.length)) for await (const _piece of content);
        return undefined;
      },
      isRefusal: (thrown) => thrown instanceof LayerRefused,
      [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }),
    };
  },
};
