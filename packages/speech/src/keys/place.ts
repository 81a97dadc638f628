/** Where keys are kept: the file the setting names, else PostgreSQL when rows are kept there, else a file of the data folder. */
import { join, resolve } from 'node:path';
import { isPostgres } from '@parley/kit/store/open.ts';

export const keysPathOf = (dataDir: string, keysFile: string): string =>
  resolve(keysFile || join(dataDir, 'speech', 'keys.json'));

/** Whether keys are rows that several processes share. */
export const isShared = (storageUrl: string, keysFile: string): boolean => keysFile === '' && isPostgres(storageUrl);
