/** The short form of `npm run soak -- reload`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reloadUnderLoad } from '../../../tools/soak/reload.ts';

const RELOADS = 3;
const PER_SECOND = 10;
const WARM_MS = 1500;
/** Generous beside the long form's 1.15: so short a run has not settled. What grows by an instance doubles. */
const MAX_GROWTH = 1.5;

describe('reload under load', () => {
  it('fails no request, serves both revisions, and gives the old instance back', async () => {
    const report = await reloadUnderLoad(RELOADS, PER_SECOND, WARM_MS);
    assert.deepEqual(report.faults, []);
    assert.deepEqual(report.revisions, ['demo-transducer-en@2026-11-21', 'demo-transducer-en@next']);
    assert.ok(report.requests > RELOADS && report.growth < MAX_GROWTH, JSON.stringify(report));
  });
});
