/** `parley config check`: reads the settings of the services and of their supervisor and prints them without secrets. */
import { printSettings, readSettings } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';
import { stringify } from 'yaml';
import type { Command } from '../command.ts';
import { checkSupervisorSettings, SUPERVISOR_SETTINGS } from '../settings.ts';

export const configCommand: Command = {
  name: 'config',
  usage: 'check',
  summary: 'check the settings and print them without secrets',
  run: async (args, { line, out }) => {
    if (args[0] !== 'check') throw new Error('config knows one word: check.');
    const speech = readSettings(SPEECH_SETTINGS, { section: 'speech', ...line });
    const platform = readSettings(PLATFORM_SETTINGS, { section: 'platform', ...line });
    const supervisor = readSettings(SUPERVISOR_SETTINGS, { section: 'supervisor', ...line });
    checkSupervisorSettings(supervisor.values);
    out.write(
      stringify({
        speech: printSettings(SPEECH_SETTINGS, speech),
        platform: printSettings(PLATFORM_SETTINGS, platform),
        supervisor: printSettings(SUPERVISOR_SETTINGS, supervisor),
      }),
    );
    return 0;
  },
};
