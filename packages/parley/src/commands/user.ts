/**
 * `parley user reset`: a new password for an administrator who lost it. It acts on the rows themselves, through the
 * platform's own writer and with its journal, since nobody can sign in; so with SQLite the platform must be stopped.
 */
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeNamedFolder } from '@parley/kit/folder.ts';
import { createLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { isPostgres, openStore } from '@parley/kit/store/open.ts';
import { createSystemCaller } from '@parley/platform/auth/system-caller.ts';
import { openPlatform } from '@parley/platform/platform.ts';
import { readInput } from '@parley/platform/rest/draft.ts';
import { patchEntity } from '@parley/platform/rest/patch.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import type { Command, CommandContext } from '../command.ts';

const USAGE = 'reset [LOGIN] [--domain NAME]';

export const userCommand: Command = {
  name: 'user',
  usage: USAGE,
  summary: 'a new password for a user, shown once (SQLite: with the platform stopped)',
  run: async ([action = '', ...args], context) => {
    if (action !== 'reset') throw new Error(`user wants: ${USAGE}`);
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { domain: { type: 'string' } },
    });
    if (positionals.length > 1) throw new Error(`user wants: ${USAGE}`);
    await reset(context, positionals[0], values.domain);
    return 0;
  },
};

const reset = async ({ line, out }: CommandContext, login: string | undefined, name?: string): Promise<void> => {
  const { values } = readSettings(PLATFORM_SETTINGS, { section: 'platform', ...line });
  const log = createLog('user', 'warn');
  const place = values['storage.url'] || join(values.data_dir, 'platform.sqlite');
  if (!isPostgres(place)) await makeNamedFolder(values['storage.url'] ? 'storage.url' : 'data_dir', dirname(place));
  await using store = await openStore(place, log);
  await using platform = await openPlatform(values, store, log);
  const { engine, resources } = platform;
  const domain = name === undefined ? engine.domains.master : await engine.domains.open(name);
  if (!domain) throw new Error(`There is no domain ${name}.`);
  const who = login ?? values.admin_login;
  const [id] = await domain.read((rows) => rows.find('user', 'login', who));
  if (id === undefined) throw new Error(`There is no user ${who} in ${domain.name}.`);
  const pwd = randomBytes(18).toString('base64url');
  const caller = createSystemCaller(domain, 'user reset');
  await patchEntity(engine, resources.users, { domain, caller, id, input: readInput(resources.users, { pwd }, false) });
  if (out.isTTY) out.write(`The new password of ${who}; it is not shown again:\n`);
  out.write(`${pwd}\n`);
};
