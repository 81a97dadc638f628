/** The `parley` command: subcommands, help, exit codes. Documents say `npm start -- …`. */

import { readFileSync } from 'node:fs';
import { readCommandLine } from '@parley/kit/command-line.ts';
import type { Command, CommandContext } from './command.ts';
import { backupCommand, restoreCommand } from './commands/backup.ts';
import { configCommand } from './commands/config.ts';
import { domainCommand } from './commands/domain.ts';
import { evalCommand } from './commands/eval.ts';
import { journalCommand } from './commands/journal.ts';
import { keysCommand } from './commands/keys.ts';
import { layerCommand } from './commands/layer.ts';
import { licenceCommand } from './commands/licence.ts';
import { modelsCommand } from './commands/models.ts';
import { sampleCommand } from './commands/sample.ts';
import { scriptCommand } from './commands/script.ts';
import { platformCommand, speechCommand, startCommand } from './commands/start.ts';
import { userCommand } from './commands/user.ts';
import { refuseUnknownSettings } from './known-settings.ts';

const COMMANDS: readonly Command[] = [
  startCommand,
  speechCommand,
  platformCommand,
  modelsCommand,
  keysCommand,
  sampleCommand,
  evalCommand,
  scriptCommand,
  configCommand,
  licenceCommand,
  layerCommand,
  backupCommand,
  restoreCommand,
  journalCommand,
  domainCommand,
  userCommand,
];

const EXIT_USAGE = 64;

/** Runs one command line and resolves with the exit code: 0 done, 1 failed, 64 not understood. */
export const main = async (argv: readonly string[]): Promise<number> => {
  const controller = new AbortController();
  const onSignal = (): void => controller.abort(new Error('interrupted'));
  process.once('SIGINT', onSignal);
  process.once('SIGTERM', onSignal);
  try {
    const line = readCommandLine(argv);
    refuseUnknownSettings(line);
    return await dispatch(line.rest, { line, out: process.stdout, signal: controller.signal });
  } catch (thrown) {
    process.stderr.write(`parley: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    return 1;
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
};

const dispatch = async (args: readonly string[], context: CommandContext): Promise<number> => {
  const [name = 'start', ...rest] = args;
  if (['help', '--help', '-h'].includes(name)) return answer(context, help());
  if (['version', '--version', '-v'].includes(name)) return answer(context, `${version()}\n`);
  const command = COMMANDS.find((known) => known.name === name);
  if (!command) {
    process.stderr.write(`parley: there is no command ${name}.\n\n${help()}`);
    return EXIT_USAGE;
  }
  return command.run(rest, context);
};

const answer = (context: CommandContext, text: string): number => {
  context.out.write(text);
  return 0;
};

const version = (): string => {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return manifest.version;
};

const help = (): string => {
  const rows = COMMANDS.map((command): [string, string] => [
    `${command.name} ${command.usage}`.trim(),
    command.summary,
  ]);
  const width = Math.max(...rows.map(([call]) => call.length));
  return [
    'Parley: an offline speech recognition server and a platform administration API.',
    '',
    'npm start -- COMMAND',
    '',
    ...rows.map(([call, summary]) => `  ${call.padEnd(width)}  ${summary}`),
    '',
    'With every command: --config FILE  --data-dir DIR  --host ADDRESS  --set KEY=VALUE (docs/settings.md)',
    '',
  ].join('\n');
};
