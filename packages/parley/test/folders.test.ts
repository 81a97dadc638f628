/** Folders that cannot be had: every start ends with one sentence that names the setting, and never hangs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const PARLEY = fileURLToPath(new URL('../bin/parley.js', import.meta.url));
const SPEECH = fileURLToPath(new URL('../../speech/src/main.ts', import.meta.url));
const PLATFORM = fileURLToPath(new URL('../../platform/src/main.ts', import.meta.url));

/** Here Node's own way to make a path never ends; a process in it hears no signal but this. */
const ENDLESS = '/proc/parley/data';
const GIVE_UP = { timeout: 20_000, killSignal: 'SIGKILL' } as const;

describe('a folder that cannot be had', { skip: !existsSync('/proc/self') && 'needs /proc' }, () => {
  let root: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'parley-folders-'));
  });
  after(() => rm(root, { recursive: true, force: true }));

  const start = (main: string, args: readonly string[], settings: Readonly<Record<string, string>>) => {
    const all = { data_dir: root, 'speech.server.port': '0', 'platform.port': '0', ...settings };
    const flags = Object.entries(all).map(([key, value]) => `--set=${key}=${value}`);
    return spawnSync(process.execPath, [main, ...args, ...flags], { encoding: 'utf8', ...GIVE_UP });
  };
  const sentenceOf = (text: string): string | undefined =>
    text
      .split('\n')
      .filter((line) => line.includes('"level":60'))
      .map((line): { msg: string; err?: unknown } => JSON.parse(line))
      .map(({ msg, err }) => (err === undefined ? msg : `${msg} ${JSON.stringify(err)}`))[0];

  const CASES = [
    ['speech', SPEECH, 'data_dir', ENDLESS, 'made'],
    ['speech', SPEECH, 'data_dir', '/proc', 'written to'],
    ['speech', SPEECH, 'data_dir', '/dev/null', 'made'],
    ['speech', SPEECH, 'data_dir', '/dev/null/below', 'made'],
    ['speech', SPEECH, 'asr.models_dir', ENDLESS, 'made'],
    ['speech', SPEECH, 'auth.keys_file', `${ENDLESS}/keys.json`, 'made'],
    ['speech', SPEECH, 'spool.url', ENDLESS, 'made'],
    ['speech', SPEECH, 'storage.url', `${ENDLESS}/speech.sqlite`, 'made'],
    ['platform', PLATFORM, 'data_dir', ENDLESS, 'made'],
    ['platform', PLATFORM, 'storage.url', `${ENDLESS}/platform.sqlite`, 'made'],
  ] as const;
  for (const [section, main, setting, place, what] of CASES) {
    it(`ends the ${section} service: ${setting}=${place}`, () => {
      const full = ['data_dir', 'storage.url', 'spool.url'].includes(setting) ? setting : `${section}.${setting}`;
      const { status, stderr } = start(main, [], { [full]: place });
      const folder = place.replace(/\/[^/]+\.(?:json|sqlite)$/, '');
      assert.equal(status, 1, stderr);
      assert.match(
        sentenceOf(stderr) ?? stderr,
        new RegExp(`^The folder ${folder} cannot be ${what}: E[A-Z]+\\. The setting ${setting} chooses another\\.$`),
      );
    });
  }

  for (const words of [[], ['user', 'reset'], ['models', 'list'], ['keys', 'issue', 'desk']]) {
    it(`ends the command: parley ${words.join(' ')}`, () => {
      const { status, stderr } = start(PARLEY, words, { data_dir: ENDLESS });
      assert.notEqual(status, 0);
      assert.match(stderr, /^parley: .*\/proc\/parley/);
    });
  }
});
