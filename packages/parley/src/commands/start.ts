/** `parley start | speech | platform`: the services under one supervisor, until a signal or the end of its root node. */
import { aborted } from '@parley/kit/abort.ts';
import { createLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import type { Command, CommandContext } from '../command.ts';
import { checkSupervisorSettings, SUPERVISOR_SETTINGS } from '../settings.ts';
import { SERVICE_MAKERS } from '../supervisor/kinds.ts';
import { createInstalled, createLayerMaker } from '../supervisor/layers.ts';
import type { NodeRecord } from '../supervisor/node-state.ts';
import { startServer } from '../supervisor/server.ts';

const superviseUntilSignal = async (kinds: readonly string[], context: CommandContext): Promise<number> => {
  const { line, out, signal } = context;
  const { values: settings } = readSettings(SUPERVISOR_SETTINGS, { section: 'supervisor', ...line });
  checkSupervisorSettings(settings);
  const onReady = ({ role, index, name, url, restarts }: NodeRecord): void => {
    const shown = index === 1 ? role : name;
    out.write(`${shown.padEnd(9)} ${url}  ready${restarts > 0 ? ' again' : ''}\n`);
  };
  const log = createLog('parley', 'warn');
  const dataDir = settings.data_dir;
  const makers = { ...SERVICE_MAKERS, layer: createLayerMaker(dataDir) };
  const installed = createInstalled(dataDir);
  await using server = await startServer({ settings, line, log, kinds, makers, installed, onReady });
  await Promise.race([aborted(signal), server.ended]);
  return 0;
};

const commandFor = (name: string, summary: string, kinds: readonly string[]): Command => ({
  name,
  usage: '',
  summary,
  run: async (args, context) => {
    if (args.length > 0) throw new Error(`${name} takes no arguments; did you mean --set ${args[0]}?`);
    return superviseUntilSignal(kinds, context);
  },
});

export const startCommand = commandFor('start', 'run both services (the default)', ['platform', 'speech']);
export const speechCommand = commandFor('speech', 'run the speech service alone', ['speech']);
export const platformCommand = commandFor('platform', 'run the platform service alone', ['platform']);
