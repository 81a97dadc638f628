/**
 * Attached files in a bucket of an S3 service. A file is spooled on our disk first: its key is its checksum, and a
 * service wants to know the size.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createToken } from '@parley/kit/ids.ts';
import { openBucket, type S3Bucket, type S3Place } from '@parley/kit/s3.ts';
import { problem } from '../codes.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import { type Files, writeSynced } from './files.ts';

const CHECK_TIMEOUT_MS = 5000;

/** What the params of a storage of type `s3` say; undefined where they name no bucket. */
export const s3PlaceOf = (params: Json, secrets: SecretBox): S3Place | undefined => {
  const text = (name: string): string => (typeof params[name] === 'string' ? params[name] : '');
  const region = text('region') || 'us-east-1';
  const bucket = text('bucket');
  const given = text('endpoint');
  const server = URL.parse(given === '' || given.includes('://') ? given || awsOf(region) : `https://${given}`);
  if (bucket === '' || !server || !/^https?:$/.test(server.protocol)) return undefined;
  // Services of one's own seldom answer to a name for each bucket.
  if (params.pathStyle ?? given !== '') server.pathname = `${server.pathname.replace(/\/$/, '')}/${bucket}`;
  else server.hostname = `${bucket}.${server.hostname}`;
  const sealed = text('secretKey');
  const secretKey = secrets.isSealed(sealed) ? secrets.open(sealed) : sealed;
  return { endpoint: server.href, region, keyId: text('keyId'), secretKey };
};

const awsOf = (region: string): string => `https://s3.${region}.amazonaws.com`;

/** The params of a storage of type `s3` of the domain, by its key. */
export const s3ParamsOf = (domain: Domain, instance: string): Json | undefined => {
  const [id] = domain.find('storage', 'instance', instance);
  const storage: Entity | undefined = id === undefined ? undefined : domain.get('storage', id);
  return storage?.type === 's3' && isObject(storage.params) ? storage.params : undefined;
};

/** True when the bucket is there and the key may use it. */
export const reachesS3 = async (place: S3Place): Promise<boolean> => {
  try {
    return await (await openBucket(place, CHECK_TIMEOUT_MS)).exists();
  } catch {
    return false;
  }
};

/** Files in the bucket; `spoolDir` takes what is on its way. Faults of the service are 503. */
export const openS3Files = (place: S3Place, spoolDir: string): Files => {
  const use = async <T>(job: (bucket: S3Bucket) => Promise<T>): Promise<T> => {
    try {
      return await job(await openBucket(place));
    } catch (cause) {
      throw problem('unavailable', { message: 'The file storage of this class cannot be reached', cause });
    }
  };
  return {
    put: async (at, stream, { name, type }) => {
      await mkdir(spoolDir, { recursive: true, mode: 0o700 });
      const spooled = join(spoolDir, createToken(9));
      try {
        const { size, md5 } = await writeSynced(spooled, stream);
        await use((bucket) => bucket.putFile(keyOf(at, md5), spooled, type));
        return { name, size, md5, type };
      } finally {
        await rm(spooled, { force: true });
      }
    },
    get: (at, md5) => use((bucket) => bucket.get(keyOf(at, md5))),
    remove: (at, md5) =>
      use(async (bucket) => {
        if (md5 !== undefined) return bucket.remove([keyOf(at, md5)]);
        const found = await bucket.list(`${keyOf(at)}/`);
        return bucket.remove(found.map(({ key }) => key));
      }),
  };
};

const keyOf = ({ domain, classId, id, property }: Parameters<Files['remove']>[0], md5?: string): string =>
  [domain, classId, id, property, md5].filter((part) => part !== undefined).join('/');
