/** `parley script run` and `trace` against a running platform. */
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
import { openPlatformSession } from '../src/platform-session.ts';

const OBJECTS = [
  { oId: 1, oType: 101, transfer: 2, inputs: ['n'] },
  { oId: 2, oType: 110, name: 'double', assign: [{ name: 'twice', expr: 'n * 2' }], transfer: 3 },
  { oId: 3, oType: 150, step: 'more', fields: [{ name: 'plus', type: 'line' }], transfer: 4 },
  { oId: 4, oType: 180, text: 'nearly there', transfer: 5 },
  { oId: 5, oType: 102, result: { sum: 'kept + Number(plus)' } },
];

describe('parley script run', () => {
  let folder: string;
  let platform: RunningPlatform;
  let context: (args: readonly string[]) => CommandContext & { said(): string };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-script-'));
    const settings = readSettings(PLATFORM_SETTINGS, {
      section: 'platform',
      env: {},
      flags: { data_dir: folder, 'platform.port': '0' },
    });
    platform = await startPlatform(settings, createSilentLog());
    context = (args) => {
      let said = '';
      return {
        line: {
          env: {},
          file: {},
          flags: { data_dir: folder, 'platform.port': String(platform.port) },
          shared: [],
          rest: args,
        },
        out: { write: (text) => (said += text) },
        signal: new AbortController().signal,
        said: () => said,
      };
    };
    await using session = await openPlatformSession(context([]));
    const variables = [{ name: 'kept', type: 2, location: 4 }];
    const objects = OBJECTS.map((each) =>
      each.oId === 2 ? { ...each, assign: [...(each.assign ?? []), { name: 'kept', expr: 'twice' }] } : each,
    );
    await session.ask('POST', 'service/svcscripts', { code: 'sum', scriptdata: { objects, variables } });
    const broken = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 180, text: '{{nothing}}' },
    ];
    await session.ask('POST', 'service/svcscripts', { code: 'broken', scriptdata: { objects: broken, variables: [] } });
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const run = async (...args: string[]): Promise<{ status: number; said: string }> => {
    const own = context(args);
    const status = await scriptCommand.run(args, own);
    return { status, said: own.said() };
  };

  it('says what came out, with forms answered beforehand', async () => {
    const { status, said } = await run('run', 'sum', '--input', '{"n": 20}', '--answer', '{"plus": "2"}');
    assert.equal(status, 0);
    assert.match(said, /asks, step more: plus/);
    assert.match(said, /info: nearly there\nreturned \{"sum":42\} \(2 steps/);
  });

  it('shows every step and what it changed', async () => {
    const { status, said } = await run('trace', 'sum', '--input', '{"n": 20}');
    assert.equal(status, 1, 'it still waits for its form');
    assert.match(said, / 2 {2}sum #2 assign "double" → 3 \(\d+ ms\)\n {6}twice = 40\n {6}kept = 40\n/);
    assert.match(said, /--answer JSON/);
  });

  it('says where a script failed', async () => {
    const { status, said } = await run('run', 'broken');
    assert.equal(status, 1);
    assert.match(said, /failed in broken, object 2 \(log\), step 2: expression: ReferenceError/);
  });

  it('says what it cannot use', async () => {
    await assert.rejects(run('run', 'nowhere'), /no script nowhere/);
    await assert.rejects(run('run', 'sum', '--input', '[1]'), /--input must be a JSON object/);
    await assert.rejects(run('run'), /CODE/);
    await assert.rejects(run('walk'), /run\|trace CODE/);
  });
});
