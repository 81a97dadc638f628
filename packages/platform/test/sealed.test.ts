/** What is sealed at rest, and what is kept between the steps of a sign-in. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '@parley/kit/clock.ts';
import { Problem } from '@parley/kit/problem.ts';
import { createSqliteDatabase } from '@parley/kit/testing/each-store.ts';
import { openSecretBox } from '../src/domains/secrets.ts';
import { createWaitingRuns } from '../src/scripts/waiting-runs.ts';

const KEY = '11'.repeat(32);

describe('a secret at rest', () => {
  it('looks different each time, opens under its key alone, and not when a byte has changed', () => {
    const box = openSecretBox(KEY, '');
    const [one, two] = [box.seal('the same'), box.seal('the same')];
    assert.notEqual(one, two);
    // The first twelve bytes are the IV of AES-GCM: one that comes twice gives the key away.
    const ivOf = (sealed: string): string => sealed.slice('sealed:v1:'.length, 'sealed:v1:'.length + 16);
    assert.notEqual(ivOf(one), ivOf(two));
    assert.deepEqual([box.open(one), box.open(two)], ['the same', 'the same']);
    assert.throws(() => openSecretBox('22'.repeat(32), '').open(one));
    const bytes = Buffer.from(one.slice('sealed:v1:'.length), 'base64url');
    for (const at of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      assert.throws(() => box.open(`sealed:v1:${changed.toString('base64url')}`), `byte ${at}`);
    }
    assert.throws(() => box.open('the same'), /not a sealed secret/);
    assert.throws(() => openSecretBox('11'.repeat(31), ''), /32 bytes/);
  });
});

describe('a sign-in that waits', () => {
  it('keeps at most 256 KiB', async () => {
    await using database = await createSqliteDatabase();
    const store = await database.open();
    const waiting = createWaitingRuns({ store, secrets: openSecretBox(KEY, ''), clock: systemClock });
    const run = (bytes: number) => {
      const state = {
        version: 1,
        runId: 'r',
        frames: [],
        form: { step: 1, fields: [] },
        entered: { text: '' },
      } as const;
      const empty = Buffer.byteLength(JSON.stringify({ domain: 'd', state }));
      return {
        domain: 'd',
        state: { ...state, entered: { text: 'x'.repeat(bytes - empty) } },
      } as unknown as Parameters<typeof waiting.keep>[0];
    };
    const ctx = await waiting.keep(run(262_144));
    assert.ok(await waiting.peek(ctx));
    await assert.rejects(waiting.keep(run(262_145)), (thrown) => thrown instanceof Problem && thrown.status === 422);
  });
});
