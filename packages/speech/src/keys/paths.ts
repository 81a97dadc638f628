/** Where keys are kept: the setting's file, else `speech/keys.json` in the data folder; first secrets beside the data. */
import { join, resolve } from 'node:path';

export const keysPathOf = (dataDir: string, keysFile: string): string =>
  resolve(keysFile || join(dataDir, 'speech', 'keys.json'));

export const firstKeysPathOf = (dataDir: string): string => resolve(dataDir, 'first-keys');
