/** Refuses settings that nobody declares: a misspelt key must not be silently without effect. */
import type { CommandLine } from '@parley/kit/command-line.ts';
import type { Declaration } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';
import { SUPERVISOR_SETTINGS } from './settings.ts';

const keysOf = (section: string, declaration: Declaration): string[] =>
  Object.entries(declaration).map(([key, { shared }]) => (shared ? key : `${section}.${key}`));

const KNOWN: ReadonlySet<string> = new Set([
  ...keysOf('speech', SPEECH_SETTINGS),
  ...keysOf('platform', PLATFORM_SETTINGS),
  ...keysOf('supervisor', SUPERVISOR_SETTINGS),
]);

/** Dotted paths of a nested tree down to what is a value; a mapping that is itself a setting counts as one. */
const pathsOf = (tree: Readonly<Record<string, unknown>>, prefix = ''): string[] =>
  Object.entries(tree).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    const isTree = typeof value === 'object' && value !== null && !Array.isArray(value) && !KNOWN.has(path);
    return isTree ? pathsOf(value as Record<string, unknown>, `${path}.`) : [path];
  });

const likely = (key: string): string => {
  const found = [...KNOWN].find((known) => known.endsWith(`.${key}`) || known.replace(/^\w+\./, '') === key);
  return found === undefined ? '' : ` Did you mean ${found}?`;
};

/** Throws an Error that names every key of the flags or the file that no service knows. */
export const refuseUnknownSettings = ({ flags, file }: Pick<CommandLine, 'flags' | 'file'>): void => {
  const unknown = [...Object.keys(flags), ...pathsOf(file)].filter((key) => !KNOWN.has(key));
  if (unknown.length === 0) return;
  throw new Error(unknown.map((key) => `There is no setting ${key}.${likely(key)}`).join('\n'));
};
