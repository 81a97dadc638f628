/** The speech service as a process. */
import { runService } from '@parley/kit/service.ts';
import { processEnvironment } from '@parley/kit/settings.ts';
import { proxyEnvOf } from './models/proxy.ts';
import { SPEECH_SETTINGS } from './settings.ts';
import { startSpeech } from './start.ts';

process.exitCode = await runService({
  name: 'speech',
  declaration: SPEECH_SETTINGS,
  logLevel: (values) => values['log.level'],
  start: (settings, log, signal) =>
    startSpeech(settings, log, { signal, terminal: process.stdout, proxyEnv: proxyEnvOf(processEnvironment()) }),
});
