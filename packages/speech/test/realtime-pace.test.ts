/** The short form of `npm run soak -- realtime`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measureRealtime } from '../../../tools/soak/realtime.ts';

const SESSIONS = 16;
const SECONDS = 5;

describe('sixteen sessions at the pace of speech', () => {
  it('get every text', async () => {
    const report = await measureRealtime(SESSIONS, SECONDS);
    assert.deepEqual([report.unfinished, report.wrong], [0, []]);
    assert.ok(report.utterances >= SESSIONS);
  });
});
