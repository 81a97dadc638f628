/** The short form of `npm run soak -- jobs-kill`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { killJobs, killOnPostgres } from '../../../tools/soak/jobs-kill.ts';

const SEED = 7;

describe('jobs under kill -9', () => {
  for (const [driver, kill, kills] of [
    ['SQLite', killJobs, 4],
    ['PostgreSQL', killOnPostgres, 2],
  ] as const) {
    it(`loses nothing that was accepted, tells of everything, leaves nothing behind on ${driver}`, async () => {
      const report = await kill(kills, SEED);
      assert.deepEqual(report.faults, []);
      assert.ok(report.accepted > 0 && report.succeeded > 0, JSON.stringify(report));
    });
  }
});
