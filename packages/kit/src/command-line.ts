/** The options every command of the house shares: where settings come from, and what is left for the command itself. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { processEnvironment, readSettingsFile } from './settings.ts';

export type CommandLine = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file: Readonly<Record<string, unknown>>;
  /** Settings given by `--set` and the short forms, by full key. */
  readonly flags: Readonly<Record<string, string>>;
  /** The shared options as they were given, to be handed to a child process. */
  readonly shared: readonly string[];
  /** What is not a shared option, in order. */
  readonly rest: readonly string[];
};

const SHORT_FORMS: Readonly<Record<string, string>> = { 'data-dir': 'data_dir', host: 'host' };
const DEFAULT_FILE = 'parley.yaml';

/**
 * Parts shared options (`--config FILE`, `--data-dir DIR`, `--host ADDRESS`, `--set KEY=VALUE`) from the rest, and
 * reads the file. Throws an Error with one sentence when an option or the file cannot be used.
 */
export const readCommandLine = (argv: readonly string[]): CommandLine => {
  const { tokens } = parseArgs({
    args: [...argv],
    options: {
      config: { type: 'string' },
      set: { type: 'string', multiple: true },
      'data-dir': { type: 'string' },
      host: { type: 'string' },
    },
    strict: false,
    tokens: true,
  });
  const flags: Record<string, string> = {};
  const shared: string[] = [];
  const taken = new Set<number>();
  let path: string | undefined;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') break;
    if (token.kind !== 'option' || !['config', 'set', ...Object.keys(SHORT_FORMS)].includes(token.name)) continue;
    if (token.value === undefined) throw new Error(`--${token.name} needs a value.`);
    taken.add(token.index);
    if (!token.inlineValue) taken.add(token.index + 1);
    shared.push(`--${token.name}=${token.value}`);
    if (token.name === 'config') path = token.value;
    else Object.assign(flags, toFlag(token.name, token.value));
  }
  return {
    env: processEnvironment(),
    file: readFile(path ?? processEnvironment().PARLEY_CONFIG),
    flags,
    shared,
    rest: argv.filter((_, index) => !taken.has(index)),
  };
};

const toFlag = (name: string, value: string): Record<string, string> => {
  const key = SHORT_FORMS[name];
  if (key !== undefined) return { [key]: value };
  const at = value.indexOf('=');
  if (at < 1) throw new Error(`--set ${value}: must look like key=value.`);
  return { [value.slice(0, at)]: value.slice(at + 1) };
};

/** A file that was named must be there; the usual one may be missing. */
const readFile = (named: string | undefined): Record<string, unknown> => {
  const path = resolve(named ?? DEFAULT_FILE);
  const file = readSettingsFile(path);
  if (named !== undefined && Object.keys(file).length === 0) throw new Error(`${path} is missing or empty.`);
  return file;
};
