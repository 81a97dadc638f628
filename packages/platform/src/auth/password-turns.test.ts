import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Problem } from '@parley/kit/problem.ts';
import { createPasswords } from './password.ts';

it('lets 256 wait for their hash, and tells the next to come again', async () => {
  const passwords = createPasswords({ atOnce: 1, maxWaitMs: 60_000, costs: { memoryKib: 8, passes: 1, lanes: 1 } });
  // None of these can have ended before the last is asked for: they end on later turns of the event loop.
  const asked = Array.from({ length: 1 + 256 }, () => passwords.hash('x'));
  await assert.rejects(
    passwords.hash('x'),
    (thrown) => thrown instanceof Problem && thrown.status === 503 && thrown.retryAfterSec === 1,
  );
  assert.equal(new Set(await Promise.all(asked)).size, 257);
});
