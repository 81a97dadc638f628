/** Which spool the settings mean: a folder of the data folder, a folder that is shared, or a bucket. */
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBucket, type S3Place } from '@parley/kit/s3.ts';
import type { Spool } from './spool.ts';
import { openBucketSpool } from './spool-bucket.ts';
import { openFolderSpool } from './spool-folder.ts';

export type SpoolSettings = {
  /** `s3://bucket/prefix`, `file:///folder`, a path, or empty for a folder of the data folder. */
  readonly url: string;
  /** Of the S3 service; empty is Amazon's of the region. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly dataDir: string;
};

type SpoolPlace =
  | { readonly kind: 'folder'; readonly dir: string; readonly placeFile?: string }
  | { readonly kind: 'bucket'; readonly bucket: S3Place; readonly prefix: string; readonly name: string };

/** Opens what the settings name. Throws an Error in words for settings that cannot be used, and for a missing bucket. */
export const openSpool = async (settings: SpoolSettings, warn: (thrown: unknown) => void): Promise<Spool> => {
  const place = readSpoolPlace(settings);
  if (place.kind === 'folder') return openFolderSpool(place.dir, place.placeFile);
  const bucket = await openBucket(place.bucket);
  // A service that is away now may be there when the first upload comes; a bucket that is not there will not.
  const isThere = await bucket.exists().catch((thrown: unknown) => {
    warn(thrown);
    return true;
  });
  if (!isThere) throw new Error(`spool.url: the bucket of ${place.name} is not there, or the key may not use it.`);
  const copiesDir = join(settings.dataDir, 'spool', 'copies');
  return openBucketSpool({ bucket, prefix: place.prefix, place: place.name, copiesDir });
};

/** Reads the settings; opens nothing. */
export const readSpoolPlace = (settings: SpoolSettings): SpoolPlace => {
  const { url, dataDir } = settings;
  if (url === '') {
    return { kind: 'folder', dir: join(dataDir, 'spool', 'jobs'), placeFile: join(dataDir, 'speech', 'spool-place') };
  }
  if (url.startsWith('s3://')) return readBucket(settings);
  if (url.startsWith('file://')) return { kind: 'folder', dir: fileURLToPath(url) };
  if (/^[a-z][a-z0-9+.-]*:/i.test(url) && !isAbsolute(url)) {
    throw new Error('spool.url must be s3://bucket/prefix, file:///folder or the path of a folder.');
  }
  return { kind: 'folder', dir: resolve(url) };
};

const readBucket = ({ url, endpoint, region, accessKey, secretKey }: SpoolSettings): SpoolPlace => {
  const { hostname: bucket, pathname, username, search } = new URL(url);
  if (bucket === '') throw new Error('spool.url names no bucket: s3://bucket/prefix.');
  if (username !== '' || search !== '') {
    throw new Error('spool.url has no user and no query; spool.access_key, spool.secret_key and spool.endpoint do.');
  }
  if (accessKey === '' || secretKey === '') throw new Error('spool.access_key and spool.secret_key are needed for S3.');
  const folder = decodeURI(pathname).replaceAll(/^\/+|\/+$/g, '');
  return {
    kind: 'bucket',
    bucket: { endpoint: bucketUrl(bucket, endpoint, region), region, keyId: accessKey, secretKey },
    prefix: folder === '' ? '' : `${folder}/`,
    name: folder === '' ? `s3://${bucket}` : `s3://${bucket}/${folder}`,
  };
};

/** Services of one's own seldom answer to a name for each bucket. */
const bucketUrl = (bucket: string, endpoint: string, region: string): string => {
  if (endpoint === '') return `https://${bucket}.s3.${region}.amazonaws.com`;
  if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint)) throw new Error('spool.endpoint must be http(s)://host.');
  const server = new URL(endpoint);
  server.pathname = `${server.pathname.replace(/\/$/, '')}/${bucket}`;
  return server.href;
};
