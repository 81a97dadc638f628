/**
 * Attached files in a bucket of an S3 service. A file is spooled on our disk first: its key is its checksum, and a
 * service wants to know the size. Above 8 MiB it goes up in parts. Redirects are refused: a service that moved is
 * named anew.
 */
import { openAsBlob } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createToken } from '@parley/kit/ids.ts';
import type { S3mini } from 's3mini';
import { problem } from '../codes.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import { type Files, writeSynced } from './files.ts';

/** Until a service begins to answer; a body on its way may take longer. */
const ANSWER_TIMEOUT_MS = 30_000;
const CHECK_TIMEOUT_MS = 5000;

export type S3Place = {
  readonly endpoint: string;
  readonly region: string;
  readonly keyId: string;
  readonly secretKey: string;
};

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

/** Loaded with the first use: most installations have no such storage. */
const openClient = async ({ endpoint, region, keyId, secretKey }: S3Place, timeoutMs: number): Promise<S3mini> => {
  const { S3mini } = await import('s3mini');
  return new S3mini({
    endpoint,
    region,
    accessKeyId: keyId,
    secretAccessKey: secretKey,
    fetch: createFetch(timeoutMs),
  });
};

/** Gives up on a service that does not begin to answer. */
const createFetch =
  (timeoutMs: number): typeof fetch =>
  async (input, init) => {
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(new Error('no answer in time')), timeoutMs);
    try {
      return await fetch(input, { ...init, redirect: 'error', signal: ending.signal });
    } finally {
      clearTimeout(timer);
    }
  };

/** True when the bucket is there and the key may use it. */
export const reachesS3 = async (place: S3Place): Promise<boolean> => {
  try {
    return await (await openClient(place, CHECK_TIMEOUT_MS)).bucketExists();
  } catch {
    return false;
  }
};

/** Files in the bucket; `spoolDir` takes what is on its way. Faults of the service are 503. */
export const openS3Files = (place: S3Place, spoolDir: string): Files => {
  const use = async <T>(job: (client: S3mini) => Promise<T>): Promise<T> => {
    try {
      return await job(await openClient(place, ANSWER_TIMEOUT_MS));
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
        const blob = await openAsBlob(spooled);
        await use((client) => client.putAnyObject(keyOf(at, md5), blob, type));
        return { name, size, md5, type };
      } finally {
        await rm(spooled, { force: true });
      }
    },
    get: (at, md5) =>
      use(async (client) => {
        const answer = await client.getObjectResponse(keyOf(at, md5));
        return answer?.body ? Readable.fromWeb(answer.body as ReadableStream) : undefined;
      }),
    remove: (at, md5) =>
      use(async (client) => {
        if (md5 !== undefined) {
          await client.deleteObject(keyOf(at, md5));
          return;
        }
        const found = (await client.listObjects('/', `${keyOf(at)}/`)) ?? [];
        await client.deleteObjects(found.map(({ Key }) => Key));
      }),
  };
};

const keyOf = ({ domain, classId, id, property }: Parameters<Files['remove']>[0], md5?: string): string =>
  [domain, classId, id, property, md5].filter((part) => part !== undefined).join('/');
