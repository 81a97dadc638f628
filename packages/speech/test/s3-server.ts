/** A real S3 service on a temporary folder, for spools in a bucket. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import { openBucket, type S3Bucket } from '@parley/kit/s3.ts';

const NAME = 'uploads';
/** The one key pair this service knows. */
const KEY = 'S3RVER';

export type S3Server = AsyncDisposable & {
  /** Settings of a speech service whose uploads lie in the bucket, under a prefix. */
  readonly settings: Readonly<Record<string, string>>;
  readonly bucket: S3Bucket;
  stop(): Promise<void>;
  /** Serves the same folder at the same address again. */
  start(): Promise<void>;
};

const createService = (directory: string, port: number): S3rver => {
  const service = new S3rver({
    directory,
    port,
    address: '127.0.0.1',
    silent: true,
    configureBuckets: [{ name: NAME }],
  });
  // It checks every signature but that of a list, whose path it reads without the slash at its end.
  service.middleware.unshift((context, next) => {
    service.allowMismatchedSignatures = context.path === `/${NAME}/`;
    return next();
  });
  return service;
};

export const startS3 = async (): Promise<S3Server> => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-s3-'));
  let service: S3rver | undefined = createService(folder, 0);
  const { port } = await service.run();
  const endpoint = `http://127.0.0.1:${port}`;
  const place = { endpoint: `${endpoint}/${NAME}`, region: 'us-east-1', keyId: KEY, secretKey: KEY };
  const stop = async (): Promise<void> => {
    await service?.close();
    service = undefined;
  };
  return {
    settings: {
      'spool.url': `s3://${NAME}/speech`,
      'spool.endpoint': endpoint,
      'spool.access_key': KEY,
      'spool.secret_key': KEY,
    },
    bucket: await openBucket(place),
    stop,
    start: async () => {
      service = createService(folder, port);
      await service.run();
    },
    [Symbol.asyncDispose]: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
