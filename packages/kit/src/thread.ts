/** Starting threads of our own modules. */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** A thread takes the compile cache from its environment only, and needs nothing else of ours. */
const cacheEnvironment = (): Record<string, string> => {
  const cache = getCompileCacheDir();
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
};

/** Starts a thread on a module; its name is the file's. */
export const startThread = (
  module: URL,
  options: Pick<WorkerOptions, 'workerData' | 'resourceLimits' | 'stderr'> = {},
): Worker =>
  new Worker(module, {
    ...options,
    name: module.pathname.replace(/^.*\//, '').replace(/\.ts$/, ''),
    env: cacheEnvironment(),
  });
