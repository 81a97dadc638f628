/** `parley start | speech | platform`: the services under one supervisor, until a signal. */
import { fileURLToPath } from 'node:url';
import { aborted } from '@parley/kit/abort.ts';
import { createLog } from '@parley/kit/log.ts';
import type { Command, CommandContext } from '../command.ts';
import { type NodeRecord, type NodeSpec, startSupervisor } from '../supervisor.ts';

const MODULES = {
  speech: import.meta.resolve('@parley/speech/main.ts'),
  platform: import.meta.resolve('@parley/platform/main.ts'),
} as const;

type Service = keyof typeof MODULES;

const specOf = (service: Service, context: CommandContext): NodeSpec => ({
  name: service,
  module: fileURLToPath(MODULES[service]),
  args: context.line.shared,
});

const superviseUntilSignal = async (services: readonly Service[], context: CommandContext): Promise<number> => {
  const log = createLog('parley', 'warn');
  const onReady = (record: NodeRecord): void => {
    context.out.write(`${record.name.padEnd(9)} ${record.url}  ready${record.restarts > 0 ? ' again' : ''}\n`);
  };
  const specs = services.map((service) => specOf(service, context));
  await using supervisor = startSupervisor(specs, { log, onReady });
  await Promise.race([aborted(context.signal), supervisor.failed]);
  return 0;
};

const commandFor = (name: string, summary: string, services: readonly Service[]): Command => ({
  name,
  usage: '',
  summary,
  run: async (args, context) => {
    if (args.length > 0) throw new Error(`${name} takes no arguments; did you mean --set ${args[0]}?`);
    return superviseUntilSignal(services, context);
  },
});

export const startCommand = commandFor('start', 'run both services (the default)', ['platform', 'speech']);
export const speechCommand = commandFor('speech', 'run the speech service alone', ['speech']);
export const platformCommand = commandFor('platform', 'run the platform service alone', ['platform']);
