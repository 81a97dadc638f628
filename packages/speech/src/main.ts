/** The speech service as a process. */
import { runService } from '@parley/kit/service.ts';
import { SPEECH_SETTINGS } from './settings.ts';
import { startSpeech } from './start.ts';

await runService({ name: 'speech', declaration: SPEECH_SETTINGS, start: startSpeech });
