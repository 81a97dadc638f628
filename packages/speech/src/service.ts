/** The speech service as something to run: in a process of its own, or as one of several in one. */
import type { Service } from '@parley/kit/service.ts';
import { processEnvironment } from '@parley/kit/settings.ts';
import { proxyEnvOf } from './models/proxy.ts';
import { SPEECH_SETTINGS } from './settings.ts';
import { startSpeech } from './start.ts';

export const SPEECH_SERVICE: Service<typeof SPEECH_SETTINGS> = {
  name: 'speech',
  declaration: SPEECH_SETTINGS,
  logLevel: (values) => values['log.level'],
  start: (settings, log, signal) =>
    startSpeech(settings, log, { signal, terminal: process.stdout, proxyEnv: proxyEnvOf(processEnvironment()) }),
};
