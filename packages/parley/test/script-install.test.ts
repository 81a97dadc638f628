/** `parley script install` against a running platform: one command, and the scenario asks. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import { type RunningPlatform, startPlatform } from '@parley/platform/start.ts';
import type { CommandContext } from '../src/command.ts';
import { scriptCommand } from '../src/commands/script.ts';

describe('parley script install', () => {
  let folder: string;
  let platform: RunningPlatform;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-script-'));
    const flags = { data_dir: folder, 'platform.port': '0' };
    const settings = readSettings(PLATFORM_SETTINGS, { section: 'platform', env: {}, flags });
    platform = await startPlatform(settings, createSilentLog());
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const run = async (args: readonly string[], flags: Readonly<Record<string, string>> = {}): Promise<string> => {
    let said = '';
    const context: CommandContext = {
      line: { env: {}, file: {}, flags: { data_dir: folder, ...flags }, shared: [], rest: args },
      out: { write: (text) => (said += text) },
      signal: new AbortController().signal,
    };
    assert.equal(await scriptCommand.run(args, context), 0);
    return said;
  };
  const here = () => ({ 'platform.port': String(platform.port) });

  it('needs nothing but the name: the first password lies in the data folder', async () => {
    const external = `${platform.url}/rest/v1/iam/external`;
    assert.equal((await fetch(external)).status, 404);
    const said = await run(['install', 'sign-in-with-code'], here());
    assert.ok(said.includes(external), said);
    const { fields } = (await (await fetch(external)).json()) as { fields: { name: string }[] };
    assert.deepEqual(
      fields.map(({ name }) => name),
      ['step', 'ctx', 'message', 'domain', 'login', 'pwd'],
    );
  });

  it('installs nothing twice unless it is told to', async () => {
    await assert.rejects(run(['install', 'sign-in-with-code'], here()), /already; --replace/);
    await run(['install', 'sign-in-with-code', '--replace', '--url', `${platform.url}/`]);
    await run(['install', 'oauth-accounts'], here());
  });

  it('says what there is, and what is wrong', async () => {
    assert.match(await run(['install'], here()), /^sign-in-with-code\n +Login/);
    await assert.rejects(run(['install', 'nothing'], here()), /knows sign-in-with-code, oauth-accounts/);
    await assert.rejects(run(['nothing'], here()), /wants one of: install/);
    await assert.rejects(run(['install', 'oauth-accounts', '--login', 'somebody'], here()), /PARLEY_ADMIN_PASSWORD/);
    const wrong = { ...here(), admin_password: 'wrong' };
    await assert.rejects(run(['install', 'oauth-accounts'], wrong), /did not let "admin" in/);
    await assert.rejects(run(['install', 'oauth-accounts', '--url', 'http://127.0.0.1:1']), /does not answer/);
    await assert.rejects(run(['install', 'oauth-accounts', '--domain', 'nowhere'], here()), /Access denied/);
  });
});
