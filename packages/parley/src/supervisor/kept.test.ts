import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { openKept } from './kept.ts';

describe('what a supervisor keeps', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-kept-'));
  });
  after(() => rmSync(folder, { recursive: true }));
  const open = () => openKept(folder, createSilentLog());

  it('is there after its restart, for its owner only', () => {
    const plan = { id: 'x', lwt: '2026-01-01T00:00:00.000000Z', content: { structure: [] } };
    const kept = open();
    assert.equal(kept.plan(), undefined);
    kept.keepPlan(plan);
    kept.keepLevel('speech_1', 'error');
    assert.deepEqual([open().plan(), [...open().levels()]], [plan, [['speech_1', 'error']]]);
    assert.deepEqual(readdirSync(folder), ['nodes.json']);
    assert.equal(statSync(join(folder, 'nodes.json')).mode & 0o777, 0o600);
  });

  it('is nothing when the file is broken', () => {
    const halves = ['{"plan":{"lwt":"x"}}', '{"plan":{"lwt":"x","content":null}}', '{"plan":{"content":{}}}'];
    for (const text of ['{', '[]', 'null', '{"levels":{"a":"loud"},"plan":5}', ...halves]) {
      writeFileSync(join(folder, 'nodes.json'), text);
      assert.deepEqual([open().plan(), open().levels().size], [undefined, 0], text);
    }
  });
});
