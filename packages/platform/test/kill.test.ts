/** A short, seeded form of `npm run soak -- platform-kill`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import { runKills } from './kill.ts';

describe('a platform killed while it writes', () => {
  it('keeps every acknowledged write with its journal entry, on SQLite', async () => {
    const report = await runKills(4, 20_261_121);
    assert.equal(report.kills, 4);
    assert.ok(report.acknowledged > 20, JSON.stringify(report));
  });

  it('keeps every acknowledged write with its journal entry, on PostgreSQL', async () => {
    await using postgres = await openPostgresDriver();
    await using database = await postgres.createDatabase();
    const report = await runKills(3, 7, database.place);
    assert.ok(report.acknowledged > 20, JSON.stringify(report));
  });
});
