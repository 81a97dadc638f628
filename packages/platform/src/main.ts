/** The platform as a process. */
import { runService } from '@parley/kit/service.ts';
import { PLATFORM_SERVICE } from './service.ts';

process.exit(await runService(PLATFORM_SERVICE));
