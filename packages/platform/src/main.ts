/** The platform as a process. */
import { runService } from '@parley/kit/service.ts';
import { PLATFORM_SETTINGS } from './settings.ts';
import { startPlatform } from './start.ts';

const exitCode = await runService({
  name: 'platform',
  declaration: PLATFORM_SETTINGS,
  logLevel: (values) => values['log.level'],
  start: startPlatform,
});
process.exit(exitCode);
