import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { digestOf } from '@parley/speech/keys/key-file.ts';
import { openKeys } from '@parley/speech/keys/keys.ts';
import type { CommandContext } from '../command.ts';
import { keysCommand } from './keys.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'parley-keys-command-'));
});
afterEach(() => rm(dir, { recursive: true }));

const run = async (...args: readonly string[]): Promise<string> => {
  let said = '';
  const context: CommandContext = {
    line: { env: {}, file: {}, flags: { data_dir: dir }, shared: [], rest: args },
    out: { write: (text) => (said += text) },
    signal: new AbortController().signal,
  };
  assert.equal(await keysCommand.run(args, context), 0);
  return said;
};

const find = (secret: string) =>
  openKeys({ path: join(dir, 'speech', 'keys.json'), now: Date.now, onFault: () => assert.fail() }).find(secret.trim());

describe('parley keys', () => {
  it('issues, lists, rotates and removes', async () => {
    const secret = await run('issue', 'ci', '--admin', '--interactive', '--rps', '2.5', '--models', 'en-*, ru-*');
    assert.match(secret, /^sk-parley-[\w-]{43}\n$/, 'nothing but the secret, so that it can be captured');
    const record = find(secret)!;
    assert.deepEqual(
      [record.admin, record.priority, record.rps, record.models],
      [true, 'interactive', 2.5, ['en-*', 'ru-*']],
    );
    assert.match(await run('list'), /^NAME .*\nci +key_\w+ +admin interactive 2\.5\/s en-\*\|ru-\* /);
    const rotated = await run('rotate', 'ci');
    assert.equal(find(secret), undefined);
    assert.equal(find(rotated)?.id, record.id);
    assert.match(await run('remove', record.id), /^Removed ci /);
    assert.equal(find(rotated), undefined);
  });

  it('makes a key for a file kept elsewhere when asked', async () => {
    const [secret, record] = (await run('issue', 'other', '--hash-only')).split('\n');
    assert.equal(JSON.parse(record!).key, digestOf(secret!));
    assert.match(await run('list'), /^NAME[^\n]*\n$/);
  });

  it('says in a sentence what is wrong', async () => {
    await assert.rejects(run(), /keys wants one of/);
    await assert.rejects(run('constructor'), /keys wants one of/);
    await assert.rejects(run('issue'), /needs a name/);
    await assert.rejects(run('issue', 'a', 'b'), /nothing else/);
    await assert.rejects(run('issue', 'a', '--rps', 'fast'), /--rps must be a number/);
    await assert.rejects(run('issue', 'a', '--expires', 'soon'), /--expires must be a time/);
    await assert.rejects(run('rotate', 'nobody'), /no key nobody/);
  });
});
