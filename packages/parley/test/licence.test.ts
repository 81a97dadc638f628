/** A licence from the vendor's command line into a running platform. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSilentLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import { startPlatform } from '@parley/platform/start.ts';
import type { CommandContext } from '../src/command.ts';
import { licenceCommand } from '../src/commands/licence.ts';

const BIN = fileURLToPath(new URL('../bin/parley.js', import.meta.url));
const PASSWORD = 'Administrator-1';

const parley = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, 'licence', ...args], { encoding: 'utf8' });
  return { status, stdout: stdout.trim(), stderr };
};

/** In this process: what a command throws, the command line says. */
const run = (...args: string[]): Promise<number> =>
  licenceCommand.run(args, {
    line: { flags: {}, rest: [] } as unknown as CommandContext['line'],
    out: { write: () => undefined },
    signal: new AbortController().signal,
  });

describe('parley licence', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-licence-'));
  const file = (name: string, content?: object): string => {
    const path = join(folder, name);
    if (content) writeFileSync(path, JSON.stringify(content));
    return path;
  };
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('makes a key and a licence that an installation takes', async () => {
    const made = parley('keygen', file('vendor.key'));
    assert.equal(made.status, 0, made.stderr);
    assert.match(made.stdout, /^[\w-]{43}$/);
    assert.equal(statSync(file('vendor.key')).mode & 0o777, 0o600);
    assert.equal(parley('keygen', file('vendor.key')).status, 1, 'never over a key that is there');

    const flags = {
      data_dir: join(folder, 'data'),
      'platform.port': '0',
      admin_password: PASSWORD,
      'platform.license.vendor_keys': made.stdout,
    };
    const settings = readSettings(PLATFORM_SETTINGS, { section: 'platform', env: {}, flags });
    await using platform = await startPlatform(settings, createSilentLog());
    const ask = async (method: string, path: string, body?: unknown, token?: string) => {
      const answer = await fetch(`${platform.url}/rest/v1/${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return JSON.parse(await answer.text());
    };
    const session = await ask('POST', 'iam/sessions', { login: 'admin', pwd: PASSWORD, session_type: 'token' });
    const token: string = session.session_token;
    const installation = file('installation.json', await ask('GET', 'master/license/installation', undefined, token));
    const content = file('content.json', { products: 'pbx', dql: { svcscripts: 3 }, sqf: { rec: true } });
    const issued = parley(
      ...['issue', '--key', file('vendor.key'), '--installation', installation, '--content', content],
      ...['--expires', '2099-01-01T00:00:00Z', '--issuer', 'The vendor'],
    );
    assert.equal(issued.status, 0, issued.stderr);
    const taken = await ask('POST', 'master/license', issued.stdout, token);
    assert.deepEqual([taken.products, taken.dql, taken.sqf], ['pbx', { svcscripts: 3 }, { rec: true }]);
    assert.deepEqual([taken.ext.issuer, taken.ext.expires], ['The vendor', '2099-01-01T00:00:00.000Z']);
  });

  it('says what is missing or wrong', async () => {
    const wrong = file('wrong.json', { dql: { svcscripts: 'many' } });
    const key = file('other.key');
    await run('keygen', key);
    const installation = file('some.json', { installation: 'x', key: { kty: 'OKP', crv: 'X25519', x: 'AA' } });
    for (const [args, message] of [
      [[], /licence wants one of/],
      [['keygen'], /name of a new file/],
      [['issue'], /needs --content FILE/],
      [['issue', '--content', wrong], /needs --installation FILE/],
      [['issue', '--content', wrong, '--installation', wrong], /license\/installation/],
      [['issue', '--content', wrong, '--installation', installation, '--key', wrong], /file of licence keygen/],
      [
        ['issue', '--content', wrong, '--installation', installation, '--key', key],
        /dql\.svcscripts: must be a whole number/,
      ],
      [
        ['issue', '--content', wrong, '--installation', installation, '--key', key, '--expires', 'soon'],
        /--expires must be a time/,
      ],
    ] as const) {
      await assert.rejects(run(...args), message);
    }
  });
});
