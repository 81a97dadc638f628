/**
 * Attached files in a bucket of an S3 service. A file is spooled on our disk first: its key is its checksum, and a
 * service wants to know the size.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '@parley/kit/folder.ts';
import { createToken } from '@parley/kit/ids.ts';
import { openBucket, type S3Bucket, type S3Object, type S3Place } from '@parley/kit/s3.ts';
import { problem } from '../codes.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import { type Files, isOld, namesIn, writeStaged } from './files.ts';

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
    stage: async (at, stream, type) => {
      await makeFolders(spoolDir);
      const spooled = join(spoolDir, createToken(9));
      const facts = await writeStaged(spooled, stream);
      return { ...facts, place: () => use((bucket) => bucket.putFile(keyOf(at, facts.md5), spooled, type)) };
    },
    get: (at, md5) => use((bucket) => bucket.get(keyOf(at, md5))),
    remove: (at, md5) =>
      use(async (bucket) => {
        if (md5 !== undefined) return bucket.remove([keyOf(at, md5)]);
        const found = await bucket.list(`${keyOf(at)}/`);
        return bucket.remove(found.map(({ key }) => key));
      }),
    sweep: async (scope, before, isOrphan, signal) => {
      await sweepSpool(spoolDir, before);
      const find = async (prefix: string): Promise<S3Object[]> =>
        (await use((bucket) => bucket.list(prefix))).filter(({ modifiedMs }) => modifiedMs < before);
      let count = 0;
      for (const { key } of await find(`${keyOf(scope)}/`)) {
        if (signal.aborted) return count;
        const [id, property, md5, ...more] = key.slice(keyOf(scope).length + 1).split('/');
        if (!id || !property || !md5 || more.length > 0) continue;
        if (!(await isOrphan({ ...scope, id, property }, md5))) continue;
        // The same content may have come again since the list was made.
        if (!(await find(key)).some((each) => each.key === key)) continue;
        await use((bucket) => bucket.remove([key]));
        count += 1;
      }
      return count;
    },
  };
};

/** Files that were on their way when the process died; folders in there are others'. */
const sweepSpool = async (spoolDir: string, before: number): Promise<void> => {
  for (const name of await namesIn(spoolDir)) {
    const path = join(spoolDir, name);
    if (await isOld(path, before)) await rm(path, { force: true });
  }
};

const keyOf = ({ domain, classId, id, property }: Parameters<Files['remove']>[0], md5?: string): string =>
  [domain, classId, id, property, md5].filter((part) => part !== undefined).join('/');
