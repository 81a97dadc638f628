/** `parley sample`: a real recording to try the service with, out of Debian's pocketsphinx-testdata. */
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { createLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { fetchSample } from '@parley/speech/models/sample.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';
import { dataDirOf } from '@parley/speech/start-models.ts';
import type { Command } from '../command.ts';

export const sampleCommand: Command = {
  name: 'sample',
  usage: '[--path]',
  summary: 'fetch a public-domain recording to try',
  run: async (args, { line, out, signal }) => {
    const { values } = parseArgs({ args: [...args], options: { path: { type: 'boolean', default: false } } });
    const dataDir = dataDirOf(readSettings(SPEECH_SETTINGS, { section: 'speech', ...line }));
    const log = createLog('parley', 'error');
    const { path, reference } = await fetchSample(join(dataDir, 'samples'), { dataDir, log, signal });
    const near = relative('.', path);
    const shown = near.startsWith('..') ? path : near;
    out.write(values.path ? `${shown}\n` : `${shown}\n${reference}\n`);
    return 0;
  },
};
