/** `parley script install`: puts a ready script into the running platform and to work. */
import { parseArgs } from 'node:util';
import { SAMPLES } from '@parley/platform/scripts/samples/all.ts';
import type { Sample } from '@parley/platform/scripts/samples/sample.ts';
import type { CommandContext, Output } from '../command.ts';
import { messageOf, openPlatformSession, type PlatformSession } from '../platform-session.ts';

export const INSTALL_USAGE = 'install NAME [--domain NAME] [--replace] [--url URL] [--login NAME]';

const SCRIPTS = 'service/svcscripts';

/** Installs the sample its first argument names; without one, shows which there are. */
export const installScript = async (args: readonly string[], context: CommandContext): Promise<void> => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      domain: { type: 'string' },
      replace: { type: 'boolean', default: false },
      url: { type: 'string' },
      login: { type: 'string' },
    },
  });
  const [name, ...others] = positionals;
  if (name === undefined) return showSamples(context.out);
  const sample = SAMPLES.find((each) => each.name === name);
  if (!sample || others.length > 0) {
    throw new Error(`script install knows ${SAMPLES.map((each) => each.name).join(', ')}.`);
  }
  const { domain, url, login } = values;
  await using session = await openPlatformSession(context, { domain, url, login });
  await install(session, sample, values.replace);
  report(context.out, session, sample);
};

const showSamples = (out: Output): void => {
  for (const { name, title } of SAMPLES) out.write(`${name}\n    ${title}\n`);
};

const install = async (session: PlatformSession, { body, setting }: Sample, replaces: boolean): Promise<void> => {
  const made = await session.call('POST', SCRIPTS, body);
  if (made.status === 409) {
    if (!replaces) throw new Error(`There is a script ${body.code} already; --replace makes it new.`);
    const filter = encodeURIComponent(JSON.stringify({ code: [body.code] }));
    const [known] = (await session.ask('GET', `${SCRIPTS}?filter=${filter}&mask=id`)) as { id: string }[];
    await session.ask('PUT', `${SCRIPTS}/${known?.id}`, body);
  } else if (made.status >= 300) {
    throw new Error(messageOf(made));
  }
  await session.ask('PATCH', `domain/settings/${setting}`, { value: { value: body.code } });
};

const report = (out: Output, { url }: PlatformSession, { name, body, setting, hints, begins }: Sample): void => {
  out.write(`${name} is in place: script ${body.code}, setting ${setting}. It begins at ${url}${begins}\n`);
  for (const hint of hints) out.write(`  ${hint}\n`);
};
