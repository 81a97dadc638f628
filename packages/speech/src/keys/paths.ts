/** Where keys are kept: the file the setting names, else `speech/keys.json` in the data folder. */
import { join, resolve } from 'node:path';

export const keysPathOf = (dataDir: string, keysFile: string): string =>
  resolve(keysFile || join(dataDir, 'speech', 'keys.json'));
