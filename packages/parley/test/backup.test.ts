/** Backup of a running installation under load, and what comes of it in an empty one; real services, both stores. */
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { openStore } from '@parley/kit/store/open.ts';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import { extract, pack } from 'tar-stream';
import { PARTS, runBackupUnderLoad } from './backup-under-load.ts';
import { runParley } from './run-parley.ts';

const folders: string[] = [];
const makeFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-backup-'));
  folders.push(folder);
  return folder;
};

type TarFiles = readonly (readonly [path: string, content: Buffer])[];

const readTar = async (path: string): Promise<TarFiles> => {
  const files: [string, Buffer][] = [];
  const tar = extract();
  const reading = pipeline(createReadStream(path), tar);
  for await (const entry of tar) files.push([entry.header.name, await buffer(entry)]);
  await reading;
  return files;
};

const writeTar = async (path: string, files: TarFiles): Promise<void> => {
  const tar = pack();
  for (const [name, content] of files) tar.entry({ name }, content);
  tar.finalize();
  await writeFile(path, await buffer(tar));
};

after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

describe('a backup under load', () => {
  it('holds all that was acknowledged, on SQLite', async () => {
    const report = await runBackupUnderLoad({ root: await makeFolder(), kind: 'start', places: ['', ''], seconds: 0 });
    assert.ok(report.acknowledgedBefore > 20, JSON.stringify(report));
    assert.ok(report.attached > 0 && report.rows > 20, JSON.stringify(report));
  });

  it('holds all that was acknowledged, on PostgreSQL', async () => {
    await using postgres = await openPostgresDriver();
    await using from = await postgres.createDatabase();
    await using to = await postgres.createDatabase();
    const places = [from.place, to.place] as const;
    const report = await runBackupUnderLoad({ root: await makeFolder(), kind: 'platform', places, seconds: 0 });
    assert.ok(report.acknowledgedBefore > 20, JSON.stringify(report));
    assert.ok(report.attached > 0 && report.rows > 20, JSON.stringify(report));
  });
});

describe('what a backup does not hold', () => {
  it('is told class by class, with how many files and bytes lie where', async () => {
    const folder = await makeFolder();
    const dataDir = join(folder, 'data');
    await mkdir(dataDir);
    const keep = (classname: string, opts: object) => ({ classname, opts });
    const file = (size: number) => ({ doc: { name: 'a', size, md5: `${size}`.padStart(32, '0'), type: 'text/plain' } });
    const rows: [kind: string, id: string, data: object][] = [
      ['class', 'c1', keep('shop/Photos', { filestorage_instance: 'photos' })],
      ['class', 'c2', keep('shop/Papers', { filestorage_instance: 'auto' })],
      ['class', 'c3', keep('shop/Orders', { storage_instance: 'orders' })],
      ['class', 'c4', keep('shop/Notes', { filestorage_instance: 'near' })],
      ['storage', 's1', { instance: 'photos', type: 's3', params: { bucket: 'b', secretKey: 'never shown' } }],
      ['storage', 's2', { instance: 'orders', type: 'postgresql', params: { host: 'db' } }],
      ['storage', 's3', { instance: 'near', type: 'fs', params: { prefix: 'notes' } }],
      ['model:c1', 'i1', file(10)],
      ['model:c1', 'i2', file(20)],
      ['model:c2', 'i3', file(30)],
      ['model:c4', 'i4', file(40)],
    ];
    await using store = await openStore(join(dataDir, 'platform.sqlite'), createSilentLog());
    await store.commit(
      'sales',
      rows.map(([kind, id, data]) => ({ op: 'put', kind, id, data })),
    );
    const archive = join(folder, 'one.tar');
    const { code, said } = await runParley(['backup', archive], { data_dir: dataDir });
    assert.equal(code, 0, said);
    const lines = said.split('\n').filter((line) => /^(?:Not in it|Was gone)/.test(line));
    assert.deepEqual(lines.sort(), [
      'Not in it: Attached files of shop/Photos (domain sales), in the storage photos (s3): 2, 30 bytes.',
      'Not in it: Items of shop/Orders (domain sales), in the storage orders (postgresql).',
      'Was gone before it could be copied: data/files/sales/c2/i3/doc/00000000000000000000000000000030',
    ]);
    const checked = await runParley(['restore', archive, '--verify'], { data_dir: join(folder, 'new') });
    assert.match(checked.said, /Not in it: Attached files of shop\/Photos/);
  });
});

describe('what cannot be restored', () => {
  let archive = '';
  before(async () => {
    const folder = await makeFolder();
    const dataDir = join(folder, 'data');
    await mkdir(join(dataDir, 'speech'), { recursive: true });
    await writeFile(join(dataDir, 'secret.key'), 'a'.repeat(64));

    await using store = await openStore(join(dataDir, 'platform.sqlite'), createSilentLog());
    await store.commit('a', [{ op: 'put', kind: 'thing', id: '1', data: { name: 'one' } }]);
    archive = join(folder, 'one.tar');
    const { code, said } = await runParley(['backup', archive], { data_dir: dataDir });
    assert.equal(code, 0, said);
    assert.equal((await stat(archive)).mode & 0o777, 0o600);
  });

  const copyOf = async (): Promise<string> => {
    const path = join(await makeFolder(), 'copy.tar');
    await writeFile(path, await readFile(archive));
    return path;
  };
  const refused = async (file: string, words: RegExp, dataDir?: string): Promise<void> => {
    const target = dataDir ?? join(await makeFolder(), 'target');
    const found = await readdir(target).catch(() => []);
    const { code, said } = await runParley(['restore', file], { data_dir: target });
    assert.equal(code, 1, said);
    assert.match(said, words);
    assert.deepEqual(await readdir(target).catch(() => []), found, 'nothing was changed');
  };

  it('is whole as it was written', async () => {
    const { code, said } = await runParley(['restore', archive, '--verify'], { data_dir: await makeFolder() });
    assert.equal(code, 0, said);
    assert.match(said, /is whole/);
  });

  it('is an archive with a byte changed, wherever it is', async () => {
    for (const part of PARTS) {
      const path = await copyOf();
      const bytes = await readFile(path);
      const at = bytes.indexOf(part) + part.length - 2;
      assert.ok(at > 0, part);
      bytes[at]! ^= 1;
      await writeFile(path, bytes);
      await refused(path, /damaged|cannot be read/);
    }
  });

  it('is one cut short, and none at all', async () => {
    const path = await copyOf();
    await truncate(path, (await stat(path)).size - 4096);
    await refused(path, /cut off|cannot be read|damaged/);
    await writeFile(path, 'no archive at all');
    await refused(path, /cannot be read|cut off/);
  });

  it('is one that lacks a file, holds one more, or holds one twice', async () => {
    for (const [name, change, words] of [
      ['lacks', (files: TarFiles) => files.filter(([path]) => path !== 'data/secret.key'), /secret\.key is missing/],
      ['more', (files: TarFiles) => [['data/more', Buffer.from('more')], ...files], /data\/more does not belong to it/],
      ['last', (files: TarFiles) => [...files, ['data/more', Buffer.from('more')]], /data\/more does not belong to it/],
      ['twice', (files: TarFiles) => [files[0]!, ...files], /cannot be read: holds file/],
    ] as const) {
      const path = join(await makeFolder(), `${name}.tar`);
      await writeTar(path, change(await readTar(archive)) as TarFiles);
      await refused(path, words);
    }
  });

  it('is one of a newer program', async () => {
    const path = await copyOf();
    const bytes = await readFile(path);
    const at = bytes.indexOf('"schema": 1');
    bytes.write('"schema": 9', at);
    await writeFile(path, bytes);
    await refused(path, /newer version \(schema 9/);
  });

  it('goes into no folder that holds something, and onto no other kind of store', async () => {
    const target = await makeFolder();
    await writeFile(join(target, 'mine'), 'x');
    await refused(archive, /is not empty/, target);
    const { code, said } = await runParley(['restore', archive], {
      data_dir: join(await makeFolder(), 'target'),
      'storage.url': 'postgres://nobody@127.0.0.1:1/none',
    });
    assert.equal(code, 1);
    assert.match(said, /rows are of SQLite/);
  });

  it('is not written over, and not without an installation', async () => {
    const there = await runParley(['backup', archive], { data_dir: await makeFolder() });
    assert.match(there.said, /is there already/);
    const nothing = await runParley(['backup', join(await makeFolder(), 'x.tar')], { data_dir: await makeFolder() });
    assert.match(nothing.said, /holds no installation/);
    assert.equal(nothing.code, 1);
  });
});
