/** `parley script`: service scripts of the running platform. */
import type { Command, CommandContext } from '../command.ts';
import { INSTALL_USAGE, installScript } from './script-install.ts';

type Action = (args: readonly string[], context: CommandContext) => Promise<void>;

const ACTIONS: Readonly<Record<string, Action>> = { install: installScript };

export const scriptCommand: Command = {
  name: 'script',
  usage: 'install',
  summary: 'service scripts of the running platform',
  run: async ([action = '', ...args], context) => {
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!run) throw new Error(`script wants one of: ${INSTALL_USAGE}`);
    await run(args, context);
    return 0;
  },
};
