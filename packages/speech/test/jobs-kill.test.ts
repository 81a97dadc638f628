/** The short form of `npm run soak -- jobs-kill`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { killJobs } from '../../../tools/soak/jobs-kill.ts';

const KILLS = 4;
const SEED = 7;

describe('jobs under kill -9', () => {
  it('loses nothing that was accepted, tells of everything, leaves nothing behind', async () => {
    const report = await killJobs(KILLS, SEED);
    assert.deepEqual(report.faults, []);
    assert.ok(report.accepted > 0 && report.succeeded > 0, JSON.stringify(report));
  });
});
