/** The speech service as something to run: in a process of its own, or as one of several in one. */
import type { Service } from '@parley/kit/service.ts';
import { processEnvironment } from '@parley/kit/settings.ts';
import { SPEECH_SETTINGS } from './settings.ts';

export const SPEECH_SERVICE: Service<typeof SPEECH_SETTINGS> = {
  name: 'speech',
  declaration: SPEECH_SETTINGS,
  logLevel: (values) => values['log.level'],
  // Whoever only supervises the service needs none of its modules.
  start: async (settings, log, signal, { socket }) => {
    const [{ startSpeech }, { proxyEnvOf }] = await Promise.all([import('./start.ts'), import('./models/proxy.ts')]);
    return await startSpeech(settings, log, {
      signal,
      terminal: process.stdout,
      env: processEnvironment(),
      proxyEnv: proxyEnvOf(processEnvironment()),
      socket,
    });
  },
};
