/** Attached files in a bucket, on a real S3 service. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import S3rver from '@20minutes/s3rver';
import { openBucket, type S3Bucket } from '@parley/kit/s3.ts';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';

/** The one key pair this service knows. */
const KEYS = { keyId: 'S3RVER', secretKey: 'S3RVER' };
const OCTETS = { 'content-type': 'application/octet-stream' };

describe('files in a bucket', () => {
  let folder: string;
  let service: S3rver;
  let endpoint: string;
  let bucket: S3Bucket;
  let platform: TestPlatform;
  let admin: Client;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-s3-'));
    service = new S3rver({
      directory: folder,
      port: 0,
      address: '127.0.0.1',
      silent: true,
      configureBuckets: [{ name: 'files' }],
    });
    // It checks every signature but that of a list, whose path it reads without the slash at its end.
    service.middleware.unshift((context, next) => {
      service.allowMismatchedSignatures = context.path === '/files/';
      return next();
    });
    endpoint = `http://127.0.0.1:${(await service.run()).port}`;
    bucket = await openBucket({ endpoint: `${endpoint}/files`, region: 'us-east-1', ...KEYS });
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    await storage('s3', { endpoint, bucket: 'files', ...KEYS });
    const made = await createClass('Kept', 's3');
    assert.equal(made.status, 200, made.text);
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    await service?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const storage = async (instance: string, params: object): Promise<void> => {
    const made = await admin.call('POST', 'domain/storages', { body: { instance, type: 's3', params } });
    assert.equal(made.status, 200, made.text);
  };
  const createClass = (classname: string, instance: string): Promise<Answer> =>
    admin.call('POST', 'design/classes', {
      body: {
        classname,
        properties: [{ name: 'doc', data_type: 'attachment' }],
        opts: { filestorage_instance: instance },
      },
    });
  const keys = async (): Promise<string[]> => (await bucket.list('')).map(({ key }) => key);
  const makeItem = async (): Promise<string> => (await admin.call('POST', 'model/Kept', { body: {} })).body.id;
  const put = (id: string, body: string): Promise<Answer> =>
    admin.call('PUT', `model/Kept/${id}/doc`, { body, headers: OCTETS });

  it('go up, come back, are replaced and removed', async () => {
    const id = await makeItem();
    const first = await put(id, 'content');
    assert.equal(first.status, 200, first.text);
    assert.equal(first.body.doc.size, 7);
    assert.deepEqual(
      (await keys()).map((key) => key.split('/').slice(-3)),
      [[id, 'doc', first.body.doc.md5]],
    );
    const read = await admin.call('GET', `model/Kept/${id}/doc`);
    assert.deepEqual([read.status, read.text], [200, 'content']);
    const second = await put(id, 'other');
    assert.equal((await keys()).length, 1, 'the old one is gone');
    assert.equal((await admin.call('GET', `model/Kept/${id}/doc`)).text, 'other');
    assert.equal((await admin.call('DELETE', `model/Kept/${id}/doc`)).status, 204);
    assert.deepEqual([await keys(), second.status], [[], 200]);
    assert.equal((await admin.call('GET', `model/Kept/${id}/doc`)).status, 404);
  });

  it('go up in parts when they are large, byte for byte', async () => {
    const id = await makeItem();
    const bytes = randomBytes(20 * 1024 * 1024 + 5);
    const sent = await fetch(`${platform.url}/rest/v1/model/Kept/${id}/doc`, {
      method: 'PUT',
      headers: { ...admin.headers, ...OCTETS },
      body: bytes,
    });
    assert.equal(sent.status, 200, await sent.text());
    const read = await fetch(`${platform.url}/rest/v1/model/Kept/${id}/doc`, { headers: admin.headers });
    const md5 = (content: Uint8Array): string => createHash('md5').update(content).digest('hex');
    assert.equal(md5(new Uint8Array(await read.arrayBuffer())), md5(bytes));
  });

  it('go with their item', async () => {
    const before = (await keys()).length;
    const id = await makeItem();
    await put(id, 'short-lived');
    assert.equal((await keys()).length, before + 1);
    assert.equal((await admin.call('DELETE', `model/Kept/${id}`)).status, 204);
    assert.equal((await keys()).length, before);
  });

  it('need a bucket that can be reached', async () => {
    await storage('no-bucket', { endpoint, bucket: 'nowhere', ...KEYS });
    await storage('wrong-key', { endpoint, bucket: 'files', keyId: 'S3RVER', secretKey: 'wrong' });
    await storage('no-service', { endpoint: 'http://127.0.0.1:1', bucket: 'files', ...KEYS });
    await storage('no-address', { endpoint: 'ftp://x', bucket: 'files', ...KEYS });
    await storage('unnamed', { endpoint });
    for (const instance of ['no-bucket', 'wrong-key', 'no-service', 'no-address', 'unnamed']) {
      const refused = await createClass(`Far_${instance.replace('-', '_')}`, instance);
      assert.deepEqual(
        [refused.status, refused.body.error_details?.field],
        [422, 'opts.filestorage_instance'],
        instance,
      );
    }
  });

  it('answer 503 while the service is away, and leave nothing behind', async () => {
    const id = await makeItem();
    await put(id, 'there');
    const [own] = (await admin.call('LOOKUP', 'domain/storages', { body: 's3' })).body;
    const move = (params: object) => admin.call('PATCH', `domain/storages/${own}`, { body: { params } });
    await move({ endpoint: 'http://127.0.0.1:1' });
    assert.equal((await admin.call('GET', `model/Kept/${id}/doc`)).status, 503);
    assert.equal((await put(id, 'elsewhere')).status, 503);
    await move({ endpoint });
    assert.equal((await admin.call('GET', `model/Kept/${id}/doc`)).text, 'there');
    assert.deepEqual(await readdir(join(platform.folder, 'spool')), []);
  });
});
