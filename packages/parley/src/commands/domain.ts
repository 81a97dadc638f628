/** `parley domain create`: a new domain of the running platform, with an administrator of its own where one is named. */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Command } from '../command.ts';
import { openPlatformSession } from '../platform-session.ts';

const USAGE = 'create NAME [--admin LOGIN] [--url URL]';

export const domainCommand: Command = {
  name: 'domain',
  usage: USAGE,
  summary: 'makes a domain on the running platform; the password of its administrator is shown once',
  run: async ([action = '', ...args], context) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { admin: { type: 'string' }, url: { type: 'string' } },
    });
    const [name, ...others] = positionals;
    if (action !== 'create' || name === undefined || others.length > 0) throw new Error(`domain wants: ${USAGE}`);
    await using session = await openPlatformSession(context, { url: values.url });
    const made = (await session.ask('POST', 'master/domains', { name })) as { id: string };
    context.out.write(`${made.id}\n`);
    if (values.admin === undefined) return 0;
    await session.ask('PATCH', 'iam/sessions/current', { domain: name });
    const pwd = randomBytes(18).toString('base64url');
    await session.ask('POST', 'iam/users', {
      login: values.admin,
      name: values.admin,
      pwd,
      opts: { roles: ['admin'] },
    });
    context.out.write(`${pwd}\n`);
    return 0;
  },
};
