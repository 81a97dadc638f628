/** Files of a process that died between storing one and committing the row that names it. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import S3rver from '@20minutes/s3rver';
import { type Files, MIN_ORPHAN_AGE_MS, openFiles } from '../src/model/files.ts';
import { openS3Files } from '../src/model/s3-files.ts';
import { ADMIN_PASSWORD, startTestPlatform } from './start-test-platform.ts';

const SCOPE = { domain: 'master', classId: 'c' };
const PLACE = { ...SCOPE, id: 'i', property: 'doc' };
const NEVER = new AbortController().signal;

const makeFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'parley-orphans-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
};
const age = (path: string): Promise<void> => {
  const old = new Date(Date.now() - MIN_ORPHAN_AGE_MS - 60_000);
  return utimes(path, old, old);
};
const put = async (files: Files, text: string): Promise<string> => {
  await using staged = await files.stage(PLACE, Readable.from([Buffer.from(text)]), 'text/plain');
  await staged.place();
  return staged.md5;
};

describe('files that no row names', () => {
  it('are removed once they are old, also when half written; young ones and those that are named stay', async () => {
    await using folder = await makeFolder();
    const files = openFiles(folder.path);
    const home = join(folder.path, 'master', 'c', 'i', 'doc');
    const [named, orphan, young] = await Promise.all(['a', 'b', 'c'].map((text) => put(files, text)));
    await writeFile(join(home, '.half'), 'half');
    await writeFile(join(home, '.now'), 'half');
    for (const name of [named!, orphan!, '.half']) await age(join(home, name));
    const before = Date.now() - MIN_ORPHAN_AGE_MS;
    assert.equal(await files.sweep(SCOPE, before, async (_, md5) => md5 !== named!, NEVER), 2);
    assert.deepEqual((await readdir(home)).sort(), ['.now', named!, young!].sort());
    assert.equal(await files.sweep({ ...SCOPE, classId: 'none' }, before, async () => true, NEVER), 0);
  });

  it('stay when the same content is stored anew while they are looked at', async () => {
    await using folder = await makeFolder();
    const files = openFiles(folder.path);
    const md5 = await put(files, 'same');
    const path = join(folder.path, 'master', 'c', 'i', 'doc', md5);
    await age(path);
    const storeAgain = async (): Promise<boolean> => {
      await put(files, 'same');
      return true;
    };
    assert.equal(await files.sweep(SCOPE, Date.now() - MIN_ORPHAN_AGE_MS, storeAgain, NEVER), 0);
    assert.deepEqual(await readdir(join(path, '..')), [md5]);
  });

  it('are removed from a bucket too, and from the spool before it', async () => {
    await using folder = await makeFolder();
    const keys = { keyId: 'S3RVER', secretKey: 'S3RVER' };
    const service = new S3rver({
      directory: join(folder.path, 'bucket'),
      port: 0,
      address: '127.0.0.1',
      silent: true,
      configureBuckets: [{ name: 'files' }],
    });
    service.allowMismatchedSignatures = true;
    const { port } = await service.run();
    try {
      const spool = join(folder.path, 'spool');
      const place = { endpoint: `http://127.0.0.1:${port}/files`, region: 'us-east-1', ...keys };
      const files = openS3Files(place, spool);
      const [named, orphan] = await Promise.all(['a', 'b'].map((text) => put(files, text)));
      await mkdir(join(spool, 'jobs'));
      await writeFile(join(spool, 'left'), 'half');
      for (const name of ['jobs', 'left']) await age(join(spool, name));
      const isOrphan = async (_: unknown, md5: string): Promise<boolean> => md5 !== named!;
      assert.equal(await files.sweep(SCOPE, Date.now() - MIN_ORPHAN_AGE_MS, isOrphan, NEVER), 0, 'too young');
      assert.deepEqual(await readdir(spool), ['jobs']);
      // An object cannot be made older; so all of them are old from an hour later on.
      assert.equal(await files.sweep(SCOPE, Date.now() + 3_600_000, isOrphan, NEVER), 1);
      assert.ok(await files.get(PLACE, named!));
      assert.equal(await files.get(PLACE, orphan!), undefined);
    } finally {
      await service.close();
    }
  });

  it('are swept when the platform starts, but not those of items that are not there', async () => {
    await using folder = await makeFolder();
    let home: string;
    let classHome: string;
    let named: string;
    {
      await using platform = await startTestPlatform(undefined, { data_dir: folder.path });
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      const body = { classname: 'Kept', properties: [{ name: 'doc', data_type: 'attachment' }] };
      const { id: classId } = (await admin.call('POST', 'design/classes', { body })).body;
      const { id } = (await admin.call('POST', 'model/Kept', { body: {} })).body;
      const headers = { 'content-type': 'application/octet-stream' };
      named = (await admin.call('PUT', `model/Kept/${id}/doc`, { body: 'kept', headers })).body.doc.md5;
      classHome = join(folder.path, 'files', 'master', classId);
      home = join(classHome, id, 'doc');
    }
    const lost = join(classHome, crypto.randomUUID(), 'doc');
    await mkdir(lost, { recursive: true });
    for (const path of [join(home, 'orphan'), join(lost, 'elsewhere')]) await writeFile(path, 'left');
    for (const path of [join(home, named), join(home, 'orphan'), join(lost, 'elsewhere')]) await age(path);
    await using _platform = await startTestPlatform(undefined, { data_dir: folder.path });
    while ((await readdir(home)).length > 1) await new Promise(setImmediate);
    assert.deepEqual([await readdir(home), await readdir(lost)], [[named], ['elsewhere']]);
  });
});
