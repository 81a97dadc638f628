/** The command line as a person types it: real processes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../bin/parley.js', import.meta.url));

const parley = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
};

describe('the command line', () => {
  it('helps', () => {
    const { status, stdout } = parley('help');
    assert.equal(status, 0);
    for (const word of ['start', 'models', 'keys', 'sample', 'config check']) assert.match(stdout, new RegExp(word));
  });

  it('says what it does not know, and what was likely meant', () => {
    assert.equal(parley('strat').status, 64);
    const { status, stderr } = parley('config', 'check', '--set', 'asr.default_model=x');
    assert.equal(status, 1);
    assert.match(stderr, /no setting asr\.default_model\. Did you mean speech\.asr\.default_model/);
  });

  it('lists every setting that cannot be used', () => {
    const { status, stderr } = parley(
      'config',
      'check',
      '--set',
      'speech.server.port=x',
      '--set=speech.audio.max_duration=long',
    );
    assert.equal(status, 1);
    assert.match(stderr, /server\.port must be a number/);
    assert.match(stderr, /audio\.max_duration must be a duration/);
  });

  it('prints settings without secrets, flags before environment before file', () => {
    const dir = mkdtempSync(join(tmpdir(), 'parley-cli-'));
    try {
      const path = join(dir, 'parley.yaml');
      writeFileSync(path, 'speech:\n  audio:\n    max_duration: 1h\n    channel_mode: split\n');
      const { status, stdout } = parley(
        'config',
        'check',
        `--config=${path}`,
        '--set=speech.auth.admin_key=sk-this-is-a-secret',
        '--set=speech.audio.channel_mode=first',
        '--set=storage.url=postgres://me:hidden@db/parley',
      );
      assert.equal(status, 0);
      assert.doesNotMatch(stdout, /this-is-a-secret|hidden/);
      assert.match(stdout, /max_duration: 3600000/);
      assert.match(stdout, /channel_mode: first/);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
