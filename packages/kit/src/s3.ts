/**
 * Buckets of S3 services. Bodies come from files and go up in parts of 8 MiB when they are large, so that memory does
 * not grow with them. Redirects are refused: a service that moved is named anew.
 */
import { openAsBlob } from 'node:fs';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { S3mini } from 's3mini';

/** `endpoint` is the bucket's own address: `https://host/bucket` or `https://bucket.host`. */
export type S3Place = {
  readonly endpoint: string;
  readonly region: string;
  readonly keyId: string;
  readonly secretKey: string;
};

export type S3Object = { readonly key: string; readonly modifiedMs: number };

/** Every member rejects with an Error when the service cannot be reached or refuses. */
export type S3Bucket = {
  /** True when the bucket is there and the key may use it. */
  exists(): Promise<boolean>;
  putFile(key: string, path: string, type?: string): Promise<void>;
  /** The object's bytes; undefined when there is no such object. */
  get(key: string): Promise<Readable | undefined>;
  /** Idempotent. */
  remove(keys: readonly string[]): Promise<void>;
  /** Everything whose key begins with the prefix. */
  list(prefix: string): Promise<S3Object[]>;
};

/** Until a service answers a request, whose body is a part at most. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Opens nothing by itself. The client is loaded now, since most installations have no bucket. */
export const openBucket = async (place: S3Place, timeoutMs = ANSWER_TIMEOUT_MS): Promise<S3Bucket> => {
  const { S3mini: Client } = await import('s3mini');
  const client: S3mini = new Client({
    endpoint: place.endpoint,
    region: place.region,
    accessKeyId: place.keyId,
    secretAccessKey: place.secretKey,
    fetch: createFetch(timeoutMs),
  });
  return {
    exists: () => client.bucketExists(),
    putFile: async (key, path, type) => {
      await client.putAnyObject(key, await openAsBlob(path), type);
    },
    get: async (key) => {
      const answer = await client.getObjectResponse(key);
      return answer?.body ? Readable.fromWeb(answer.body as ReadableStream) : undefined;
    },
    remove: async (keys) => {
      const [only] = keys;
      if (keys.length === 1 && only !== undefined) await client.deleteObject(only);
      else if (keys.length > 1) await client.deleteObjects([...keys]);
    },
    list: async (prefix) =>
      ((await client.listObjects('/', prefix)) ?? []).map(({ Key, LastModified }) => ({
        key: Key,
        modifiedMs: new Date(LastModified).getTime(),
      })),
  };
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
