/**
 * The platform as something to run: in a process of its own, or as one of several in one. Its modules are loaded
 * through a compile cache in the data folder, which nobody else can write: from the second start on no thread needs the
 * stripper of types (some 20 MiB each) or compiles what it knows.
 */
import { mkdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import type { Service } from '@parley/kit/service.ts';
import { PLATFORM_SETTINGS } from './settings.ts';

export const PLATFORM_SERVICE: Service<typeof PLATFORM_SETTINGS> = {
  name: 'platform',
  declaration: PLATFORM_SETTINGS,
  logLevel: (values) => values['log.level'],
  start: async (settings, log, _signal, around) => {
    const { data_dir: dataDir } = settings.values;
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    enableCompileCache(join(dataDir, 'compile-cache'));
    const { startPlatform } = await import('./start.ts');
    const running = await startPlatform(settings, log, around);
    flushCompileCache();
    return running;
  },
};
