/** `parley models`: what is installed and can be had, and how it gets here. Works beside a running service. */
import { parseArgs } from 'node:util';
import { createLog } from '@parley/kit/log.ts';
import { NO_METRICS } from '@parley/kit/metrics.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { NO_TRACING } from '@parley/kit/tracing.ts';
import { createMeasures } from '@parley/speech/metrics.ts';
import { type Inspected, inspectFolder } from '@parley/speech/models/inspect.ts';
import { installFolder } from '@parley/speech/models/place.ts';
import { createProbe } from '@parley/speech/models/probe.ts';
import { renderProgress, showProgress } from '@parley/speech/models/progress.ts';
import { proxyEnvOf } from '@parley/speech/models/proxy.ts';
import { SPEECH_SETTINGS, type SpeechSettings } from '@parley/speech/settings.ts';
import { type ModelParts, openModels } from '@parley/speech/start-models.ts';
import type { Command, CommandContext, Output } from '../command.ts';

type Action = (args: readonly string[], context: CommandContext) => Promise<void>;

const USAGE = 'list [--all] | pull ID [--revision R] [--force] | import DIR [--id ID] [--language L,…] | inspect DIR';
const MIB = 2 ** 20;

export const modelsCommand: Command = {
  name: 'models',
  usage: 'list | pull ID | import DIR | inspect DIR',
  summary: 'models of the speech service',
  run: async ([action = '', ...args], context) => {
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!run) throw new Error(`models wants one of: ${USAGE}`);
    await run(args, context);
    return 0;
  },
};

/** Opens the models of the data folder, and closes them when the work is done. */
const withModels = async (
  context: CommandContext,
  work: (parts: ModelParts, settings: SpeechSettings) => Promise<void>,
): Promise<void> => {
  await using stack = new AsyncDisposableStack();
  const settings = readSettings(SPEECH_SETTINGS, { section: 'speech', ...context.line });
  const house = { proxyEnv: proxyEnvOf(context.line.env), measures: createMeasures(NO_METRICS), tracing: NO_TRACING };
  await work(await openModels(settings, createLog('parley', 'error'), stack, house), settings);
};

const list: Action = async (args, context) => {
  const { values } = parseArgs({ args: [...args], options: { all: { type: 'boolean', default: false } } });
  await withModels(context, async ({ models }) => {
    const installed = (await models.list()).map((model) => [
      `${model.id}@${model.revision}`,
      model.streaming ? 'streaming' : model.kind,
      languagesOf(model.languages),
      sizeOf(model.size_bytes),
      model.license,
      [
        model.default ? 'default' : 'installed',
        ...(model.problem === undefined ? [] : [`unusable: ${model.problem}`]),
      ].join(', '),
    ]);
    const entries = (await models.catalog()).filter((entry) => entry.state === 'available');
    const shown = values.all ? entries : entries.filter((entry) => entry.kind === 'asr');
    const available = shown.map((entry) => [
      entry.id,
      entry.streaming ? 'streaming' : entry.kind,
      languagesOf(entry.languages),
      sizeOf(Number(entry.source.size_bytes ?? 0)),
      entry.license,
      'models pull',
    ]);
    writeTable([['MODEL', 'KIND', 'LANGUAGES', 'SIZE', 'LICENCE', 'STATE'], ...installed, ...available], context.out);
  });
};

const pull: Action = async (args, context) => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { revision: { type: 'string' }, force: { type: 'boolean', default: false } },
  });
  const id = onlyOne(positionals, 'the id of a model of the catalog');
  await withModels(context, async ({ catalog, downloads }) => {
    const entry = catalog.find(id, values.revision);
    if (!entry) {
      const named = values.revision === undefined ? id : `${id}@${values.revision}`;
      throw new Error(
        `The catalog has no ${named}. See: models list --all.${catalog.problem ? ` ${catalog.problem}` : ''}`,
      );
    }
    const download = downloads.start(entry, { force: values.force });
    const stop = (): void => download.cancel();
    context.signal.addEventListener('abort', stop, { once: true });
    try {
      if (context.out.isTTY) context.out.write(renderProgress(download.latest()));
      showProgress(download, context.out);
      const model = await download.done;
      context.out.write(
        `${context.out.isTTY ? '\r\x1b[K' : ''}Installed ${model.id}@${model.revision} (${entry.license}).\n`,
      );
    } finally {
      context.signal.removeEventListener('abort', stop);
    }
  });
};

const FOLDER_OPTIONS = {
  id: { type: 'string' },
  revision: { type: 'string' },
  language: { type: 'string' },
  license: { type: 'string' },
} as const;

const readFolder = async (args: readonly string[]): Promise<Inspected & { readonly folder: string }> => {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: FOLDER_OPTIONS });
  const folder = onlyOne(positionals, 'a folder');
  const inspected = await inspectFolder(folder, {
    ...(values.id !== undefined && { id: values.id }),
    ...(values.revision !== undefined && { revision: values.revision }),
    ...(values.license !== undefined && { license: values.license }),
    ...(values.language !== undefined && { languages: values.language.split(',').map((one) => one.trim()) }),
  });
  return { ...inspected, folder };
};

const inspect: Action = async (args, { out }) => {
  const { manifest, described, doubts } = await readFolder(args);
  out.write(`${JSON.stringify(manifest, undefined, 2)}\n`);
  if (!described) process.stderr.write('Guessed: the folder has no model.json.\n');
  for (const doubt of doubts) process.stderr.write(`Not known: ${doubt}\n`);
};

const importFolder: Action = async (args, context) => {
  const { manifest, doubts, folder } = await readFolder(args);
  if (manifest.kind === 'asr' && manifest.languages.length === 0)
    throw new Error('Name its languages: --language en,de');
  await withModels(context, async ({ installed }, settings) => {
    const had = installed.find(manifest.id, manifest.revision);
    if (had && had.problem === undefined) {
      throw new Error(`${manifest.id}@${manifest.revision} is installed already; choose another --id or --revision.`);
    }
    const probe = createProbe(settings.values['asr.engine_start_timeout']);
    const model = await installFolder(folder, manifest, installed, (checked, dir) =>
      probe(checked, dir, context.signal),
    );
    context.out.write(`Installed ${model.id}@${model.revision}.\n`);
    for (const doubt of doubts) process.stderr.write(`Not known: ${doubt}\n`);
  });
};

const ACTIONS: Readonly<Record<string, Action>> = { list, pull, import: importFolder, inspect };

const onlyOne = (positionals: readonly string[], what: string): string => {
  const [only, ...others] = positionals;
  if (only === undefined || others.length > 0) throw new Error(`This needs ${what}, and nothing else.`);
  return only;
};

const MAX_LANGUAGES_SHOWN = 4;
const languagesOf = (languages: readonly string[]): string =>
  languages.length > MAX_LANGUAGES_SHOWN
    ? `${languages.slice(0, MAX_LANGUAGES_SHOWN).join(' ')} +${languages.length - MAX_LANGUAGES_SHOWN}`
    : languages.join(' ');

const sizeOf = (bytes: number): string => (bytes > 0 ? `${Math.max(1, Math.round(bytes / MIB))} MiB` : '');

const writeTable = (rows: readonly (readonly string[])[], out: Output): void => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    out.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd()}\n`,
    );
  }
};
