/** The parley command run to its end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../bin/parley.js', import.meta.url));

export type Ran = { readonly code: number | null; readonly said: string };

/** Settings by full key. `said` holds both outputs. */
export const runParley = async (args: readonly string[], settings: Readonly<Record<string, string>>): Promise<Ran> => {
  const flags = Object.entries(settings).map(([key, value]) => `--set=${key}=${value}`);
  const child = spawn(process.execPath, [BIN, ...args, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, said: out + err };
};
