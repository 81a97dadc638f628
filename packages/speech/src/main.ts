/** The speech service as a process. */
import { runService } from '@parley/kit/service.ts';
import { SPEECH_SERVICE } from './service.ts';

process.exitCode = await runService(SPEECH_SERVICE);
