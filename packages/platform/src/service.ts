/**
 * The platform as something to run: in a process of its own, or as one of several in one. Its modules are loaded
 * through a compile cache, so that no thread needs the stripper of types or compiles what was compiled before.
 */
import { flushCompileCache } from 'node:module';
import { useCompileCache } from '@parley/kit/compile-cache.ts';
import type { Service } from '@parley/kit/service.ts';
import { processEnvironment } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from './settings.ts';

export const PLATFORM_SERVICE: Service<typeof PLATFORM_SETTINGS> = {
  name: 'platform',
  declaration: PLATFORM_SETTINGS,
  logLevel: (values) => values['log.level'],
  start: async (settings, log, _signal, around) => {
    await useCompileCache(settings.values.data_dir);
    const { startPlatform } = await import('./start.ts');
    const running = await startPlatform(settings, log, { ...around, env: processEnvironment() });
    flushCompileCache();
    return running;
  },
};
