/** The short form of `npm run soak -- mixed`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runMixedLoad } from '../tools/soak/mixed.ts';

const SEED = 11;
const SECONDS = 20;
const FAULTS = ['kill -9 engine', 'kill -9 platform', 'disk full, then free again'];

describe('both services under mixed load and faults', () => {
  it('lose nothing that was acknowledged, leak nothing, answer nothing with 500', async () => {
    const options = { seconds: SECONDS, seed: SEED, faultPauseMs: 1500, heldMs: 1500, faults: FAULTS };
    const { checks, faults, injected } = await runMixedLoad(options);
    assert.deepEqual([...faults], [], checks.map(({ name, figures }) => `${name}: ${figures}`).join('\n'));
    assert.ok(injected.has('kill -9 platform'), [...injected.keys()].join());
  });
});
