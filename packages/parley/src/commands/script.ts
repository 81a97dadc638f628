/** `parley script`: service scripts of the running platform. */
import type { Command, CommandContext } from '../command.ts';
import { INSTALL_USAGE, installScript } from './script-install.ts';
import { RUN_USAGE, runScript, traceScript } from './script-run.ts';

type Action = (args: readonly string[], context: CommandContext) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  install: async (args, context) => {
    await installScript(args, context);
    return 0;
  },
  run: runScript,
  trace: traceScript,
};

export const scriptCommand: Command = {
  name: 'script',
  usage: 'install | run | trace',
  summary: 'service scripts of the running platform',
  run: async ([action = '', ...args], context) => {
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!run) throw new Error(`script wants one of: ${INSTALL_USAGE} | ${RUN_USAGE}`);
    return run(args, context);
  },
};
