/** Archives that want more than a layer may: each is refused with its reason, and nothing has changed. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createLayerKey } from '../src/product-layer/signature.ts';
import { cutSecrets } from '../src/product-layer/trace.ts';
import { type Member, membersOf, order, put, toTar, toTarOfFolders, toZip, VENDOR } from './layer-archives.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

describe('hostile layers', () => {
  let outer: string;
  let folder: string;
  let platform: TestPlatform;
  let admin: Client;
  let serial = 0;
  before(async () => {
    outer = await mkdtemp(join(tmpdir(), 'parley-hostile-layers-'));
    folder = await mkdtemp(join(outer, 'site-'));
    platform = await startTestPlatform(undefined, {
      'platform.product.dir': folder,
      'platform.product.vendor_keys': VENDOR.publicKey,
    });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    await rm(outer, { recursive: true, force: true });
  });

  const count = async (path: string): Promise<number> => (await admin.call('GET', `${path}?countonly=true`)).body.count;
  const world = async (): Promise<unknown[]> => [
    await count('domain/roles'),
    await count('design/classes'),
    await count('service/svcscripts'),
    (await readdir(outer)).length,
    (await readdir(folder)).filter((name) => !/\.(?:sig|gz|tgz|zip)$/.test(name)),
  ];
  /** Installs it under a prefix of its own; answers the end of the trace. */
  const refused = async (bytes: Buffer, kind = 'tgz', sign = true): Promise<string> => {
    const earlier = await world();
    serial += 1;
    const prefix = `h${serial}`;
    await put(folder, `${prefix}-1.${kind}`, bytes, sign ? VENDOR : null);
    const { status, trace } = await order(admin, { prefix });
    assert.equal(status, 'failed', trace);
    assert.deepEqual(await world(), earlier);
    assert.equal(trace.includes(folder), false);
    return trace.split('\n').at(-2);
  };
  const good = membersOf({ roles: [{ name: 'evil' }] }, { 'a.txt': 'a' });
  const both = async (members: readonly Member[], reason: RegExp): Promise<void> => {
    assert.match(await refused(await toTar(members)), reason);
    assert.match(await refused(toZip(members), 'zip'), reason);
  };

  it('lead out of their folder', async () => {
    for (const name of [
      '../evil.txt',
      'a/../../evil.txt',
      '/etc/evil.txt',
      'C:/evil.txt',
      'a\\..\\evil.txt',
      'x\u0000y',
    ]) {
      const members = [...good, { name, bytes: 'evil' }];
      if (!name.includes('\u0000'))
        assert.match(await refused(await toTar(members)), /outside its folder|cannot be read/, name);
      assert.match(await refused(toZip(members), 'zip'), /outside its folder|cannot be read/, name);
    }
  });

  it('hold links and devices', async () => {
    for (const [type, linkname] of [
      ['symlink', '/etc'],
      ['link', 'a.txt'],
      ['fifo', ''],
      ['character-device', ''],
    ] as const) {
      assert.match(
        await refused(await toTar([...good, { name: 'evil', type, linkname }])),
        new RegExp(`holds a ${type}`),
      );
    }
    assert.match(
      await refused(toZip([...good, { name: 'evil', bytes: '/etc', mode: 0o120777 }]), 'zip'),
      /link or device/,
    );
    // A file below a link of the same archive.
    const below = [{ name: 'd', type: 'symlink', linkname: outer } as const, { name: 'd/evil.txt', bytes: 'evil' }];
    assert.match(await refused(await toTar([...below, ...good])), /symlink/);
  });

  it('hold a name twice, or too long ones', async () => {
    await both([...good, { name: 'a.txt', bytes: 'b' }], /twice/);
    await both([...good, { name: './a.txt', bytes: 'b' }], /twice|cannot be read/);
    await both([...good, { name: 'layer.json', bytes: '{}' }], /twice/);
    await both([...good, { name: `${'d/'.repeat(20)}f`, bytes: '' }], /too long a path/);
  });

  it('are bombs', async () => {
    const zeros = Buffer.alloc(40 * 2 ** 20);
    const bomb = [{ name: 'zeros', bytes: zeros }, ...good];
    assert.match(await refused(await toTar(bomb)), /unpacks to more than/);
    assert.match(await refused(await toTarOfFolders(good, 100_001)), /more than 100000 members/);
  });

  it('are not what their manifest says', async () => {
    const other = membersOf({ files: [{ path: 'a.txt', sha256: '0'.repeat(64) }] }, { 'a.txt': 'a' });
    await both(other, /does not have the sha256/);
    await both([...good, { name: 'more.txt', bytes: '' }], /not named in layer.json/);
    await both(good.slice(0, 1), /missing from the archive/);
    await both(good.slice(1), /holds no layer.json/);
    await both([{ name: 'layer.json', bytes: '{nope' }], /not usable JSON/);
    await both([{ name: 'layer.json', bytes: '[]' }], /no object/);
    await both([{ name: 'layer.json', bytes: `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}` }], /not usable JSON/);
    for (const manifest of [
      { name: '../x' },
      { name: 7 },
      { version: '' },
      { files: 'all' },
      { files: [{ path: '../a', sha256: '0'.repeat(64) }] },
      { roles: {} },
      { roles: [{ name: 'a' }, { name: 'a' }] },
      { roles: [{ name: 'a', id: '01a2009c-61af-7861-bdfc-bea6f9148baf' }] },
      { hooks: ['rm -rf /'] },
      { service: { module: '../../bin/sh' } },
      { service: { module: 'a.txt' } },
      { webapps: [{ name: 'a', file: '/etc/passwd', roles: [] }] },
    ]) {
      assert.match(
        await refused(await toTar(membersOf(manifest, { 'a.txt': 'a' }))),
        /layer\.json: |outside/,
        JSON.stringify(manifest),
      );
    }
    await both(
      membersOf({ webapps: [{ name: 'a', file: 'a.txt', roles: ['user'] }] }, { 'a.txt': 'no json' }),
      /must be a JSON object/,
    );
  });

  it('bring what a resource refuses', async () => {
    for (const manifest of [
      { roles: [{ name: 'evil', routes: 'all' }] },
      { roles: [{ name: 'evil' }, { name: 'worse', parent_id: 'x' }] },
      { roles: [{ name: 'evil', nonsense: 1 }] },
      { roles: [{ name: 'evil' }], classes: [{ classname: 'no class' }] },
      { roles: [{ name: 'evil' }], svcscripts: [{ code: 'evil', scriptdata: { objects: [{ oId: 1, oType: 999 }] } }] },
      {
        roles: [{ name: 'evil' }],
        svcscripts: [{ code: 'evil', scriptdata: { objects: [{ oId: 1, oType: 101, __proto__x: 1 }] } }],
        webapps: [{ name: 'a', file: 'a.txt', roles: ['nobody'] }],
      },
    ]) {
      await refused(await toTar(membersOf(manifest, { 'a.txt': '{}' })));
    }
    assert.equal((await admin.call('GET', 'domain/roles?filter={"name":"evil"}')).body.length, 0);
  });

  it('cannot be read to their end, or at all', async () => {
    const tar = await toTar([
      ...good,
      { name: 'b.bin', bytes: Buffer.from(Array.from({ length: 50_000 }, (_, n) => (n * 7919) % 251)) },
    ]);
    assert.match(await refused(tar.subarray(0, tar.length / 2)), /cannot be read/);
    assert.match(await refused(tar.subarray(0, 10)), /cannot be read/);
    assert.match(await refused(Buffer.from('no archive')), /cannot be read/);
    assert.match(await refused(Buffer.alloc(0)), /cannot be read|holds no layer/);
    assert.match(await refused(gzipSync(Buffer.from('no tar'.repeat(1000)))), /cannot be read|holds no layer/);
    const zip = toZip(good);
    assert.match(await refused(zip.subarray(0, zip.length - 30), 'zip'), /cannot be read/);
    assert.match(await refused(Buffer.from('PK'), 'zip'), /cannot be read/);
    const broken = Buffer.from(zip);
    broken.writeUInt32LE(0xff_ff_ff, 16 + 2 + 4 + 2);
    await refused(broken, 'zip').catch(() => undefined);
  });

  it('are not signed, or by others, or for another archive', async () => {
    const bytes = await toTar(good);
    assert.match(await refused(bytes, 'tgz', false), /not signed/);
    const sign = async (prefix: string, signature: string): Promise<string> => {
      await put(folder, `${prefix}.tgz`, bytes, null);
      await writeFile(join(folder, `${prefix}.tgz.sig`), signature);
      const { status, trace } = await order(admin, { prefix });
      assert.equal(status, 'failed');
      return trace;
    };
    await put(folder, 's1.tgz', bytes, createLayerKey());
    assert.match((await order(admin, { prefix: 's1' })).trace, /not one of a known vendor/);
    await put(folder, 's2.tgz', bytes);
    const renamed = await readFile(join(folder, 's2.tgz.sig'), 'utf8');
    assert.match(await sign('s3', renamed), /not one of a known vendor/);
    assert.match(await sign('s4', `${VENDOR.publicKey} AAAA\n`), /not one of a known vendor/);
    assert.match(await sign('s5', ''), /not one of a known vendor/);
    assert.match(await sign('s6', 'x'.repeat(100_000)), /no signature/);
    await put(folder, 's7.tgz', await toTar(membersOf({ version: '9' })));
    await writeFile(join(folder, 's7.tgz'), bytes);
    assert.match((await order(admin, { prefix: 's7' })).trace, /not one of a known vendor/);
    assert.deepEqual((await admin.call('GET', 'domain/product_layer?filter={"kind":"current"}')).body, []);
  });

  it('are links in the folder of archives', async () => {
    const bytes = await toTar(good);
    await writeFile(join(outer, 'else.tgz'), bytes);
    await symlink(join(outer, 'else.tgz'), join(folder, 'linked-1.tgz'));
    assert.equal((await admin.call('POST', 'domain/product_layer', { body: { prefix: 'linked' } })).status, 422);
  });
});

describe('the trace of an order', () => {
  it('shows nothing that opens anything', () => {
    const said = cutSecrets(
      'postgres://user:hunter2@db/x password=hunter2 "token":"hunter2", api_key: hunter2 Bearer hunter2 /srv/a/file',
      ['/srv/a'],
    );
    assert.equal(said.includes('hunter2'), false, said);
    assert.match(said, /\.\/file$/);
  });
});
