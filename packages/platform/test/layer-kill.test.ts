/** A short form of `npm run soak -- layer-kill`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Operation, runLayerKills } from './layer-kill.ts';

/** The last but one lies between the commit and the change of the link. */
const CHOSEN: Readonly<Record<Operation, (steps: number) => readonly number[]>> = {
  install: (steps) => [Math.ceil(steps / 2)],
  update: (steps) => [steps - 2],
  delete: (steps) => [steps - 1],
  clear: (steps) => [Math.ceil(steps / 2), steps - 1],
};

describe('a platform killed while it carries out an order of a layer', () => {
  it('leaves the layer as it was, or as it was ordered, and nothing half-made', async () => {
    const done = await runLayerKills((operation, steps) => CHOSEN[operation](steps), 5);
    assert.equal(done.length, 5);
  });
});
